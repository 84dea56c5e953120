"""The lake: regions are rewritten whole, names and schemas are checked, failures are sorted."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.compute as pc
import pytest
from pyarrow.parquet import filters_to_expression
from pyspark.sql import SparkSession

from elsinore.errors import (
    AuthorError,
    BudgetError,
    DataError,
    EngineError,
    LostWorkerError,
    ParameterError,
    SchemaError,
)
from elsinore.settings import Settings
from elsinore.store.regions import Hours, Landings, of_step, of_workload, run_key, sql
from elsinore.store.tables import RECORDS, Column, Lake
from elsinore.store.task_failures import spark_failures
from elsinore.timeline import DAY, HOUR, Interval
from tests.data_tables import create_data_tables
from tests.landing_zone import hours, rows


@pytest.fixture
def lake(settings: Settings) -> Lake:
    """A lake with tables of records."""
    made = Lake.open(settings)
    made.create_records()
    return made


def test_rows_are_added_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {
        "kind": "plan", "workload_fingerprint": "w", "statistics_fingerprint": "s", "body": "{}",
        "finder": "gwmin",
    }  # fmt: skip
    first, second = ({**row, "fingerprint": name} for name in ("a", "b"))
    key, write = ("kind", "fingerprint"), Lake.commit

    def meanwhile(self: Lake, *args: Any, **how: Any) -> None:
        monkeypatch.setattr(Lake, "commit", write)
        self.add("plans", [first], key=key, run="other")
        write(self, *args, **how)

    monkeypatch.setattr(Lake, "commit", meanwhile)
    lake.add("plans", [first, second], key=key, run="mine")
    assert rows(lake, "plans", *key) == [("plan", "a"), ("plan", "b")]


def test_data_is_not_written_as_records(lake: Lake) -> None:
    create_data_tables(lake, ["raw_events"])
    with pytest.raises(ParameterError, match="raw_events is a partitioned table"):
        lake.add("raw_events", [{"file": "f"}], key=["file"], run="r")


def metrics(lake: Lake, first: int, step: str, workload: str = "", **values: float) -> None:
    interval = hours(first, first + 1)
    rows = [
        {"run_key": run_key(interval), "workload_fingerprint": workload, "step": step}
        | {"metric": name, "value": value}
        for name, value in values.items()
    ]
    lake.record("run_metrics", rows, where=of_step(interval, step, workload), run="r")


def test_records_replace_their_region(lake: Lake) -> None:
    metrics(lake, 9, "ingest", lines=1, files=2)
    metrics(lake, 9, "publish", rows=3)
    metrics(lake, 10, "ingest", lines=4)
    metrics(lake, 9, "ingest", lines=5)
    metrics(lake, 9, "ingest", "f" * 64, lines=6)
    assert rows(lake, "run_metrics", "run_key", "step", "metric", "value") == [
        ("2013-01-01T09_2013-01-01T10", "ingest", "lines", 5.0),
        ("2013-01-01T09_2013-01-01T10", "ingest", "lines", 6.0),
        ("2013-01-01T09_2013-01-01T10", "publish", "rows", 3.0),
        ("2013-01-01T10_2013-01-01T11", "ingest", "lines", 4.0),
    ]
    assert lake.version("run_metrics") == 5


def test_records_are_put_together_as_they_grow(lake: Lake) -> None:
    metrics(lake, 9, "ingest")  # none, in a table of none
    assert rows(lake, "run_metrics", "value") == []
    most = 0
    for value in range(20):
        metrics(lake, 10, str(value), lines=value)
        most = max(most, len(lake.log("run_metrics").file_uris()))
    assert sorted(rows(lake, "run_metrics", "value")) == [float(value) for value in range(20)]
    assert most == 6


def test_records_are_found_where_others_were_deleted_by_hand(lake: Lake) -> None:
    """Of each text by which they are chosen there are two values in the file that is left."""
    for hour, step, workload in product((9, 10), ("ingest", "plan"), "ef"):
        metrics(lake, hour, step, 64 * workload, lines=1, files=2, bytes=3)
    path = lake.path("run_metrics")
    deltalake.DeltaTable(str(path)).optimize.compact()
    deltalake.DeltaTable(str(path)).delete("metric = 'bytes'")
    (own,) = of_step(hours(10, 11), "plan", "f" * 64)
    for condition in (*own, ("metric", "=", "lines")):
        assert lake.rows("run_metrics", filters_to_expression([condition])).num_rows == 8, condition
    assert lake.remove_before("run_metrics", "run_key", date(2013, 1, 2), note="{}") == 16

    path = lake.path("validations")
    place = {"query": "q", "group_key": "{}", "window_start": 0, "window_end": 1, "mismatch": False}
    rows = [
        place | {"window_end_hour": "2013-01-01T09", "workload_fingerprint": "f" * 64}
        | {"aggregate": aggregate, "status": status}
        for aggregate, status in product(("*", "COUNT(*)", "MIN(x)"), ("checked", "skipped"))
    ]  # fmt: skip
    region = of_workload(Hours(hours(9, 10)), "f" * 64)
    lake.record("validations", rows, where=region, run="r")
    deltalake.DeltaTable(str(path)).delete("aggregate = 'MIN(x)'")
    compared = (pc.field("status") == "checked") & (pc.field("aggregate") != "*")
    assert lake.rows("validations", filters_to_expression(region) & compared).num_rows == 1


@pytest.mark.parametrize("name", ["nothing", "../raw_events", "", "raw_events`; --"])
def test_only_declared_tables_have_a_path(lake: Lake, name: str) -> None:
    with pytest.raises(ParameterError, match="has no table"):
        lake.path(name)


def test_a_lake_without_tables_says_what_to_do(tmp_path: Path) -> None:
    lake = Lake.open(Settings(home=tmp_path))
    with pytest.raises(DataError, match=r"the table events does not exist .*elsinore ingest"):
        lake.rows("events")


def test_what_a_killed_creation_has_left_is_in_nobodys_way(tmp_path: Path) -> None:
    lake = Lake.open(Settings(home=tmp_path))
    log = lake.path("plans") / "_delta_log"
    log.mkdir(parents=True)
    (log / ".json.tmp").write_text("{half")
    assert set(lake.create_records()) == set(RECORDS)
    assert {lake.version(table) for table in RECORDS} == {0}


def test_ticks_have_no_hours(settings: Settings, tmp_path: Path) -> None:
    ticks = tmp_path / "ticks.yaml"
    ticks.write_text("stream: s\ntime: {field: t, unit: integer}\ntype: {field: y}\ntypes:\n  A:\n")
    with pytest.raises(SchemaError, match="counts time in ticks"):
        Lake.open(settings.model_copy(update={"schema_file": ticks}))


def test_regions_spell_their_hours_themselves() -> None:
    files = "file_hour >= '2013-01-01T09' AND file_hour <= '2013-01-01T10'"
    assert sql(Landings(hours(9, 11)).conditions()) == files
    assert sql(Hours(hours(9, 10), (Interval(0, DAY),)).conditions(by_day=True)) == (
        "(window_end_day >= DATE'2013-01-01' AND window_end_day <= DATE'2013-01-01' "
        "AND window_end_hour >= '2013-01-01T09' AND window_end_hour <= '2013-01-01T09') "
        "OR (window_end_day >= DATE'1970-01-01' AND window_end_day <= DATE'1970-01-01')"
    )
    assert sql(of_step(hours(9, 10), "ingest")) == (
        "run_key = '2013-01-01T09_2013-01-01T10' AND step = 'ingest' AND workload_fingerprint = ''"
    )
    assert sql(of_workload(Hours(hours(9, 10)), "0" * 64)) == (
        "window_end_hour >= '2013-01-01T09' AND window_end_hour <= '2013-01-01T09' "
        f"AND workload_fingerprint = '{'0' * 64}'"
    )
    for text in ("x' OR 1=1 --", "0" * 64 + "\n"):
        for region in (of_workload(Hours(hours(9, 10)), text), of_step(hours(9, 10), text)):
            with pytest.raises(EngineError, match="cannot be used in a condition"):
                sql(region)
    for of in (Landings, lambda interval: of_step(interval, "ingest")):
        with pytest.raises(AuthorError, match="whole hours"):
            of(Interval(0, HOUR + 1))


@pytest.mark.parametrize(
    ("fault", "kind", "text"),
    [
        (None, LostWorkerError, "process was lost"),
        (BudgetError("this group is too big"), BudgetError, "^this group is too big$"),
    ],
)
def test_failures_of_workers_keep_their_meaning(
    spark: SparkSession, fault: Exception | None, kind: type[Exception], text: str
) -> None:
    def work(_: Any) -> Any:  # within a function: it is sent whole, and no worker imports tests
        if fault is not None:
            raise fault
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(kind, match=text), spark_failures():
        spark.range(1).mapInArrow(work, "id long").collect()


def test_who_loses_against_another_that_adds_a_column_finds_it(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans, own = lake.schema("plans"), Column(type="string", nullable=True, description="New.")
    newer = plans.model_copy(update={"columns": {**plans.columns, "new": own}})
    add = Lake.add_columns

    def add_as_second(self: Lake, table: str, names: tuple[str, ...]) -> None:
        seen = deltalake.DeltaTable(str(self.path(table)))
        add(self, table, names)
        with monkeypatch.context() as patch:
            patch.setattr(Lake, "log", lambda *_: seen)
            add(self, table, names)

    monkeypatch.setattr(Lake, "add_columns", add_as_second)
    grown = replace(lake, tables={**lake.tables, "plans": newer})
    assert grown.create_records() == ()
    assert "new" in grown.rows("plans").column_names
