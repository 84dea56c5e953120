"""What a run has to ingest: the landing zone compared with the ledger."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from elsinore.errors import DataError
from elsinore.ingest.find_files import Found, find_files, listing, missed_hours
from elsinore.ingest.landing_zone import landing_files
from elsinore.ledger.fold import Fold
from elsinore.ledger.rows import State
from elsinore.timeline import DAY, HOUR, Interval
from tests.unit.ledger.ledgers import START, label, numbers, row, state


def put(zone: Path, hour: int, name: str = "", size: int = 10) -> Path:
    """Write a file of an hour of 2013-02-08; negative hours are of the day before."""
    of = label(hour)
    path = zone / of[:10].replace("-", "/") / f"events-{of}{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x" * size)
    return path


def ingested(zone: Path, *hours: int) -> Fold:
    """Return the state after the ingest of the present files of some hours."""
    rows = []
    for hour in hours:
        files = listing(landing_files(zone, own(hour))).drop_columns("hour").to_pylist()
        rows.append(row(State.INGESTED, hour, file_count=len(files), files=files))
    return state(rows)


def own(hour: int) -> Interval:
    """Return an hour."""
    return Interval(START + hour * HOUR, START + (hour + 1) * HOUR)


def find(zone: Path, known: Fold, hour: int = 5, days: int = 1) -> Found:
    """Return what the run of an hour has to ingest, without missed hours."""
    return find_files(zone, (), known, own(hour), late_arrival_days=days)


def others(found: Found) -> list[int]:
    """Return the numbers of the earlier hours."""
    return numbers(np.array(found.whole.others, np.int64))


def test_earlier_hours_with_new_or_changed_files_are_ingested_again(tmp_path: Path) -> None:
    changed, gone = put(tmp_path, 1), put(tmp_path, 2)
    put(tmp_path, 3), put(tmp_path, 5)
    known = ingested(tmp_path, 1, 2, 3)
    assert others(find(tmp_path, known)) == []
    os.utime(changed, ns=(0, changed.stat().st_mtime_ns + 1))
    gone.unlink()
    put(tmp_path, 3, "-late")
    put(tmp_path, 4)  # no run has ingested it
    found = find(tmp_path, known)
    assert others(found) == [1, 3, 4]
    # With all files of an hour, not only the new ones.
    assert sorted(file.landing[-2:] for file in found.whole.files) == ["01", "03", "03", "04", "05"]
    assert others(find(tmp_path, known, days=0)) == []
    put(tmp_path, -30)
    assert others(find(tmp_path, known)) == [1, 3, 4]
    assert others(find(tmp_path, known, days=2)) == [-30, 1, 3, 4]


def test_missed_hours_are_ingested_without_files_too(tmp_path: Path) -> None:
    put(tmp_path, 1)
    known = ingested(tmp_path, 1)
    missed = missed_hours(known, START + 5 * HOUR)
    assert numbers(missed) == [2, 3, 4]
    put(tmp_path, -20)  # within a day of the first missed hour
    found = find_files(tmp_path, (), known, own(5), late_arrival_days=1, missed=missed)
    assert others(found) == [-20, 2, 3, 4]
    assert len(missed_hours(known, START + 40 * DAY)) == 31 * 24


def test_an_earlier_file_that_cannot_be_read_refuses_its_hour_only(tmp_path: Path) -> None:
    put(tmp_path, 1), put(tmp_path, 2)
    (tmp_path / "2013/02/08/events-2013-02-08T02-b.jsonl").symlink_to("/etc/hostname")
    found = find(tmp_path, state())
    assert others(found) == [1]
    assert list(found.refused) == [label(2)]
    assert "symbolic link" in found.refused[label(2)]
    with pytest.raises(DataError, match="symbolic link"):
        find(tmp_path, state(), hour=2)


def test_parts_have_the_run_first_and_failed_hours_last(tmp_path: Path) -> None:
    for hour in (1, 2, 3, 5):
        put(tmp_path, hour, size=100)
    found = find(tmp_path, state())

    def parts(most: int) -> list[list[int]]:
        made = found.parts(most, last={START + HOUR})
        assert sorted(file for part in made for file in part.files) == sorted(found.whole.files)
        return [numbers(np.array(part.hours, np.int64)) for part in made]

    assert parts(50) == [[5], [2], [3], [1]]
    assert parts(200) == [[2, 5], [1, 3]]
    assert parts(1_000) == [[1, 2, 3, 5]]
    whole = found.parts(1_000)[0]
    assert [part.hours for part in whole.smaller()] == [whole.own, whole.others]
    assert [len(part.hours) for part in whole.smaller()[1].smaller()] == [1, 2]
