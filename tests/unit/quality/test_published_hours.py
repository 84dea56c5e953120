"""What is published for a workload, in a small lake written without a JVM."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from elsinore.catalog.load_schema import load_schema
from elsinore.quality.lake import published_hours
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, hour_label, parse_instant

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "schemas/events/flights.yaml")
QUERY = "QUERY {} RETURN COUNT(*) PATTERN Departure D WITHIN 1 hour;"
ONE = read_workload(QUERY.format("one"), SCHEMA)
TWO = read_workload(QUERY.format("two"), SCHEMA)
DAY = date(2013, 1, 1)
THREE_HOURS = Interval.parse("2013-01-01T10:00", "2013-01-01T13:00")


def lake(
    folder: Path, published: dict[str, Workload], rows: dict[str, Workload], *, changed: str = ""
) -> Path:
    """A lake with publications, and with a result row of each query, by hour.

    `changed` is an instant of which an event came after all was published.
    """
    publications = [
        {"owned_hour": hour, "workload": "test", "plan_fingerprint": "p", "run": "test",
         "workload_fingerprint": workload_fingerprint(workload), "events_version": 0,
         "digest": "d", "rows": 1, "validated": 1, "published_at": datetime(2013, 1, 2, tzinfo=UTC),
         "published_version": 0, "published_together": len(published)}
        for hour, workload in published.items()
    ]  # fmt: skip
    results = [
        {
            "owned_day": DAY,
            "owned_hour": hour,
            "query": query.name,
            "query_fingerprint": query.fingerprint,
        }
        for hour, workload in rows.items()
        for query in workload.queries
    ]
    names = ("owned_hour", "query", "query_fingerprint")
    schema = pa.schema([("owned_day", pa.date32()), *((name, pa.string()) for name in names)])
    table = pa.Table.from_pylist(results, schema=schema)
    write_deltalake(str(folder / "trend_aggregates"), table)
    write_deltalake(str(folder / "publications"), pa.Table.from_pylist(publications))
    write_deltalake(str(folder / "events"), pa.table({"n": [1]}))
    if changed:
        at = parse_instant(changed)
        note = json.dumps({"run": "test", "touched": {hour_label(at): [at, at]}})
        properties = CommitProperties(custom_metadata={"userMetadata": note})
        write_deltalake(
            str(folder / "events"), pa.table({"n": [2]}), mode="append",
            commit_properties=properties,
        )  # fmt: skip
    return folder


def each_hour(workload: Workload, *hours: int) -> dict[str, Workload]:
    """The workload for some hours of the day."""
    return {f"2013-01-01T{hour:02}": workload for hour in hours}


def told(published: int, *others: str) -> dict[str, Any]:
    """Of three hours."""
    return {"hours": 3, "published_hours": published, "other_queries": list(others)}


def test_without_a_lake_nothing_is_published(tmp_path: Path) -> None:
    assert published_hours(tmp_path, ONE, THREE_HOURS) == told(0)


def test_the_hours_of_the_interval_that_are_published_count(tmp_path: Path) -> None:
    found = published_hours(lake(tmp_path, each_hour(ONE, 9, 10, 12), {}), ONE, THREE_HOURS)
    assert found == told(2)


def test_an_hour_with_an_event_that_has_changed_since_does_not_count(tmp_path: Path) -> None:
    held = lake(tmp_path, each_hour(ONE, 10, 11, 12), {}, changed="2013-01-01T11:30Z")
    assert published_hours(held, ONE, THREE_HOURS) == told(2)


def test_what_another_workload_published_does_not_count(tmp_path: Path) -> None:
    held = lake(tmp_path, each_hour(TWO, 10, 11, 12), each_hour(TWO, 11))
    found = published_hours(held, ONE, THREE_HOURS)
    assert found == told(0, "two")


def test_a_query_of_the_same_name_with_another_text_is_another(tmp_path: Path) -> None:
    other = read_workload(QUERY.format("one").replace("1 hour", "2 hours"), SCHEMA)
    held = lake(tmp_path, each_hour(ONE, 10, 11, 12), each_hour(other, 12))
    found = published_hours(held, ONE, THREE_HOURS)
    assert found == told(3, "one")


@pytest.mark.parametrize("hour", [9, 13])
def test_hours_beside_the_interval_do_not_matter(tmp_path: Path, hour: int) -> None:
    held = lake(tmp_path, each_hour(TWO, hour), each_hour(TWO, hour))
    found = published_hours(held, ONE, THREE_HOURS)
    assert found["other_queries"] == []
