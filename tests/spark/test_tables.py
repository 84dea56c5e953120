"""The lake: regions are rewritten whole, names and schemas are checked, failures are sorted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
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
from elsinore.settings import Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import Hours, Landings, RunStep
from elsinore.spark.session import open_session
from elsinore.spark.tables import Lake
from elsinore.timeline import HOUR, Interval
from tests.spark.landing_zone import hours, rows

pytestmark = pytest.mark.spark


def raw(landing: str, line: str) -> dict[str, Any]:
    return {"landing": landing, "file": "f", "position": 1, "line": line}


def write(lake: Lake, first: int, end: int, *found: dict[str, Any]) -> None:
    lake.replace(
        "raw_events", lake.frame("raw_events", found), where=Landings(hours(first, end)), run="r"
    )


def test_a_region_is_rewritten_whole_and_no_rows_clear_it(lake: Lake) -> None:
    nine, ten, eleven = (f"2013-01-01T{hour:02}" for hour in (9, 10, 11))
    write(lake, 9, 12, raw(nine, "a"), raw(ten, "b"), raw(eleven, "c"))
    write(lake, 10, 11, raw(ten, "d"), raw(ten, "e"))
    assert rows(lake, "raw_events", "line") == ["a", "c", "d", "e"]
    write(lake, 10, 12)
    assert rows(lake, "raw_events", "line") == ["a"]


def test_rows_outside_of_the_region_are_refused(lake: Lake) -> None:
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    with pytest.raises(Exception, match="DELTA_REPLACE_WHERE_MISMATCH"):
        write(lake, 10, 11, raw("2013-01-01T09", "b"))
    assert rows(lake, "raw_events", "line") == ["a"]


def test_a_pinned_version_stays_readable_and_an_unknown_one_is_refused(lake: Lake) -> None:
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    pinned = lake.version("raw_events")
    write(lake, 9, 10, raw("2013-01-01T09", "b"))
    assert [row.line for row in lake.read("raw_events", pinned).collect()] == ["a"]
    assert [row.line for row in lake.read("raw_events").collect()] == ["b"]
    with pytest.raises(DataError, match="no version 99; its latest is 2"):
        lake.read("raw_events", 99)


def test_the_run_is_named_in_the_history(lake: Lake) -> None:
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    newest = max((lake.path("raw_events") / "_delta_log").glob("*.json"))
    commits = [json.loads(line) for line in newest.read_text().splitlines()]
    (info,) = [commit["commitInfo"] for commit in commits if "commitInfo" in commit]
    assert info["userMetadata"] == "r"


@pytest.mark.parametrize("name", ["nothing", "../raw_events", "", "raw_events`; --"])
def test_only_declared_tables_have_a_path(lake: Lake, name: str) -> None:
    with pytest.raises(ParameterError, match="has no table"):
        lake.path(name)


def test_other_columns_and_other_partitions_are_refused(lake: Lake) -> None:
    frame = lake.frame("raw_events", [])
    with pytest.raises(ParameterError, match="not partitioned by owned_hour"):
        lake.replace("raw_events", frame, where=Hours(hours(9, 10)), run="r")
    with pytest.raises(ParameterError, match="has the columns"):
        lake.replace("raw_events", frame.drop("line"), where=Landings(hours(9, 10)), run="r")


def test_tables_are_created_once_and_compared_with_their_declaration(
    lake: Lake, settings: Settings, tmp_path: Path
) -> None:
    assert lake.create_all() == ()
    declared = tmp_path / "tables"
    declared.mkdir()
    text = (settings.tables_dir / "raw_events.yaml").read_text()
    (declared / "raw_events.yaml").write_text(text.replace("position: {", "row: {"))
    other = settings.model_copy(update={"tables_dir": declared})
    with pytest.raises(SetupError, match=r"raw_events.* differs .* in position, row"):
        Lake.open(lake.spark, other).create_all()


def test_a_lake_without_tables_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake.open(spark, Settings(home=tmp_path))
    with pytest.raises(DataError, match=r"the table events does not exist .*land events first"):
        lake.read("events")


def test_ticks_have_no_hours(spark: SparkSession, settings: Settings, tmp_path: Path) -> None:
    ticks = tmp_path / "ticks.yaml"
    ticks.write_text("stream: s\ntime: {field: t, unit: integer}\ntype: {field: y}\ntypes:\n  A:\n")
    with pytest.raises(SchemaError, match="counts time in ticks"):
        Lake.open(spark, settings.model_copy(update={"schema_file": ticks}))


def test_regions_spell_their_hours_themselves() -> None:
    assert Landings(hours(9, 11)).predicate() == (
        "landing >= '2013-01-01T09' AND landing <= '2013-01-01T10'"
    )
    assert Hours(hours(9, 10)).predicate() == (
        "owned_hour >= '2013-01-01T09' AND owned_hour <= '2013-01-01T09'"
    )
    assert RunStep(hours(9, 10), "land").predicate() == (
        "run_key = '2013-01-01T09_2013-01-01T10' AND step = 'land'"
    )
    with pytest.raises(AuthorError, match="whole hours"):
        Landings(Interval(0, HOUR + 1))
    with pytest.raises(EngineError, match="cannot name a step"):
        RunStep(hours(9, 10), "x' OR 1=1 --")


def test_missing_jars_and_java_are_named(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError, match=r"lacks delta-spark_.* and delta-storage-.*make setup"):
        open_session(settings.model_copy(update={"jars": tmp_path}), "x")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match="Java is missing"):
        open_session(settings, "x")


def _die(_: Any) -> Any:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def _refuse(_: Any) -> Any:
    raise BudgetError("this group is too big")


@pytest.mark.parametrize(
    ("work", "kind", "text"),
    [
        (_die, LostWorkerError, "process was lost"),
        (_refuse, BudgetError, "^this group is too big$"),
    ],
)
def test_failures_of_workers_keep_their_meaning(
    spark: SparkSession, work: Any, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=text), spark_failures():
        spark.range(1).mapInArrow(work, "id long").collect()


def test_two_writers_of_one_region_conflict(lake: Lake) -> None:
    """The other one commits while this one's rows are still being computed."""
    path = str(lake.path("raw_events"))
    region = Landings(hours(9, 10))
    write(lake, 9, 10, raw("2013-01-01T09", "a"))
    held = lake.read("raw_events")

    def other(batches: Any) -> Any:
        import deltalake

        deltalake.DeltaTable(path).delete()
        yield from batches

    slow = held.mapInArrow(other, held.schema)
    with pytest.raises(ConflictError):
        lake.replace("raw_events", slow, where=region, run="r")
    assert rows(lake, "raw_events") == []
