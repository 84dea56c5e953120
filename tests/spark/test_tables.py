"""The lake: regions are rewritten whole, names and schemas are checked, failures are sorted."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake.exceptions import DeltaError
from pyarrow.parquet import filters_to_expression
from pyspark.sql import SparkSession

from elsinore.errors import (
    AuthorError,
    BudgetError,
    ConflictError,
    DataError,
    EngineError,
    LostWorkerError,
    ParameterError,
    SchemaError,
    SetupError,
)
from elsinore.lake.delta_log import commits
from elsinore.lake.regions import Hours, Landings, of_step, of_workload, run_key, sql
from elsinore.lake.tables import Column, Lake
from elsinore.settings import Settings
from elsinore.store.task_failures import spark_failures
from elsinore.timeline import DAY, HOUR, Interval
from tests.spark.landing_zone import arrow_rows, hours, rows


def raw(landing: str, line: str) -> dict[str, Any]:
    return {"file_hour": landing, "file": "f", "record_number": 1, "record": line}


def write(lake: Lake, first: int, end: int, *found: dict[str, Any]) -> None:
    region = Landings(hours(first, end))
    found_rows = arrow_rows(lake, "raw_events", *found)
    lake.stream_rows("raw_events", [found_rows], where=region, note="r")


def metrics(lake: Lake, first: int, step: str, workload: str = "", **values: float) -> None:
    interval = hours(first, first + 1)
    rows = [
        {"run_key": run_key(interval), "workload_fingerprint": workload, "step": step}
        | {"metric": name, "value": value}
        for name, value in values.items()
    ]
    lake.record("run_metrics", rows, where=of_step(interval, step, workload), run="r")


def test_a_region_is_rewritten_whole_and_no_rows_clear_it(lake: Lake) -> None:
    nine, ten, eleven = (f"2013-01-01T{hour:02}" for hour in (9, 10, 11))
    write(lake, 9, 12, raw(nine, "a"), raw(ten, "b"), raw(eleven, "c"))
    write(lake, 10, 11, raw(ten, "d"), raw(ten, "e"))
    assert rows(lake, "raw_events", "record") == ["a", "c", "d", "e"]
    write(lake, 10, 12)
    assert rows(lake, "raw_events", "record") == ["a"]


def test_rows_outside_of_the_region_are_refused(lake: Lake) -> None:
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    with pytest.raises(DeltaError, match="failed validation check"):
        write(lake, 10, 11, raw("2013-01-01T09", "b"))
    assert rows(lake, "raw_events", "record") == ["a"]


def test_records_replace_their_region(lake: Lake) -> None:
    metrics(lake, 9, "land", lines=1, files=2)
    metrics(lake, 9, "publish", rows=3)
    metrics(lake, 10, "land", lines=4)
    metrics(lake, 9, "land", lines=5)
    metrics(lake, 9, "land", "f" * 64, lines=6)
    assert rows(lake, "run_metrics", "run_key", "step", "metric", "value") == [
        ("2013-01-01T09_2013-01-01T10", "land", "lines", 5.0),
        ("2013-01-01T09_2013-01-01T10", "land", "lines", 6.0),
        ("2013-01-01T09_2013-01-01T10", "publish", "rows", 3.0),
        ("2013-01-01T10_2013-01-01T11", "land", "lines", 4.0),
    ]
    assert lake.version("run_metrics") == 5


def test_records_are_put_together_as_they_grow(lake: Lake) -> None:
    metrics(lake, 9, "land")  # none, in a table of none
    assert rows(lake, "run_metrics", "value") == []
    most = 0
    for value in range(20):
        metrics(lake, 10, str(value), lines=value)
        most = max(most, len(lake.log("run_metrics").file_uris()))
    assert sorted(rows(lake, "run_metrics", "value")) == [float(value) for value in range(20)]
    assert most == 6


def test_records_are_found_where_others_were_deleted_by_hand(lake: Lake) -> None:
    """Of each text by which they are chosen there are two values in the file that is left."""
    for hour, step, workload in product((9, 10), ("land", "plan"), "ef"):
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


def test_what_two_add_at_once_is_there_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"of_table": "events", "operation": "WRITE", "note": "{}"}
    first, second = ({**row, "version": version} for version in (1, 2))
    key, write = ("of_table", "version"), Lake.commit

    def beside(self: Lake, *args: Any, **how: Any) -> None:
        monkeypatch.setattr(Lake, "commit", write)
        self.add("history", [first], key=key, run="other")
        write(self, *args, **how)

    monkeypatch.setattr(Lake, "commit", beside)
    lake.add("history", [first, second], key=key, run="mine")
    assert rows(lake, "history", *key) == [("events", 1), ("events", 2)]


def test_data_is_not_written_as_records_nor_records_as_data(lake: Lake) -> None:
    with pytest.raises(ParameterError, match="raw_events is a partitioned table"):
        lake.add(
            "raw_events", [raw("2013-01-01T09", "a") | {"file_day": None}], key=["file"], run="r"
        )
    for table, day in (("landings", "file_day"), ("results", "file_day")):
        with pytest.raises(ParameterError, match=f"{table} is not partitioned by {day}"):
            lake.stream_rows(table, [], where=Landings(hours(9, 10)), note="r")


def departure_of(event: str, day: int) -> dict[str, Any]:
    at = datetime(2013, 1, day, 10, tzinfo=UTC)
    place = {"file_hour": "l", "file": "f", "record_number": 1}
    return {"event_id": event, "event_type": "Departure", "event_time": at} | place


def put_event(lake: Lake, event: str, day: int, *, seen: int) -> None:
    """Put a row into a day of `events`."""
    new = arrow_rows(lake, "events", departure_of(event, day))
    new = new.append_column("event_day", new["event_time"].cast(pa.date32()))
    lake.commit("events", [new], {"userMetadata": "{}"}, seen=seen)


def test_rows_are_changed_at_the_version_that_was_seen_alone(lake: Lake) -> None:
    """Also where another one writes other days, which is no conflict to Delta."""
    put_event(lake, "a", 1, seen=0)
    with pytest.raises(ConflictError):
        put_event(lake, "b", 2, seen=0)
    assert lake.version("events") == 1
    put_event(lake, "b", 2, seen=1)
    assert rows(lake, "events", "event_id") == ["a", "b"]


@pytest.mark.parametrize("name", ["nothing", "../raw_events", "", "raw_events`; --"])
def test_only_declared_tables_have_a_path(lake: Lake, name: str) -> None:
    with pytest.raises(ParameterError, match="has no table"):
        lake.path(name)


def test_tables_are_created_once_and_compared_with_their_declaration(
    lake: Lake, settings: Settings, tmp_path: Path
) -> None:
    assert lake.create_all() == ()
    declared = tmp_path / "tables"
    declared.mkdir()
    text = (settings.tables_dir / "raw_events.yaml").read_text()
    (declared / "raw_events.yaml").write_text(text.replace("record_number: {", "row: {"))
    other = settings.model_copy(update={"tables_dir": declared})
    with pytest.raises(SetupError, match="the schema does not declare its column record_number"):
        Lake.open(other).create_all()


def test_ids_stay_as_unique_as_they_were_when_the_lake_was_made(lake: Lake) -> None:
    def of(span: int | None) -> Lake:
        return replace(lake, stream=replace(lake.stream, id_span=span))

    match = "ids are unique for ever, but within a day in its declaration"
    with pytest.raises(SetupError, match=match):
        of(DAY).create_all()
    # A lake of an earlier release has not said it, and does so now.
    config = {
        k: v for k, v in lake.log("events").metadata().configuration.items() if "elsinore" not in k
    }
    empty, path = lake.schema("events").arrow().empty_table(), str(lake.path("events"))
    shutil.rmtree(path)
    deltalake.write_deltalake(path, empty, partition_by=["event_day"], configuration=config)
    of(DAY).create_all()
    with pytest.raises(SetupError, match="within a day, but for ever in its declaration"):
        lake.create_all()


@pytest.mark.parametrize("field", [None, "uid"])
def test_ids_stay_the_field_that_they_were_when_the_lake_was_made(
    lake: Lake, field: str | None
) -> None:
    other = replace(lake, stream=replace(lake.stream, id_field=field))
    match = f"the field of its ids is id, but {field or 'none'} in its declaration"
    with pytest.raises(SetupError, match=match):
        other.create_all()


def test_a_lake_without_tables_says_what_to_do(tmp_path: Path) -> None:
    lake = Lake.open(Settings(home=tmp_path))
    with pytest.raises(DataError, match=r"the table events does not exist .*elsinore land"):
        lake.rows("events")


def test_what_a_killed_creation_has_left_is_in_nobodys_way(tmp_path: Path) -> None:
    lake = Lake.open(Settings(home=tmp_path))
    for table, left in (("events", "_commit_x.json.tmp"), ("plans", ".json.tmp")):
        log = lake.path(table) / "_delta_log"
        log.mkdir(parents=True)
        (log / left).write_text("{half")
    assert set(lake.create_all()) == set(lake.tables)
    assert {lake.version(table) for table in lake.tables} == {0}


def test_ticks_have_no_hours(settings: Settings, tmp_path: Path) -> None:
    ticks = tmp_path / "ticks.yaml"
    ticks.write_text("stream: s\ntime: {field: t, unit: integer}\ntype: {field: y}\ntypes:\n  A:\n")
    with pytest.raises(SchemaError, match="counts time in ticks"):
        Lake.open(settings.model_copy(update={"schema_file": ticks}))


def test_regions_spell_their_hours_themselves() -> None:
    landings = "file_hour >= '2013-01-01T09' AND file_hour <= '2013-01-01T10'"
    assert sql(Landings(hours(9, 11)).conditions()) == landings
    assert sql(Hours(hours(9, 10), (Interval(0, DAY),)).conditions(by_day=True)) == (
        "(window_end_day >= DATE'2013-01-01' AND window_end_day <= DATE'2013-01-01' "
        "AND window_end_hour >= '2013-01-01T09' AND window_end_hour <= '2013-01-01T09') "
        "OR (window_end_day >= DATE'1970-01-01' AND window_end_day <= DATE'1970-01-01')"
    )
    assert sql(of_step(hours(9, 10), "land")) == (
        "run_key = '2013-01-01T09_2013-01-01T10' AND step = 'land' AND workload_fingerprint = ''"
    )
    assert sql(of_workload(Hours(hours(9, 10)), "0" * 64)) == (
        "window_end_hour >= '2013-01-01T09' AND window_end_hour <= '2013-01-01T09' "
        f"AND workload_fingerprint = '{'0' * 64}'"
    )
    for text in ("x' OR 1=1 --", "0" * 64 + "\n"):
        for region in (of_workload(Hours(hours(9, 10)), text), of_step(hours(9, 10), text)):
            with pytest.raises(EngineError, match="cannot be used in a condition"):
                sql(region)
    for of in (Landings, lambda interval: of_step(interval, "land")):
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


def test_a_table_of_an_earlier_release_says_from_now_on_which_ids_its_files_hold(
    lake: Lake,
) -> None:
    named = "delta.dataSkippingStatsColumns"
    lake.log("events").alter.set_table_properties({named: "event_time, file_hour"})
    before = lake.version("events")
    for _ in range(2):
        assert lake.create_all() == ()
        assert (
            lake.log("events").metadata().configuration[named] == "event_time, event_id, file_hour"
        )
        assert lake.version("events") == before + 1
    assert not next(commits(lake.path("events"))).changes_rows


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
    assert grown.create_all() == ()
    assert "new" in grown.rows("plans").column_names


def test_two_writers_of_one_region_conflict(lake: Lake) -> None:
    """The other one commits while this one's rows are still being computed."""
    path = str(lake.path("raw_events"))
    region = Landings(hours(9, 10))
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    held = lake.dataset("raw_events").to_table()

    def slowly() -> Iterator[pa.Table]:
        with ThreadPoolExecutor(1) as other:  # delta-rs cannot be called where it calls us
            other.submit(lambda: deltalake.DeltaTable(path).delete()).result()
        yield held

    with pytest.raises(ConflictError):
        lake.stream_rows("raw_events", slowly(), where=region, note="r")
    assert rows(lake, "raw_events") == []
