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
from elsinore.catalog.stream import ORDER, AttributeType, EventType
from elsinore.errors import ParameterError
from elsinore.library.first_query import first_query
from elsinore.library.infer_schema import Inferred, infer
from elsinore.places import whole_file
from elsinore.query.print_query import print_length
from elsinore.timeline import format_instant
from elsinore.wording import command, program

#: An example value per type of attribute.
_VALUES = {
    AttributeType.STRING: "k", AttributeType.LONG: "1", AttributeType.DOUBLE: "1",
    AttributeType.BOOLEAN: "true", AttributeType.TIMESTAMP: "1970-01-01T00:00:00Z",
}  # fmt: skip

#: Templates of the files of a project.
PROJECT = files("elsinore.cli") / "project"


def print_schema(events: Sequence[Path], stream: str, type_field: str | None) -> None:
    """Print a schema that fits the first events."""
    if not re.fullmatch(NAME, stream):
        hint = "a name has letters, digits and _ only, a letter first"
        raise ParameterError(f"--stream {stream} is not a name", hint=hint)
    inferred = infer(events, stream=stream, type_field=type_field)
    typer.echo(inferred.text, nl=False)
    tell_of_doubts(inferred)


def tell_of_doubts(inferred: Inferred) -> None:
    """Print how many records were skipped, and which fields may hold the event type, if any."""
    if inferred.skipped:
        typer.echo(f"elsinore: {inferred.skipped}", err=True)
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
        **query_parts(inferred),
    }  # fmt: skip
    names = ["README.md", "queries.sase", "cases.yaml", "pipeline.env"]
    written = {"schema.yaml": inferred.text}
    for name in [*names, *([] if events else ["events.jsonl"])]:
        text = (project / name).read_text(encoding="utf-8")
        written[name] = Template(text).safe_substitute(given)
    for name, text in written.items():
        with whole_file(directory / name) as out:  # replaces a link, does not follow it
            out.write(text.encode())
    tell_of_doubts(inferred)
    typer.echo(f"{', '.join(written)} in {directory}; next:")
    typer.echo(command("cd", directory))
    run = "run queries.sase --schema schema.yaml --input"
    typer.echo(f"{program(anywhere=True)} {run} {data}")


def query_parts(inferred: Inferred) -> dict[str, str]:
    """Return the values for the templates of the query and of its case."""
    schema = read_schema(inferred.text)
    query = first_query(inferred.events, schema)
    first, last, key, calendar = query.first, query.last, query.key, schema.time_unit.is_calendar
    # A type that occurs twice in a pattern needs aliases.
    one, other = (" one", " other") if first is last else ("", "")
    same = f" with the same {key.name}" if key else ""
    loop, often = ("+", " once or more") if query.repeats else ("", "")
    within = print_length(query.within, calendar=calendar)
    unit, end = ("min", format_instant(query.within)) if calendar else ("", str(query.within))
    names = query.value_names
    counted = [f"COUNT(DISTINCT {key.name}) AS {names[0]}"] if key else []
    end_name = other.strip() or last.name
    counted += [f"COUNT(EACH {end_name}) AS {names[-2]}", f"COUNT(*) AS {names[-1]}"]
    return {
        "why": f"How often is {first.name} followed by {last.name}{often}{same}, within {within}?",
        "returns": ", ".join(counted),
        "values": ", ".join(f"{name}: 1" for name in names),
        "pattern": f"SEQ({first.name}{one}, {last.name}{other}{loop})",
        "where": f"WHERE [{key.name}]\n" if key else "",
        "within": within,
        "events": f"{_event(first, f'0{unit}')}\n      {_event(last, f'1{unit}')}",
        "bounds": f"1970-01-01T00:00, {end[:16]}" if calendar else f"0, {end}",
    }


def _event(kind: EventType, time: str) -> str:
    """Return an event of a case, with the attributes that it must have."""
    needed = [a for a in kind.attributes if not a.nullable and a.name != ORDER]
    values = ", ".join(f"{a.name}={_VALUES[a.type]}" for a in needed)
    return f"{kind.name}@{time}{f'({values})' if values else ''}"
