"""Streams of a simulation, and what is asked of them: flights, or queries that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import yaml

from elsinore.catalog.load_schema import read_schema
from elsinore.errors import QueryError
from elsinore.query.bind_query import bind_query
from elsinore.query.print_query import print_query
from elsinore.query.syntax import Duration, Query
from elsinore.template.support import greta_refusals
from elsinore.timeline import format_instant
from tests.faults.history import ROOT
from tests.property.random_cases import random_case
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.shape import TYPES, Shape
from tests.property.random_cases.streams import draw_attributes

Values = dict[str, Any]


@dataclass(frozen=True)
class Stream:
    """What producers send.

    Attributes:
        settings: of the pipeline, by name.
        types: of events, the first of which is the most frequent.
        draw: the attributes of an event of a type.
    """

    types: tuple[str, ...]
    draw: Callable[[str, Random], Values]
    settings: Mapping[str, Any] = field(default_factory=dict)


def flights() -> Stream:
    """Flights of two carriers."""
    return Stream(("Departure", "Arrival", "Cancellation"), _flight)


def _flight(_: str, draw: Random) -> Values:
    carrier, origin = draw.choice(("UA", "B6")), draw.choice(("EWR", "JFK"))
    delay = draw.choice((-3, 0, 1, 2, 3, 99))
    return {
        "carrier": carrier, "origin": origin, "tailnum": "N1", "flight": 7, "dest": "IAH",
        "dep_delay": delay, "distance": 1400, "arr_delay": delay,
    }  # fmt: skip


#: WITHIN and SLIDE in minutes.
_WINDOWS = ((5, None), (20, 7), (45, 45), (60, None), (90, 30), (180, 60), (1440, 60), (1440, 360))

_SCHEMA: Values = {
    "stream": "drawn",
    "time": {"field": "time", "unit": "iso"},
    "type": {"field": "type"},
    "id": {"field": "id"},
    "types": {
        kind: {name: {"type": type_, "nullable": True} for name, type_ in attributes.items()}
        for kind, attributes in TYPES.items()
    },
}

#: How `events` may be laid out, and ids be unique.
_LAYOUTS: tuple[Values, ...] = (
    {},
    {"buckets": {"by": ["x"], "number": 3}},
    {"id": {"field": "id", "unique_within": "day"}},
    {"buckets": {"by": ["k"], "number": 2}, "id": {"field": "id", "unique_within": "hour"}},
)


def drawn(seed: str, folder: Path) -> Stream:
    """Six random queries over a stream of their types, the files of which come into a folder."""
    dice = Dice(f"simulation {seed}")
    text = yaml.safe_dump(_SCHEMA | dice.pick(_LAYOUTS))
    schema = read_schema(text)
    queries, types, number = list[Query](), list[str](), 0
    while len(queries) < 6:
        number += 1
        within, slide = dice.pick(_WINDOWS)
        query = replace(
            random_case(f"{seed}-{number}").query.source,
            name=f"q{number}",
            within=Duration(within, "minutes"),
            slide=Duration(slide, "minutes") if slide else None,
        )
        with suppress(QueryError):
            if not greta_refusals(bind_query(query, schema)):
                queries.append(query)
                types += (leaf.type for leaf in Shape(query.pattern).every)
    folder.mkdir(parents=True)
    files = {"schema_file": folder / "drawn.yaml", "workload_file": folder / "drawn.sase"}
    files["schema_file"].write_text(text, encoding="utf-8")
    files["workload_file"].write_text("\n".join(map(print_query, queries)), encoding="utf-8")
    return Stream(tuple(types), _attributes, files)


def own_suites(folder: Path) -> Path:
    """Suites of our own expectations alone, in a folder that is made here.

    Those of Great Expectations, which have other tests, take half of a small hour's validation.
    """
    folder.mkdir(parents=True)
    for file in (ROOT / "expectations").glob("*.yaml"):
        suite = yaml.safe_load(file.read_text(encoding="utf-8"))
        tables = {
            table: [entry for entry in entries if _is_own(entry["expectation"])]
            for table, entries in suite["tables"].items()
        }
        suite["tables"] = {table: entries for table, entries in tables.items() if entries}
        (folder / file.name).write_text(yaml.safe_dump(suite), encoding="utf-8")
    return folder


def _is_own(expectation: str) -> bool:
    # Imported here: it takes seconds, and each process that collects tests imports this module.
    from great_expectations.expectations.registry import get_expectation_impl

    from elsinore.quality.expectations import FrameExpectation

    return issubclass(get_expectation_impl(expectation), FrameExpectation)


def _attributes(kind: str, draw: Random) -> Values:
    values = draw_attributes(Dice(str(draw.random())), kind, plain=draw.random() < 0.9)
    if values.get("t") is not None:
        values["t"] = format_instant(values["t"])
    return values
