"""`elsinore generate`: real flights to replay, and streams of the papers' experiments.

The papers: Hamlet section 5.1, GRETA section 10.1 and Table 2. The command of a stream has an
option per field of its options class.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from elsinore.cli.main import progress_line
from elsinore.errors import ParameterError
from elsinore.generate.skeleton import StreamOptions
from elsinore.generate.streams import STREAMS
from elsinore.places import whole_file
from elsinore.query.print_query import count_of

_Output = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write to this .jsonl, .jsonl.gz or .parquet file."),
]
_Schema = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the schema to this file. By default it gets the output's name with .yaml.",
    ),
]
_PrintSchema = Annotated[
    bool, typer.Option("--print-schema", help="Print the schema; --output is optional then.")
]


def write_flights(output: Path, start: datetime | None, end: datetime | None) -> None:
    """Write flights, a file per hour, and print how many events there are."""
    # Lazy import: it loads pandas.
    from elsinore.generate.flights import generate_flights

    with progress_line() as progress:
        task = progress.add_task("reading the flights")
        files, counts = generate_flights(
            output,
            start=start,
            end=end,
            on_file=lambda path, count: progress.update(task, description=f"{path.name}: {count}"),
        )
    if not files:
        hint = "they are of 2013, as in --start 2013-02-08 --end 2013-02-09"
        raise ParameterError("the time range has no flights", hint=hint)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    typer.echo(f"{files:,} files, {sum(counts.values()):,} events ({kinds}) in {output}")


@cache
def stream_command(name: str) -> Any:
    """Return the command that writes a stream, with an option per field of its options class."""
    kind = STREAMS[name]

    def command(**given: Any) -> None:
        _generate(kind, **given)

    hints = get_type_hints(kind)
    parameters = [
        _parameter("output", None, _Output),
        _parameter("schema", None, _Schema),
        _parameter("print_schema", False, _PrintSchema),
    ]
    for item in fields(kind):
        shown = typer.Option(item.default, help=item.metadata["help"])
        parameters.append(_parameter(item.name, shown, hints[item.name]))
    vars(command)["__signature__"] = Signature(parameters)
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    commands = typer.Typer(rich_markup_mode=None, add_completion=False)
    commands.command(name)(command)
    return typer.main.get_command(commands)


def _parameter(name: str, default: Any, kind: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _generate(
    kind: type[StreamOptions],
    output: Path | None,
    schema: Path | None,
    print_schema: bool,
    **given: Any,
) -> None:
    """Write the events to `output`, and the schema next to it or to `schema`."""
    # Lazy import: help does not need it, and it loads Parquet.
    from elsinore.generate.write_events import require_format, write_events

    options = kind(**given)
    if output is None and schema is None and not print_schema:
        raise ParameterError(
            "--output is missing", hint="add --output FILE, or --print-schema to write no events"
        )
    if output is not None:
        suffix = require_format(output)
        if schema is None and not print_schema:
            schema = output.with_name(output.name[: -len(suffix)] + ".yaml")
        with progress_line() as progress:
            task = progress.add_task(f"generating {options.events:,} events")
            events = options.make()
            write_events(
                events,
                output,
                lambda count: progress.update(task, description=f"{output.name}: {count:,} events"),
            )
    if schema is not None:
        try:
            _write(schema, kind.yaml())
        except OSError as error:
            raise ParameterError(
                f"cannot write {schema}: {error.strerror}",
                hint="choose another file with --schema FILE, or print it with --print-schema",
            ) from error
    if print_schema:
        typer.echo(kind.yaml(), nl=False)
    if output is not None:
        where = f", schema in {schema}" if schema is not None else ""
        typer.echo(f"{count_of(options.events, 'event')} in {output}{where}", err=print_schema)


def _write(path: Path, text: str) -> None:
    """Write a file, replacing a link of that name; write to a pipe or a device."""
    # Lazy import: help does not need it, and it loads Arrow.
    from elsinore.cli.answers import is_special, opened

    with (opened if is_special(path) else whole_file)(path) as out:
        out.write(text.encode())
