"""The `elsinore` command: arguments in, one entry of the library called, exit codes out."""

from elsinore.cli.main import app
