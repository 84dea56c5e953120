"""Cached results of hours: valid at their version, and until events of their hour change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import ConflictError
from elsinore.lake.cached_hours import FOLDER, CachedHours, drop_cached_hours, read_cached
from elsinore.lake.event_files import Bucket
from elsinore.ledger.event_changes import EventChanges
from elsinore.ledger.results import event_changes
from elsinore.ledger.rows import State
from elsinore.timeline import DAY, HOUR, parse_hour
from tests.unit.ledger.ledgers import START as LEDGER_START
from tests.unit.ledger.ledgers import refreshed, row, state

DAY_1 = parse_hour("2024-01-01T00")
HOURS = [DAY_1 + 10 * HOUR, DAY_1 + 11 * HOUR, DAY_1 + DAY]
ROWS = pa.table({"query": ["q"], "value": [1]})
SCHEMA = pa.schema({"event_day": pa.date32(), "event_time": pa.timestamp("us", tz="UTC")})


def add_events(lake: Path, *days: int) -> None:
    """Commit an event of each of some days of January; without days, a commit without files."""
    rows = [
        {"event_day": date(2024, 1, day), "event_time": datetime(2024, 1, day, 10, tzinfo=UTC)}
        for day in days
    ]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    deltalake.write_deltalake(lake / "events", table, mode="append", partition_by=["event_day"])


def changes(recorded: int, **versions: int) -> EventChanges:
    """Return changes of HOURS, as in `changes(3, h0=2)`."""
    hours = [HOURS[int(name[1:])] for name in versions]
    return EventChanges(np.array(hours, np.int64), np.array([*versions.values()]), recorded)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake whose table of events has the versions 0 to 2."""
    for _ in range(3):
        add_events(tmp_path, 1)
    return tmp_path


@pytest.fixture
def kept(lake: Path) -> CachedHours:
    """A cache with all HOURS at version 2."""
    made = CachedHours(lake / FOLDER / "0")
    for hour in HOURS:
        made.write(hour, 2, None, ROWS)
    return made


def places(found: dict[int, Any]) -> list[int]:
    return [HOURS.index(hour) for hour in sorted(found)]


def test_a_recorded_change_costs_its_hour(lake: Path, kept: CachedHours) -> None:
    add_events(lake, 1)
    assert places(kept.find(lake, HOURS, 3, changes(3, h0=3))) == [1, 2]
    assert places(kept.find(lake, HOURS, 3, changes(3, h0=2, h1=3, h2=1))) == [0, 2]
    assert places(kept.find(lake, HOURS[:1], 3, changes(3))) == [0]
    kept.write(HOURS[0], 3, None, ROWS)
    assert places(kept.find(lake, HOURS, 3, changes(3, h0=3))) == [0, 1, 2]


def test_older_versions(lake: Path, kept: CachedHours) -> None:
    """A file of a later version is not used, one of the same version always is."""
    assert kept.find(lake, HOURS, 1, changes(2)) == {}
    assert places(kept.find(lake, HOURS, 2, changes(9, h0=9))) == [0, 1, 2]


def test_changes_that_the_ledger_does_not_record_cost_their_days(
    lake: Path, kept: CachedHours
) -> None:
    add_events(lake, 2)
    assert places(kept.find(lake, HOURS, 3, changes(2))) == [0, 1]
    add_events(lake, 1)
    assert kept.find(lake, HOURS, 4, changes(2)) == {}
    assert kept.find(lake, HOURS, 4, changes(3, h2=3)) == {}
    assert places(kept.find(lake, HOURS, 4, changes(3))) == [2]
    # What is computed in this run is valid in this run.
    kept.write(HOURS[0], 4, None, ROWS)
    assert places(kept.find(lake, HOURS, 4, changes(2))) == [0]
    with pytest.raises(ConflictError, match="removed while a run used them"):
        kept.all_of(lake, HOURS, 4, changes(2))
    assert len(kept.all_of(lake, HOURS[:1], 4, changes(2))) == 1


def test_commits_without_changes_cost_nothing(lake: Path, kept: CachedHours) -> None:
    """Compaction, watermarks and properties."""
    add_events(lake)
    table = deltalake.DeltaTable(lake / "events")
    table.optimize.compact()
    table.alter.set_table_properties({"delta.checkpointInterval": "20"})
    version = table.version()
    assert version > 4
    assert places(kept.find(lake, HOURS, version, changes(2))) == [0, 1, 2]


def test_a_commit_that_the_log_has_lost_costs_everything(lake: Path, kept: CachedHours) -> None:
    add_events(lake, 5)
    add_events(lake, 5)
    (lake / "events/_delta_log/00000000000000000003.json").unlink()
    assert kept.find(lake, HOURS, 4, changes(2)) == {}
    assert places(kept.find(lake, HOURS, 4, changes(3))) == [0, 1, 2]


def test_files_of_buckets_and_of_several_runs(lake: Path, kept: CachedHours) -> None:
    hour = DAY_1 + 5 * DAY
    kept.write(hour, 2, Bucket(("k",), 1, 2), ROWS)
    assert kept.find(lake, [hour], 2, changes(2)) == {}, "a bucket is missing"
    kept.write(hour, 2, Bucket(("k",), 0, 2), ROWS)
    assert len(kept.find(lake, [hour], 2, changes(2))[hour]) == 2
    kept.write(HOURS[0], 2, None, ROWS)  # another run does the same
    assert len(kept.find(lake, HOURS, 2, changes(2))[HOURS[0]]) == 1


def test_files_that_are_removed(lake: Path, kept: CachedHours) -> None:
    kept.drop_before(HOURS[1])
    assert places(kept.find(lake, HOURS, 2, changes(2))) == [1, 2]
    left = sorted(kept.folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    last = left[-1]
    assert drop_cached_hours(lake, unused_since=last.stat().st_mtime_ns) == 0
    gone = last.with_name("gone.part")
    gone.symlink_to("nowhere")  # listed, and gone when its time is read
    assert drop_cached_hours(lake, unused_since=last.stat().st_mtime_ns) == 0
    gone.unlink()
    assert drop_cached_hours(lake) == len(left) == 2
    with pytest.raises(ConflictError, match="removed during the run"):
        read_cached([last], [0])
    assert drop_cached_hours(lake) == 0


def test_changes_in_the_ledger() -> None:
    removed = row(State.REMOVED, 3, events_version=9)
    found = event_changes(state(refreshed(1, 4), [refreshed(3, 7), refreshed(1, 6)], removed))
    assert found.hours.tolist() == [LEDGER_START + HOUR, LEDGER_START + 3 * HOUR]
    assert found.versions.tolist() == [6, 9]
    assert found.recorded == 9
    assert [found.last_of(LEDGER_START + n * HOUR) for n in range(5)] == [-1, 6, -1, 9, -1]
    none = event_changes(state())
    assert (none.hours.tolist(), none.recorded, none.last_of(0)) == ([], -1, -1)
