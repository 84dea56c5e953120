"""`python -m elsinore` is the command `elsinore`."""

from elsinore.cli.main import app

app()
