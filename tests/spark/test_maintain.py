"""Maintenance on real Delta tables: rows stay, small files go, and no version goes too early."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from elsinore.errors import ParameterError
from elsinore.lake.delta_log import commits
from elsinore.lake.maintain import LEAST_KEPT, maintain
from elsinore.lake.stale_hours import touched_times
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from tests.spark.landing_zone import arrow_rows, by_hand, rows

pytestmark = pytest.mark.slow

HOUR = 3600

#: A table of data, and one of records.
SMALL = ("events", "landings")

EVENT = {
    "event_id": "d",
    "event_type": "Departure",
    "event_time": datetime(2013, 1, 1, 10, tzinfo=UTC),
    "file_hour": "2013-01-01T10",
    "file": "f",
    "record_number": 1,
}


def many_small_files(lake: Lake) -> None:
    """Three files in a day of `events` and of accounts, one each in three days of `raw_events`."""
    for number in (10, 11, 12):
        label = f"2013-01-{number}T10"
        place = {"file_hour": label, "file": f"{label}.jsonl", "record_number": 1}
        event = EVENT | {"event_id": f"d{number}", **place}
        _append(lake, "events", "event_day", "2013-01-01", event)
        _append(lake, "raw_events", "file_day", label[:10], {"record": "{}"} | place)
        account = dict.fromkeys(("files", "bytes", "lines", "accepted"), 1)
        account |= dict.fromkeys(("duplicates", "quarantined"), 0)
        row = account | {"file_hour": label, "reasons": "{}"}
        lake.add("landings", [row], key=["file_hour"], run="r")


def _append(lake: Lake, table: str, name: str, day: str, row: dict[str, Any]) -> None:
    row = row | {name: date.fromisoformat(day)}
    columns = lake.schema(table).columns
    new = arrow_rows(lake, table, {column: row.get(column) for column in columns})
    deltalake.write_deltalake(str(lake.path(table)), new, mode="append")


def live(lake: Lake, table: str) -> set[str]:
    return set(deltalake.DeltaTable(str(lake.path(table))).file_uris())


def on_disk(lake: Lake, table: str) -> set[str]:
    found = lake.path(table).rglob("*.parquet*")
    return {str(path) for path in found if path.parent.name != "_delta_log"}


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def age_removals(lake: Lake, table: str, seconds: float) -> None:
    """Makes the log say that files were removed earlier than they were."""
    for entry in (lake.path(table) / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] -= int(seconds * 1000)
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
        (entry.parent / f".{entry.name}.crc").unlink(missing_ok=True)


def test_small_files_of_a_partition_become_one_and_rows_stay(lake: Lake) -> None:
    many_small_files(lake)
    before = {table: rows(lake, table) for table in SMALL}
    assert [len(live(lake, table)) for table in SMALL] == [3, 3]

    done = maintain(lake, keep_hours=LEAST_KEPT, run="night")

    assert [(done[f"{t}_live_before"], done[f"{t}_live"]) for t in SMALL] == [(3, 1)] * 2
    assert done["raw_events_live_before"] == done["raw_events_live"] == 3
    assert {table: rows(lake, table) for table in SMALL} == before
    for table in SMALL:
        history = deltalake.DeltaTable(str(lake.path(table))).history(1)
        assert (history[0]["operation"], history[0]["run"]) == ("OPTIMIZE", "night")
    # What OPTIMIZE has replaced is young: the versions before it can still be read.
    assert done["events_removed"] == 0
    assert lake.dataset("events", lake.version("events") - 1).count_rows() == 3


def test_maintained_again_nothing_is_left_to_do(lake: Lake) -> None:
    many_small_files(lake)
    maintain(lake, keep_hours=LEAST_KEPT, run="night")
    versions = {table: lake.version(table) for table in lake.tables}
    maintain(lake, keep_hours=LEAST_KEPT, run="night")
    assert {table: lake.version(table) for table in versions} == versions, "no commit"


def test_only_what_is_old_and_needed_by_no_version_is_removed(lake: Lake) -> None:
    many_small_files(lake)
    maintain(lake, keep_hours=LEAST_KEPT, run="night")
    before = {table: rows(lake, table) for table in SMALL}
    strays = {table: _age_and_litter(lake, table) for table in SMALL}
    # Spark remembers the logs of tables by their paths.
    moved = Path(str(lake.root)).with_name("moved")
    Path(str(lake.root)).rename(moved)
    strays = {
        table: {name.replace(str(lake.root), str(moved)) for name in names}
        for table, names in strays.items()
    }
    lake = replace(lake, root=moved)

    done = maintain(lake, keep_hours=LEAST_KEPT, run="night")

    for table in SMALL:
        assert done[f"{table}_removed"] == 5, table
        assert on_disk(lake, table) == live(lake, table) | strays[table]
    assert {table: rows(lake, table) for table in SMALL} == before


def _age_and_litter(lake: Lake, table: str) -> set[str]:
    """A week and an hour ago OPTIMIZE replaced three files and killed writers left two, of which
    one was not finished.

    Others, which are returned, were left two hours later.
    """
    replaced = on_disk(lake, table) - live(lake, table)
    assert len(replaced) == 3
    age_removals(lake, table, (LEAST_KEPT + 1) * HOUR)
    for name in replaced:
        age(Path(name), (LEAST_KEPT + 1) * HOUR)
    partition = Path(next(iter(live(lake, table)))).parent
    old, young = (
        {partition / f"part-{name}.parquet{end}" for end in ("", "#1")} for name in ("old", "young")
    )
    for paths, hours in ((old, LEAST_KEPT + 1), (young, LEAST_KEPT - 1)):
        for path in paths:
            path.write_bytes(b"PAR1")
            age(path, hours * HOUR)
    for name in live(lake, table):
        age(Path(name), 10 * LEAST_KEPT * HOUR)
    return set(map(str, young))


def test_a_longer_retention_keeps_more(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    """Also where the lake's path holds what SQL would take for the end of a name."""
    home = tmp_path / "it's ; a home"
    shutil.copytree(settings.home, home)
    lake = Lake.open(settings.model_copy(update={"home": home}))
    many_small_files(lake)
    strays = [lake.path(table) / "part-stray.parquet" for table in SMALL]
    for stray in strays:
        stray.write_bytes(b"PAR1")
        age(stray, 2 * LEAST_KEPT * HOUR)
    maintain(lake, keep_hours=3 * LEAST_KEPT, run="night")
    by_hand(spark, lake, "VACUUM {}", "events")
    deltalake.DeltaTable(str(lake.path("landings"))).vacuum(dry_run=False, full=True)
    assert all(stray.exists() for stray in strays), "nor may a vacuum by hand remove it"
    done = maintain(lake, keep_hours=LEAST_KEPT, run="night")
    assert not any(stray.exists() for stray in strays)
    assert [done[f"{table}_removed"] for table in SMALL] == [1, 1]


def clean_log(lake: Lake, table: str, days: float) -> None:
    """What Delta does to a log with its next checkpoint, as if all of it were so old."""
    log = deltalake.DeltaTable(str(lake.path(table)))
    log.create_checkpoint()
    for entry in (lake.path(table) / "_delta_log").glob("*.json"):
        age(entry, days * 24 * HOUR)
    log.cleanup_metadata()


def told(lake: Lake) -> list[tuple[int, str, str]]:
    """What is known of each commit of `events`, and which times it may have changed."""
    return [
        (one.version, one.operation, json.dumps(touched_times(lake.root, one)))
        for one in commits(lake.path("events"))
    ]


def test_what_the_log_said_is_kept_when_it_is_cleaned(lake: Lake) -> None:
    events, log = lake.path("events"), lake.path("events") / "_delta_log"
    for number in range(3):
        note = json.dumps({"touched": {"2013-01-01T10": [number, number]}})
        commit = deltalake.CommitProperties(custom_metadata={"userMetadata": note})
        table = deltalake.DeltaTable(str(events))
        table.delete(f"record_number = {number}", commit_properties=commit)
        _append(lake, "events", "event_day", "2013-01-01", EVENT | {"record_number": number})
    said = told(lake)
    maintain(lake, keep_hours=LEAST_KEPT, run="night")
    clean_log(lake, "events", 89)
    assert (log / f"{0:020}.json").exists(), "the log is kept for 90 days"
    gone = log / f"{said[1][0]:020}.json"
    aside = gone.rename(log.with_name("aside"))
    assert told(lake)[-len(said) :] == said, "where a cleaning has broken off"
    aside.rename(gone)
    clean_log(lake, "events", 91)
    assert not (log / f"{0:020}.json").exists()
    assert told(lake)[-len(said) :] == said
    assert [one.version for one in commits(events, after=1, without={3})][-2:] == [4, 2]
    maintain(lake, keep_hours=LEAST_KEPT, run="night")
    assert told(lake)[-len(said) :] == said, "not twice"
    # What nobody has kept may have changed anything.
    kept = lake.rows("history", pc.field("version") != 2)
    deltalake.write_deltalake(str(lake.path("history")), kept, mode="overwrite")
    (lost,) = (one for one in told(lake) if one[0] == 2)
    assert lost == (2, "unknown", "null")


@pytest.mark.parametrize("keep_hours", [LEAST_KEPT - 1, 0, -1])
def test_a_retention_that_could_hurt_a_reader_is_refused_first(lake: Lake, keep_hours: int) -> None:
    with pytest.raises(ParameterError, match="at least 168 hours"):
        maintain(lake, keep_hours=keep_hours, run="night")


def test_the_longest_run_is_far_below_what_is_kept() -> None:
    from elsinore.orchestration.house_rules import LONGEST_RUN

    assert LONGEST_RUN.total_seconds() * 3 <= LEAST_KEPT * HOUR
    assert Settings().keep_hours >= LEAST_KEPT
