"""What is published for a workload, in a small lake written without a JVM."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from elsinore.catalog.load_schema import load_schema
from elsinore.quality.lake import published_hours
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, hour_label, parse_instant
from tests.unit.quality.lake import published as published_row

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "schemas/events/flights.yaml")
QUERY = "QUERY {} RETURN COUNT(*) PATTERN Departure D WITHIN 1 hour;"
ONE = read_workload(QUERY.format("one"), SCHEMA)
TWO = read_workload(QUERY.format("two"), SCHEMA)
LONGER = read_workload(QUERY.format("one").replace("1 hour", "2 hours"), SCHEMA)
DAY = date(2013, 1, 1)
THREE_HOURS = Interval.parse("2013-01-01T10:00", "2013-01-01T13:00")


def lake(
    folder: Path, published: dict[int, Workload], rows: dict[int, Workload], changed: str
) -> Path:
    """A lake with publications, and with a result row of each query, by hour of the day.

    `changed` is an instant of which an event came after all was published; none where empty.
    """
    publications = [
        published_row(f"2013-01-01T{hour:02}")
        | {"workload_fingerprint": workload_fingerprint(workload), "events_version": 0,
           "published_together": len(published)}
        for hour, workload in published.items()
    ]  # fmt: skip
    names = ("window_end_hour", "query", "query_fingerprint")
    schema = pa.schema([("window_end_day", pa.date32()), *((name, pa.string()) for name in names)])
    results = [
        dict(zip(schema.names, (DAY, f"2013-01-01T{hour:02}", query.name, query.fingerprint),
                 strict=True))
        for hour, workload in rows.items() for query in workload.queries
    ]  # fmt: skip
    table = pa.Table.from_pylist(results, schema=schema)
    write_deltalake(str(folder / "results"), table)
    write_deltalake(str(folder / "publications"), pa.Table.from_pylist(publications))
    write_deltalake(str(folder / "events"), pa.table({"n": [1]}))
    write_deltalake(str(folder / "landings"), pa.table({"file_hour": ["x"]}))
    if changed:
        at = parse_instant(changed)
        note = json.dumps({"run": "test", "touched": {hour_label(at): [at, at]}})
        properties = CommitProperties(custom_metadata={"userMetadata": note})
        write_deltalake(
            str(folder / "events"), pa.table({"n": [2]}), mode="append",
            commit_properties=properties,
        )  # fmt: skip
    return folder


@pytest.mark.parametrize(
    ("title", "published", "rows", "changed", "number", "others"),
    [
        ("hours beside the interval do not count",
         dict.fromkeys((9, 10, 12), ONE), {}, "", 2, []),
        ("nor does one with an event that has changed since",
         dict.fromkeys((10, 11, 12), ONE), {}, "2013-01-01T11:30Z", 2, []),
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
    found = published_hours(lake(tmp_path, published, rows, changed), ONE, THREE_HOURS)
    told = {"hours": 3, "published_hours": number, "other_queries": others}
    assert found == told, title


def test_without_a_lake_nothing_is_published(tmp_path: Path) -> None:
    told = {"hours": 3, "published_hours": 0, "other_queries": []}
    assert published_hours(tmp_path, ONE, THREE_HOURS) == told
