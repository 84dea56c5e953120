"""Maintenance on Delta tables: rows stay, small files go, and no version goes too early."""

from __future__ import annotations

import os
import time
from pathlib import Path

import deltalake
import pytest

from elsinore.errors import ParameterError
from elsinore.maintain.optimize import LEAST_KEPT, maintain
from elsinore.orchestration.run_step import Arguments
from elsinore.settings import Settings
from elsinore.timeline import Interval
from jobs import maintain_tables
from tests.ingest.landing_zone import departure, hour, put
from tests.maintain.homes import Home

pytestmark = pytest.mark.spark

HOUR = 3600


def files_of(home: Home, table: str) -> set[str]:
    return set(deltalake.DeltaTable(str(home.lake / table)).file_uris())


def age(path: Path, hours: float) -> None:
    then = time.time() - hours * HOUR
    os.utime(path, (then, then))


def stray(home: Home, table: str, name: str, hours: float) -> Path:
    path = home.lake / table / name
    path.write_bytes(b"PAR1")
    age(path, hours)
    return path


@pytest.mark.long
def test_small_files_become_one_and_old_ones_go(home: Home) -> None:
    for number in (10, 11, 12):
        put(home.zone, hour(number), departure(number, hour=number))
        home.run(number)
    before = home.rows("events", "event_id"), home.rows("raw_events", "record")
    assert [len(files_of(home, t)) for t in ("events", "raw_events")] == [3, 3]
    tables = ("events", "hours", "validations")
    old = [stray(home, table, "part-old.parquet", LEAST_KEPT + 1) for table in tables]
    old.append(stray(home, "hours", "part-old.parquet#1", LEAST_KEPT + 1))
    young = [stray(home, table, "part-young.parquet", LEAST_KEPT - 1) for table in tables]
    young.append(stray(home, "hours", "part-young.parquet#1", LEAST_KEPT - 1))

    done = maintain(home.own, keep_hours=LEAST_KEPT, run="night")

    assert [len(files_of(home, t)) for t in ("events", "raw_events")] == [1, 1]
    assert (home.rows("events", "event_id"), home.rows("raw_events", "record")) == before
    assert [done[f"{table}_removed"] for table in tables] == [1, 2, 1]
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in young)
    # The versions before can still be read, and runs see no change.
    store = home.own.ingest.store
    optimized = next(c for c in store.history("events") if c.operation == "OPTIMIZE")
    assert optimized.note == {"run": "night"}
    assert store.read("events", optimized.version - 1).count() == 3
    assert home.run(13).figures["changed_rows"] == 0
    maintain(home.own, keep_hours=LEAST_KEPT, run="night")
    operations = [commit.operation for commit in store.history("events")]
    assert operations.count("OPTIMIZE") == 1


@pytest.mark.long
def test_the_retention_holds_for_others_too(home: Home) -> None:
    strays = [
        stray(home, table, "part-old.parquet", 2 * LEAST_KEPT) for table in ("events", "hours")
    ]
    maintain(home.own, keep_hours=3 * LEAST_KEPT, run="night")
    home.sql("VACUUM {}", "events")
    deltalake.DeltaTable(str(home.lake / "hours")).vacuum(dry_run=False, full=True)
    assert all(path.exists() for path in strays)
    done = maintain(home.own, keep_hours=LEAST_KEPT, run="night")
    assert not any(path.exists() for path in strays)
    assert [done[f"{table}_removed"] for table in ("events", "hours")] == [1, 1]


def test_a_short_retention_is_refused(home: Home) -> None:
    for keep_hours in (LEAST_KEPT - 1, 0, -1):
        with pytest.raises(ParameterError, match="at least 168 hours"):
            maintain(home.own, keep_hours=keep_hours, run="night")


def test_the_longest_run_is_far_below_the_retention() -> None:
    from elsinore.orchestration.house_rules import LONGEST_RUN

    assert LONGEST_RUN.total_seconds() * 3 <= LEAST_KEPT * HOUR
    assert Settings().vacuum_retention_hours >= LEAST_KEPT


@pytest.mark.long
def test_the_job_of_the_night(home: Home) -> None:
    put(home.zone, hour(10), departure(1))
    home.run(10)
    settings = home.settings.model_copy(update={"retention_days": {"events": 3}})
    done = maintain_tables.main(Arguments(Interval(hour(0, 9), hour(0, 10)), "night"), settings)
    assert (done["events_expired"], done["events_removed"]) == (1, 0)
    assert home.rows("events", "event_id") == []
