"""Spark's views of the queries hold what DuckDB's do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import elsinore
from elsinore.errors import DataError
from elsinore.lake.old_names import OLD_NAMES
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.store.tables import RESULTS, Lake
from tests.data_tables import create_all
from tests.views_lake import (
    SAMPLES,
    VIEWS,
    expected,
    ordered,
    publish_flights,
    publish_odd_rows,
    settings_of,
)


@pytest.fixture(scope="module")
def named(server: Settings) -> Iterator[SparkSession]:
    """A session whose database is its own, for all sessions of a server share their names."""
    with open_session(server) as session:
        session.sql("CREATE DATABASE odd")
        session.sql("USE odd")
        yield session
        session.sql("DROP DATABASE odd CASCADE")


def test_views_agree_with_those_of_duckdb_and_with_the_library(
    named: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "it's `here`"
    folder.mkdir()
    settings = settings_of(folder)
    workload, results = publish_odd_rows(settings)
    lake = Lake.open(settings)
    before = {table: lake.version(table) for table in lake.tables}
    for _ in range(2):  # names of before are replaced
        elsinore.spark.register(named, settings)
    duck = elsinore.connect(settings)
    for query, view in zip(workload.queries, VIEWS, strict=True):
        in_spark, in_duck = named.table(view), duck.table(view)
        assert in_spark.columns == in_duck.columns
        assert rows(in_spark) == ordered(in_duck.fetchall()) == expected(query, results[query.name])
    listed = {row["viewName"] for row in named.sql("SHOW VIEWS").collect()}
    assert listed == {*VIEWS, *lake.tables, *OLD_NAMES}
    assert named.table(RESULTS).count() == len(duck.table(RESULTS))
    assert {table: lake.version(table) for table in lake.tables} == before


def test_views_of_another_workload_leave_those_of_the_first_their_rows(
    named: SparkSession, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path)
    publish_odd_rows(settings)
    elsinore.spark.register(named, settings)
    rows_of_first = named.table("texts").count()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "ops.sase").write_text(
        "QUERY own RETURN COUNT(*) PATTERN A a WITHIN 1 hour;"
    )
    of_ops = settings.of_workload("ops")
    create_all(of_ops)
    elsinore.spark.register(named, of_ops)
    try:
        assert named.table("own").count() == named.table(RESULTS).count() == 0
        assert named.table("texts").count() == rows_of_first > 0
    finally:
        named.sql("DROP VIEW own")


def test_a_table_that_has_a_name_of_the_lake_stays(named: SparkSession, tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    create_all(settings)
    named.sql("CREATE DATABASE other")
    named.sql("USE other")
    try:
        named.sql("CREATE TABLE validations AS SELECT 7 AS mine")
        with pytest.raises(PySparkException, match="validations"):
            elsinore.spark.register(named, settings)
        assert named.table("validations").collect()[0]["mine"] == 7
    finally:
        named.sql("DROP DATABASE other CASCADE")
        named.sql("USE odd")


def test_a_lake_without_tables_is_refused(named: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks tables \(create them: `elsinore ingest"):
        elsinore.spark.register(named, settings_of(tmp_path))


def test_samples_of_the_docs_have_the_rows_that_duckdb_has(
    named: SparkSession, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path)
    publish_flights(settings)
    elsinore.spark.register(named, settings)
    duck = elsinore.connect(settings)
    for sample in SAMPLES:
        found = rows(named.sql(sample))
        assert len(found) == 3
        assert found == ordered(duck.sql(sample).fetchall())


def rows(frame: Any) -> list[tuple[str, ...]]:
    """The rows of a frame of Spark, as `ordered` has them."""
    columns = (column.to_pylist() for column in frame.toArrow().columns)
    return ordered(list(zip(*columns, strict=True)))
