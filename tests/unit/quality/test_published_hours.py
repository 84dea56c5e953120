"""What is published for a workload, in a small lake written without a JVM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from elsinore.catalog.load_schema import load_schema
from elsinore.quality.published_hours import PublishedHours, published_hours
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval

ROOT = Path(__file__).parents[3]
SCHEMA = load_schema(ROOT / "schemas/events/flights.yaml")
QUERY = "QUERY {} RETURN COUNT(*) PATTERN Departure D WITHIN 1 hour;"
ONE = read_workload(QUERY.format("one"), SCHEMA)
TWO = read_workload(QUERY.format("two"), SCHEMA)
THREE_HOURS = Interval.parse("2013-01-01T10:00", "2013-01-01T13:00")


def lake(folder: Path, published: dict[str, Workload], rows: dict[str, Workload]) -> Path:
    """A lake with runs by key, and with a result row of each query by hour."""
    metrics = [
        {"run_key": key, "step": "publish", "metric": "workload_fingerprint",
         "detail": workload_fingerprint(workload)}
        for key, workload in published.items()
    ]  # fmt: skip
    metrics.append({"run_key": "x", "step": "land", "metric": "lines", "detail": "none"})
    results = [
        {"owned_hour": hour, "query": query.name, "query_fingerprint": query.fingerprint}
        for hour, workload in rows.items()
        for query in workload.queries
    ]
    text = pa.string()
    for table, records, names in (
        ("run_metrics", metrics, ("run_key", "step", "metric", "detail")),
        ("trend_aggregates", results, ("owned_hour", "query", "query_fingerprint")),
    ):
        schema = pa.schema([(name, text) for name in names])
        write_deltalake(str(folder / table), pa.Table.from_pylist(records, schema=schema))
    return folder


def test_without_a_lake_nothing_is_published(tmp_path: Path) -> None:
    assert published_hours(tmp_path, ONE, THREE_HOURS) == PublishedHours(3, 0, ())


def test_runs_of_any_length_cover_their_hours(tmp_path: Path) -> None:
    runs = {"2013-01-01T09_2013-01-01T11": ONE, "2013-01-01T12_2013-01-01T13": ONE}
    found = published_hours(lake(tmp_path, runs, {}), ONE, THREE_HOURS)
    assert found == PublishedHours(3, 2, ())


def test_what_another_workload_published_does_not_count(tmp_path: Path) -> None:
    runs = {"2013-01-01T10_2013-01-01T13": TWO}
    found = published_hours(lake(tmp_path, runs, {"2013-01-01T11": TWO}), ONE, THREE_HOURS)
    assert found == PublishedHours(3, 0, ("two",))


def test_a_query_of_the_same_name_with_another_text_is_another(tmp_path: Path) -> None:
    other = read_workload(QUERY.format("one").replace("1 hour", "2 hours"), SCHEMA)
    runs = {"2013-01-01T10_2013-01-01T13": ONE}
    found = published_hours(lake(tmp_path, runs, {"2013-01-01T12": other}), ONE, THREE_HOURS)
    assert found == PublishedHours(3, 3, ("one",))


@pytest.mark.parametrize("hour", ["2013-01-01T09", "2013-01-01T13"])
def test_hours_beside_the_interval_do_not_matter(tmp_path: Path, hour: str) -> None:
    found = published_hours(lake(tmp_path, {}, {hour: TWO}), ONE, THREE_HOURS)
    assert found.other_queries == ()
