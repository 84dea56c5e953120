"""The golden cases: queries over small streams with rows worked out by hand, as YAML.

Each file of `tests/golden/trends` is a list of cases as `elsinore test` takes them, but with
aliases; `elsinore.cli.cases` says what is in one. Names are unique over all files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from elsinore.cli.cases import bound_query, cases_in, event_table, stream_schema
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.results.row import ResultRow, encode_row

__all__ = ["GOLDEN", "GoldenCase", "bound_query", "case_names", "event_table", "golden_cases",
           "row_texts", "stream_schema"]  # fmt: skip

GOLDEN = Path(__file__).parent / "golden" / "trends"

#: The name of the case that no file can contain.
_INFINITIES = "infinities"


@dataclass(frozen=True)
class GoldenCase:
    """One case; `rows` are texts as `row_texts` makes them, in any order."""

    name: str
    query: BoundQuery
    events: EventTable
    rows: list[str]
    executors: tuple[str, ...] | None

    def __str__(self) -> str:
        return self.name


def golden_cases(executor: str, files: str = "*.yaml") -> list[GoldenCase]:
    """The cases that an executor must answer, from the files that match a pattern."""
    return [c for c in _cases(files) if c.executors is None or executor in c.executors]


def case_names(executor: str) -> list[str]:
    """Return the names of `golden_cases`, but do not read queries and events: that takes 5 s.

    Each process of a test run collects the names; only one process runs the cases.
    """
    documents = (_document(path) for path in sorted(GOLDEN.glob("*.yaml")))
    lists = (one["cases"] if isinstance(one, dict) else one for one in documents)
    entries = (entry for entries in lists for entry in entries)
    named = [one["name"] for one in entries if executor in one.get("executors", [executor])]
    return [*named, _INFINITIES]


def _document(path: Path) -> Any:
    return yaml.load(path.read_bytes(), yaml.CSafeLoader)


@cache
def _cases(files: str) -> tuple[GoldenCase, ...]:
    found: dict[str, GoldenCase] = {}
    for path in sorted(GOLDEN.glob(files)):
        for case in cases_in(_document(path), path):
            assert case.name not in found, f"two cases are called {case.name}"
            rows = sorted(json.dumps(row, allow_nan=False) for row in case.rows)
            found[case.name] = GoldenCase(case.name, case.query, case.events, rows, case.executors)
    assert found, f"no golden case in {files}"
    if files == "*.yaml":
        found |= {_INFINITIES: _infinities()}
    return tuple(found.values())


def _infinities() -> GoldenCase:
    """Events that no file may have, but every engine answers alike."""
    schema = stream_schema({"A": {"v": "double"}})
    query = bound_query(
        "RETURN SUM(A.v), AVG(A.v), MIN(A.v), MAX(A.v) PATTERN A WITHIN 5", schema, _INFINITIES
    )
    values = {1: math.inf, 2: 1.0, 6: math.inf, 7: -math.inf}
    events = EventTable.of(schema, [("A", time, {"v": value}) for time, value in values.items()])
    rows = [
        {"query": "q", "group": {}, "window_start": start, "window_end": start + 5,
         "values": dict(zip(query.value_names, found, strict=True))}
        for start, found in ((0, ["Infinity", "Infinity", 1.0, "Infinity"]),
                             (5, ["NaN", "NaN", "-Infinity", "Infinity"]))
    ]  # fmt: skip
    texts = sorted(json.dumps(row, allow_nan=False) for row in rows)
    return GoldenCase(_INFINITIES, query, events, texts, None)


def row_texts(rows: Iterable[ResultRow]) -> list[str]:
    """Rows as JSON texts that compare strictly: 1 is not 1.0."""
    return sorted(json.dumps(json.loads(encode_row(row)), allow_nan=False) for row in rows)
