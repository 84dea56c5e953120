"""What is published for a workload, in a small lake written without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.ledger.fold import Fold
from elsinore.quality.lake import published_hours
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import read_workload
from elsinore.timeline import Interval
from tests.unit.quality.lake import hour_row, result, state_of
from tests.unit.quality.lake import published as published_row
from tests.written_tables import declared, write_hours, write_table

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "schemas/events/flights.yaml")
QUERY = "QUERY {} RETURN COUNT(*) PATTERN Departure D WITHIN 1 hour;"
ONE = read_workload(QUERY.format("one"), SCHEMA)
TWO = read_workload(QUERY.format("two"), SCHEMA)
LONGER = read_workload(QUERY.format("one").replace("1 hour", "2 hours"), SCHEMA)
THREE_HOURS = Interval.parse("2013-01-01T10:00", "2013-01-01T13:00")


def lake(
    folder: Path, published: dict[int, Workload], rows: dict[int, Workload], changed: str
) -> Fold:
    """Write published hours, and a result of each query, by hour of the day; return the state.

    `changed` is the label of an hour whose events changed later; empty for none.
    """
    results = [
        found(query.name, hour, query_fingerprint=query.fingerprint)
        for hour, workload in rows.items() for query in workload.queries
    ]  # fmt: skip
    write_table(folder, declared("results"), results, note={"hours": []})
    publications = [
        published_row(label(hour), workload_fingerprint=workload_fingerprint(workload))
        for hour, workload in published.items()
    ]
    refreshed = [hour_row("refreshed", changed, events_version=4)] if changed else []
    write_hours(folder, publications, refreshed)
    return state_of(folder)


def label(hour: int) -> str:
    return f"2013-01-01T{hour:02}"


def found(query: str, hour: int, **columns: Any) -> dict[str, Any]:
    return result(query, "{}", 1, window_end_hour=label(hour), **columns)


@pytest.mark.parametrize(
    ("title", "published", "rows", "changed", "number", "others"),
    [
        ("hours outside of the interval do not count",
         dict.fromkeys((9, 10, 12), ONE), {}, "", 2, []),
        ("nor does one with an event that has changed since",
         dict.fromkeys((10, 11, 12), ONE), {}, "2013-01-01T11", 2, []),
        ("nor what another workload published",
         dict.fromkeys((10, 11, 12), TWO), {11: TWO}, "", 0, ["two"]),
        ("a query of the same name with another text is another",
         dict.fromkeys((10, 11, 12), ONE), {12: LONGER}, "", 3, ["one"]),
        ("other queries before the interval do not matter", {9: TWO}, {9: TWO}, "", 0, []),
        ("nor after it", {13: TWO}, {13: TWO}, "", 0, []),
    ],
)  # fmt: skip
def test_what_is_published_of_three_hours(
    tmp_path: Path, title: str, published: dict[int, Workload], rows: dict[int, Workload],
    changed: str, number: int, others: list[str],
) -> None:  # fmt: skip
    state = lake(tmp_path, published, rows, changed)
    expected = {"hours": 3, "published_hours": number, "other_queries": others}
    assert published_hours(tmp_path, state, ONE, THREE_HOURS) == expected, title


def test_an_hour_whose_results_changed_since_does_not_count(tmp_path: Path) -> None:
    state = lake(tmp_path, dict.fromkeys((10, 11, 12), ONE), {10: ONE}, "")
    assert published_hours(tmp_path, state, ONE, THREE_HOURS)["published_hours"] == 3
    write_table(tmp_path, declared("results"), [found("one", 11)], note={"hours": [label(11)]})
    assert published_hours(tmp_path, state, ONE, THREE_HOURS)["published_hours"] == 2
    write_table(tmp_path, declared("results"), [found("one", 11)])  # by hand: the whole day
    assert published_hours(tmp_path, state, ONE, THREE_HOURS)["published_hours"] == 0


def test_without_a_lake_nothing_is_published(tmp_path: Path) -> None:
    expected = {"hours": 3, "published_hours": 0, "other_queries": []}
    assert published_hours(tmp_path, state_of(tmp_path), ONE, THREE_HOURS) == expected
