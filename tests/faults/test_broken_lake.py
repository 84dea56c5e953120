"""Lakes that are broken before a job begins: named as what they are, and never answered from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from elsinore.orchestration.retry_rule import Verdict
from tests.faults.attempt import Ended, Job
from tests.faults.clean import JOBS, CleanRun
from tests.faults.history import FIRST, Home
from tests.faults.warm import Warm
from tests.lake_contents import PUBLISHED, contents, differences

NewHome = Callable[[], Home]


def replay(home: Home, warm: Warm) -> tuple[str, Ended]:
    """Runs the jobs of the hour up to the first that fails; its name, or that of the last."""
    for name in JOBS:
        ended = Job(name, FIRST, home).run(warm=warm)
        if ended.verdict is not Verdict.DONE:
            break
    return name, ended


def newest_commit(home: Home, table: str) -> Path:
    return max((home.lake / table / "_delta_log").glob("*.json"))


@pytest.mark.parametrize(
    ("table", "kept"), [("events", 0.0), ("events", 0.5), ("trend_aggregates_staged", 0.0)]
)
def test_a_torn_commit_is_never_published(
    warm: Warm, clean: CleanRun, new_home: NewHome, table: str, kept: float
) -> None:
    """After a loss of power the newest commit may be empty or cut. Jobs that follow it notice."""
    home = new_home()
    commit = newest_commit(home, table)
    commit.write_bytes(commit.read_bytes()[: int(kept * commit.stat().st_size)])
    before = contents(home.lake, [PUBLISHED])
    failed = False
    for name in JOBS[JOBS.index("validate_results") :][:2]:
        failed = failed or Job(name, FIRST, home).run(warm=warm).verdict is not Verdict.DONE
    assert contents(home.lake, [PUBLISHED]) == before == contents_of(clean)
    assert failed


def contents_of(clean: CleanRun) -> dict[str, list[str]]:
    return {PUBLISHED: clean.end[PUBLISHED]}


@pytest.mark.parametrize("table", ["events", "trend_aggregates_staged"])
def test_a_missing_data_file_is_named_or_made_anew(
    warm: Warm, clean: CleanRun, new_home: NewHome, table: str
) -> None:
    home = new_home()
    lost = sorted((home.lake / table).rglob("*.parquet"))[-1]
    lost.unlink()
    name, ended = replay(home, warm)
    if ended.verdict is Verdict.DONE:
        assert differences(contents(home.lake), clean.end) == []
    else:
        assert lost.name in ended.said, (name, ended)
        assert contents(home.lake, [PUBLISHED]) == contents_of(clean)


@pytest.mark.parametrize("job", ["land_events", "aggregate_trends"])
def test_the_time_zone_of_the_machine_changes_nothing(
    clean: CleanRun, new_home: NewHome, job: str
) -> None:
    """These read and write instants in Python workers; done again, they must find the same."""
    home = new_home()
    ended = Job(job, FIRST, home, {"TZ": "America/New_York"}).run()
    assert ended.verdict is Verdict.DONE
    tables = ("raw_events", "events", "landings", "trend_aggregates_staged")
    assert contents(home.lake, tables) == {table: clean.end[table] for table in tables}
