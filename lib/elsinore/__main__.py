"""`python -m elsinore` is the command `elsinore`."""

from elsinore.cli import app

app()
