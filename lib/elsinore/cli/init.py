"""`elsinore schema` guesses a schema from events; `elsinore init` makes a project of it."""

from __future__ import annotations

import re
import shlex
from importlib.resources import as_file, files
from os.path import relpath
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from elsinore.catalog.load_schema import NAME, read_schema
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.cli.main import EventFiles
from elsinore.errors import ParameterError
from elsinore.library.infer_schema import infer_schema
from elsinore.places import whole_file

#: Types of what can be a key, with a value each.
_VALUES = {AttributeType.STRING: "k", AttributeType.LONG: "1"}

#: Templates of what a project holds.
PROJECT = files("elsinore.cli") / "project"

schema_app = typer.Typer(no_args_is_help=True)


@schema_app.callback()
def _schemas() -> None:
    """Schemas of event streams."""


@schema_app.command()
def infer(
    events: EventFiles,
    stream: Annotated[str, typer.Option(help="What to call the stream.")] = "events",
) -> None:
    """Print a schema that fits the first events, for you to correct; guesses end in a ?."""
    if not re.fullmatch(NAME, stream):
        hint = "a name has letters, digits and _ only, a letter first"
        raise ParameterError(f"--stream {stream} is no name", hint=hint)
    typer.echo(infer_schema(events, stream=stream), nl=False)


def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    events: Annotated[
        Path | None, typer.Option("--from", help="Your events; else some rides are taken.")
    ] = None,
) -> None:
    """Make FOLDER a project: a schema that fits your events, a first query, its test, a README."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        is_what = "not empty" if folder.is_dir() else "a file"
        raise ParameterError(f"{folder} is {is_what}", hint="name a new folder")
    project = PROJECT
    name = folder.resolve().name
    stream = name if re.fullmatch(NAME, name) else "events"
    with as_file(project / "events.jsonl") as rides:
        schema = infer_schema(events or rides, stream=stream)
    data = "events.jsonl" if events is None else shlex.quote(relpath(events, folder))
    given = {"stream": stream, "data": data, **first_query(read_schema(schema))}
    names = ["README.md", "queries.sase", "cases.yaml", "pipeline.env"]
    written = {"schema.yaml": schema}
    for name in [*names, *([] if events else ["events.jsonl"])]:
        text = (project / name).read_text(encoding="utf-8")
        written[name] = Template(text).safe_substitute(given)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        with whole_file(folder / name) as out:  # replaces a link, does not follow it
            out.write(text.encode())
    typer.echo(f"{', '.join(written)} in {folder}; next:")
    typer.echo(f"cd {shlex.quote(str(folder))}")
    typer.echo(f"elsinore run queries.sase --schema schema.yaml --input {data}")


def first_query(schema: StreamSchema) -> dict[str, str]:
    """What the templates of the query and of its case need.

    The second type follows the first, or the only one itself; once or more where both have an
    attribute that can be a key: without one, nearly everything would match.
    """
    first, last = schema.types[0], schema.types[min(1, len(schema.types) - 1)]
    calendar = schema.time_unit.is_calendar
    # Types stand in a pattern once, or have aliases.
    one, other = (" one", " other") if first is last else ("", "")
    where, loop, given, of_one = "", "", "", ""
    keys = [a for a in first.attributes if a in last.attributes and a.type in _VALUES]
    keys.sort(key=lambda a: a.type is not AttributeType.STRING)  # numbers are mostly no keys
    for key in [a for a in keys if not a.nullable][:1]:
        where, loop, of_one = f"WHERE [{key.name}]\n", "+", f", once or more, of one {key.name}"
        given = f"({key.name}={_VALUES[key.type]})"
    unit = "min" if calendar else ""
    return {
        "why": f"How often does {last.name} follow {first.name}{of_one}, in the time below?",
        "pattern": f"SEQ({first.name}{one}, {last.name}{other}{loop})",
        "where": where,
        "within": "1 hour" if calendar else "100",
        "events": f"{first.name}@0{unit}{given} {last.name}@1{unit}{given}",
        "bounds": "1970-01-01T00:00, 1970-01-01T01:00" if calendar else "0, 100",
    }
