"""`elsinore schema infer` writes a schema for events; `elsinore init` creates a project."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from importlib.resources import as_file, files
from os.path import relpath
from pathlib import Path
from string import Template

import typer

from elsinore.catalog.load_schema import NAME, read_schema
from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import ParameterError
from elsinore.library.infer_schema import Inferred, infer
from elsinore.places import whole_file
from elsinore.wording import program

#: Types that a key can have, with an example value.
_VALUES = {AttributeType.STRING: "k", AttributeType.LONG: "1"}

#: Templates of the files of a project.
PROJECT = files("elsinore.cli") / "project"


def print_schema(events: Sequence[Path], stream: str, type_field: str | None) -> None:
    """Print a schema that fits the first events."""
    if not re.fullmatch(NAME, stream):
        hint = "a name has letters, digits and _ only, a letter first"
        raise ParameterError(f"--stream {stream} is not a name", hint=hint)
    inferred = infer(events, stream=stream, type_field=type_field)
    typer.echo(inferred.text, nl=False)
    tell_of_types(inferred)


def tell_of_types(inferred: Inferred) -> None:
    """Print which fields may hold the event type if the schema has no field for it."""
    if inferred.type_candidates:
        candidates = ", ".join(inferred.type_candidates)
        typer.echo(
            f"elsinore: all events have one type; to use a field as the type, add --type FIELD "
            f"(candidates: {candidates})",
            err=True,
        )


def create_project(directory: Path, events: Path | None, type_field: str | None) -> None:
    """Write the files of a project, and print the commands to run next."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        problem = "not empty" if directory.is_dir() else "a file"
        raise ParameterError(f"{directory} is {problem}", hint="name a new directory")
    project = PROJECT
    name = directory.resolve().name
    stream = name if re.fullmatch(NAME, name) else "events"
    with as_file(project / "events.jsonl") as rides:
        inferred = infer(events or rides, stream=stream, type_field=type_field)
    data = "events.jsonl" if events is None else shlex.quote(relpath(events, directory))
    given = {
        "stream": stream, "data": data, "program": program(anywhere=True),
        **first_query(read_schema(inferred.text)),
    }  # fmt: skip
    names = ["README.md", "queries.sase", "cases.yaml", "pipeline.env"]
    written = {"schema.yaml": inferred.text}
    for name in [*names, *([] if events else ["events.jsonl"])]:
        text = (project / name).read_text(encoding="utf-8")
        written[name] = Template(text).safe_substitute(given)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        with whole_file(directory / name) as out:  # replaces a link, does not follow it
            out.write(text.encode())
    tell_of_types(inferred)
    typer.echo(f"{', '.join(written)} in {directory}; next:")
    typer.echo(f"cd {shlex.quote(str(directory))}")
    run = "run queries.sase --schema schema.yaml --input"
    typer.echo(f"{program(anywhere=True)} {run} {data}")


def first_query(schema: StreamSchema) -> dict[str, str]:
    """Return the values for the templates of the query and of its case.

    The second type follows the first one; a single type follows itself. The second type repeats if
    both have an attribute that can be a key: without a key, nearly everything would match.
    """
    first, last = schema.types[0], schema.types[min(1, len(schema.types) - 1)]
    calendar = schema.time_unit.is_calendar
    # A type that occurs twice in a pattern needs aliases.
    one, other = (" one", " other") if first is last else ("", "")
    where, loop, given, of_one = "", "", "", ""
    keys = [a for a in first.attributes if a in last.attributes and a.type in _VALUES]
    keys.sort(key=lambda a: a.type is not AttributeType.STRING)  # numbers are rarely keys
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
