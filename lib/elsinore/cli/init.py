"""`elsinore init`: a project folder of one's own, with a query that runs and its test."""

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
from elsinore.errors import ParameterError
from elsinore.library.infer_schema import infer_schema

#: Types of what can be a key, with a value each.
_VALUES = {AttributeType.STRING: "k", AttributeType.LONG: "1"}


def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    events: Annotated[
        Path | None, typer.Option("--from", help="Your events; else some rides are taken.")
    ] = None,
) -> None:
    """Make FOLDER a project: a schema that fits your events, a first query, its test, a README."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} is not empty", hint="name a new folder")
    project = files("elsinore.cli") / "project"
    texts = {name: (project / name).read_text(encoding="utf-8") for name in (
        "README.md", "queries.sase", "cases.yaml", "pipeline.env", "events.jsonl")}  # fmt: skip
    name = folder.resolve().name
    stream = name if re.match(NAME, name) else "events"
    with as_file(project / "events.jsonl") as rides:
        schema = infer_schema(events or rides, stream=stream)
    query, case = _first_query(read_schema(schema))
    data = "events.jsonl" if events is None else shlex.quote(relpath(events, folder))
    written = {
        **({} if events else {"events.jsonl": texts["events.jsonl"]}),
        "schema.yaml": schema,
        "queries.sase": Template(texts["queries.sase"]).substitute(query),
        "cases.yaml": Template(texts["cases.yaml"]).substitute(case),
        "pipeline.env": texts["pipeline.env"],
        "README.md": Template(texts["README.md"]).substitute(stream=stream, events=data),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    typer.echo(f"{', '.join(written)} in {folder}; next:")
    typer.echo(f"cd {shlex.quote(str(folder))}")
    typer.echo(f"elsinore run queries.sase --schema schema.yaml --input {data}")


def _first_query(schema: StreamSchema) -> tuple[dict[str, str], dict[str, str]]:
    """What the templates of the query and of its case need.

    It follows the first type by the second, or else the first alone, once or more where all have an
    attribute that can be a key: without one, nearly everything would match.
    """
    first, last = schema.types[0], schema.types[min(1, len(schema.types) - 1)]
    shared = [
        a for a in first.attributes if a.type in _VALUES and not a.nullable and a in last.attributes
    ]
    key, loop = (shared[0].name, "+") if shared else ("", "")
    alone = first is last
    pattern = f"{first.name}{loop}" if alone else f"SEQ({first.name}, {last.name}{loop})"
    told = f"How often is there {first.name}" + ("" if alone else f" and then {last.name}")
    told += f", once or more, of one {key}, within the time below?" if key else "?"
    calendar = schema.time_unit.is_calendar
    unit = "min" if calendar else ""
    given = f"({key}={_VALUES[shared[0].type]})" if shared else ""
    kinds = [first, last, last]
    # Of three alike 3 alone, 3 pairs and all; of the others one or both of the later two.
    count = (7 if key else 3) if alone else (3 if key else 2)
    return (
        {
            "why": told,
            "pattern": pattern,
            "where": f"WHERE [{key}]\n" if key else "",
            "within": "1 hour" if calendar else "100",
        },
        {
            "events": " ".join(f"{kind.name}@{n}{unit}{given}" for n, kind in enumerate(kinds)),
            "start": "1970-01-01T00:00" if calendar else "0",
            "end": "1970-01-01T01:00" if calendar else "100",
            "count": str(count),
        },
    )
