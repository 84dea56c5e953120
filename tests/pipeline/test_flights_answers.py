"""Published results of flights, and SQL that answers the same questions from the events."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from duckdb import DuckDBPyConnection

import elsinore
from elsinore.generate.flights import generate_flights
from elsinore.query.comments import headline_warnings, query_texts
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from jobs import aggregate_trends, publish_results, validate_results
from tests.homes import NewHome
from tests.landing_zone import run_jobs

pytestmark = pytest.mark.spark

#: The snowstorm of February 2013.
START, END = datetime(2013, 2, 8, tzinfo=UTC), datetime(2013, 2, 10, tzinfo=UTC)
HOURS = Interval.parse(START.isoformat(), END.isoformat())
WORKLOADS = ("flights", "flights_cancellations")
SQL = Path(__file__).with_name("flights_answers.sql").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(new_spark_home: NewHome) -> Settings:
    """A home after a run of each workload over two days."""
    settings = new_spark_home()
    generate_flights(settings.landing, start=START, end=END)
    for name in WORKLOADS:
        jobs = (aggregate_trends, validate_results, publish_results)
        run_jobs(settings.of_workload(name), HOURS, name, last=jobs)
    return settings


def rows(lake: DuckDBPyConnection, columns: list[str], view: str) -> list[tuple[Any, ...]]:
    """Return the rows of a view in a fixed order, with integers of any type as int."""
    found = lake.sql(f"SELECT {', '.join(columns)} FROM {view} ORDER BY ALL").fetchall()
    return [tuple(int(v) if isinstance(v, Decimal) else v for v in row) for row in found]


def alike(ours: Any, theirs: Any) -> bool:
    """Return whether two values are equal, doubles up to rounding."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9)
    return bool(ours == theirs)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_sql_over_the_events_gives_the_published_results(home: Settings, workload: str) -> None:
    settings = home.of_workload(workload)
    lake = elsinore.connect(settings)
    lake.execute(SQL)
    for query in load_workload(settings.queries, Lake.open(settings).stream).queries:
        groups = [str(key.group_label) for key in query.group_keys]
        values = [one.name if one.named else "trends" for one in query.outputs]
        columns = [*groups, "window_start", *values]
        published, expected = (rows(lake, columns, f"{by}{query.name}") for by in ("", "sql_"))
        assert published, query.name
        key = len(groups) + 1
        assert [row[:key] for row in published] == [row[:key] for row in expected], query.name
        for ours, theirs in zip(published, expected, strict=True):
            assert all(map(alike, ours, theirs)), (query.name, columns, ours, theirs)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_each_card_has_a_question_and_a_headline_of_values(home: Settings, workload: str) -> None:
    settings = home.of_workload(workload)
    queries = load_workload(settings.queries, Lake.open(settings).stream)
    texts = query_texts(queries)
    for query in queries.queries:
        own = texts[query.name]
        assert own.title.endswith("?"), query.name
        assert own.headline.names, query.name
        assert headline_warnings(query, own) == []


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_sample_of_each_query_is_compared_with_the_reference(
    home: Settings, workload: str
) -> None:
    """Most values of EACH and DISTINCT have no COUNT(*) that shows the number of trends."""
    settings = home.of_workload(workload)
    lake = elsinore.connect(settings)
    sample = lake.sql(
        "SELECT query, count(*) FILTER (status = 'checked'), count(*), count(*) FILTER (mismatch) "
        "FROM validations WHERE has_result GROUP BY query"
    ).fetchall()
    queries = load_workload(settings.queries, Lake.open(settings).stream).queries
    assert {row[0] for row in sample} == {query.name for query in queries}
    for query, checked, values, mismatches in sample:
        assert (checked > 0.9 * values, mismatches) == (True, 0), query
