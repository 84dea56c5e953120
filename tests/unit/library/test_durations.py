"""Lengths of time: durations in Arrow, microseconds in JSON, CSV and tables, text for people."""

from __future__ import annotations

import csv
import json
from datetime import timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import elsinore
from elsinore.choices import Engine, Format
from elsinore.cli.answers import write_answers
from elsinore.events import EventTable
from elsinore.executors.output.finish import finish, finish_long
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.plan import RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.lake.views import view_statements
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow, encode_row
from elsinore.results.wide import rows_of, wide_table
from elsinore.timeline import MINUTE, Length
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {}}, "us")
TEXT = """
QUERY q RETURN MAX(DURATION), AVG(DURATION) AS mean, SUM(DURATION) AS total,
  MAX(A.time) - MIN(A.time) AS span, MAX(DURATION) * 1000000000000 AS beyond,
  MAX(DURATION) / 1 hour AS hours, SUM(DURATION) / 2 AS half,
  STDDEV(DURATION) AS spread, VAR_POP(DURATION) AS variance
PATTERN A+ HAVING MAX(DURATION) > 1 hour WITHIN 1 day;
"""
#: Of the trends (a0), (a90) and (a0, a90).
VALUES = {
    "MAX(DURATION)": 90 * MINUTE, "mean": 30 * MINUTE, "total": 90 * MINUTE, "span": 90 * MINUTE,
    "beyond": None, "hours": 1.5, "half": 45.0 * MINUTE,
    # The mean is 30 minutes, so the squares add up to 5,400 square minutes: the root of 2,700.
    "spread": 3_117_691_454, "variance": 1800.0 * MINUTE**2,
}  # fmt: skip
DURATIONS = ["MAX(DURATION)", "mean", "span", "beyond", "spread"]


@pytest.fixture(scope="module")
def workload() -> Workload:
    return read_workload(TEXT, SCHEMA)


@pytest.fixture(scope="module")
def events() -> EventTable:
    return EventTable.of(SCHEMA, [("A", 0, {}), ("A", 90 * MINUTE, {})])


@pytest.fixture(scope="module")
def plan(workload: Workload) -> RuntimePlan:
    return RuntimePlan.of(workload.queries)


@pytest.fixture(scope="module")
def partial(plan: RuntimePlan, events: EventTable) -> list[PartialRows]:
    return [part for rows in plan.run(events) for part in rows]


@pytest.fixture(scope="module")
def rows(workload: Workload, plan: RuntimePlan, partial: list[PartialRows]) -> list[ResultRow]:
    return finish(workload, partial, answered_by(plan.row_classes))


def test_the_types_of_outputs(workload: Workload) -> None:
    types = {one.name: one.type_name for one in workload.queries[0].outputs}
    assert [name for name, kind in types.items() if kind == "duration"] == DURATIONS
    assert (types["total"], types["hours"], types["half"]) == ("long", "double", "double")


def test_rows_have_lengths_in_every_executor(
    workload: Workload, events: EventTable, rows: list[ResultRow]
) -> None:
    assert [dict(row.values) for row in rows] == [VALUES]
    assert [type(value) for _, value in rows[0].values[:2]] == [Length, Length]
    assert type(dict(rows[0].values)["total"]) is int
    found = two_step(workload.queries[0], events)
    assert [[type(value) for _, value in row.values] for row in found] == [
        [type(value) for _, value in row.values] for row in rows
    ]
    assert found == rows


def test_json_has_microseconds(rows: list[ResultRow]) -> None:
    assert json.loads(encode_row(rows[0]))["values"] == VALUES


def test_arrow_has_durations_that_are_read_again(rows: list[ResultRow]) -> None:
    table = wide_table(rows, calendar=True)
    lengths = [field.name for field in table.schema if field.type == pa.duration("us")]
    assert lengths == [name for name in DURATIONS if VALUES[name] is not None]
    assert table["mean"].to_pylist() == [timedelta(minutes=30)]
    again = list(rows_of(table))
    assert again == rows
    assert type(dict(again[0].values)["mean"]) is Length


def test_people_read_units_and_spreadsheets_microseconds(
    rows: list[ResultRow], tmp_path: Path
) -> None:
    write_answers(rows, Format.TABLE, tmp_path / "t.txt", None, calendar=True)
    text = (tmp_path / "t.txt").read_text()
    assert text.count("1 h 30 min") == 2
    assert text.count("30 min") == 3
    write_answers(rows, Format.CSV, tmp_path / "t.csv", None, calendar=True)
    with (tmp_path / "t.csv").open() as file:
        [row] = csv.DictReader(file)
    assert (row["mean"], row["total"]) == ("1800000000", "5400000000")


def test_tables_of_results_have_the_type_and_views_microseconds(
    workload: Workload, plan: RuntimePlan, partial: list[PartialRows]
) -> None:
    long = finish_long(workload, partial, answered_by(plan.row_classes))
    found = {row["aggregate"]: (row["type"], row["exact"]) for row in long.to_pylist()}
    assert found["mean"] == ("duration", str(30 * MINUTE))
    assert found["beyond"] == ("duration", None)
    assert found["total"] == ("long", str(90 * MINUTE))
    prints = pa.repeat(workload.queries[0].fingerprint, long.num_rows)
    connection = duckdb.connect()
    connection.register("results", long.append_column("query_fingerprint", prints))
    for statement in view_statements(workload, Engine.DUCKDB, []):
        connection.execute(statement)
    assert connection.execute("SELECT mean, typeof(mean), span FROM q").fetchall() == [
        (30 * MINUTE, "BIGINT", 90 * MINUTE)
    ]


def test_python_has_durations() -> None:
    schema = "stream: s\ntime: {field: at, unit: iso}\ntype: {field: kind}\ntypes: {A: {}}\n"
    events = pa.table({"at": ["2025-03-03T10:00:00Z", "2025-03-03T11:30:00Z"], "kind": ["A", "A"]})
    table = elsinore.workload(TEXT, schema=schema).run(events)["q"]
    assert {table.schema.field(name).type for name in DURATIONS} == {pa.duration("us")}
    assert table["mean"].to_pylist() == [timedelta(minutes=30)]
    assert table["beyond"].to_pylist() == [None]
