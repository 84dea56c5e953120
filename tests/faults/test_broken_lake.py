"""Lakes that are broken before a job begins: named as what they are, and never answered from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.draws import first
from tests.faults.attempt import Ended, Step, attempt
from tests.faults.clean import JOBS, CleanRun
from tests.faults.conftest import NewPlace
from tests.faults.history import FIRST, Place
from tests.lake_contents import PUBLISHED, contents, differences


def run_jobs(place: Place, first: str, last: str) -> Ended:
    """Runs some jobs of the hour, up to the first that fails; how the last one ended."""
    for name in JOBS[JOBS.index(first) : JOBS.index(last) + 1]:
        ended = attempt(Step(name, FIRST), place)
        if not ended.done:
            break
    return ended


def newest_commit(place: Place, table: str) -> Path:
    return max((place.lake / table / "_delta_log").glob("*.json"))


@pytest.mark.parametrize(
    ("table", "kept"), first([("events", 0.0), ("events", 0.5), ("results_staged", 0.0)], 1)
)
def test_a_torn_commit_is_never_published(
    clean: CleanRun, new_place: NewPlace, table: str, kept: float
) -> None:
    """After a loss of power the newest commit may be empty or cut. Jobs that follow it notice."""
    place = new_place()
    commit = newest_commit(place, table)
    commit.write_bytes(commit.read_bytes()[: int(kept * commit.stat().st_size)])
    assert not run_jobs(place, "validate_results", "publish_results").done
    assert contents(place.lake, [PUBLISHED]) == {PUBLISHED: clean.end[PUBLISHED]}


@pytest.mark.parametrize("table", first(["events", "results_staged"], 1))
def test_a_missing_data_file_is_named_or_made_anew(
    clean: CleanRun, new_place: NewPlace, table: str
) -> None:
    place = new_place()
    lost = sorted((place.lake / table).rglob("*.parquet"))[-1]
    lost.unlink()
    ended = run_jobs(place, JOBS[0], JOBS[-1])
    if ended.done:
        assert differences(contents(place.lake), clean.end) == []
    else:
        assert lost.name in ended.said, ended
        assert contents(place.lake, [PUBLISHED]) == {PUBLISHED: clean.end[PUBLISHED]}
