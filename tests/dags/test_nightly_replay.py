"""The DAG `nightly_replay`: a day's plan, maintenance and report, and nothing published."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytestmark = pytest.mark.dags


@pytest.fixture(scope="module")
def dag(load_dag: Callable[[str], Any]) -> Any:
    return load_dag("nightly_replay")


def test_tasks_wait_for_the_day_and_end_in_a_report(dag: Any) -> None:
    tasks = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert tasks == {
        "wait_for_last_hours": {"find_plan", "judge_day"},
        "find_plan": {"maintain_tables"},
        "judge_day": {"report", "ended"},
        "maintain_tables": {"report", "ended"},
        "report": {"ended"},
        "ended": set(),
    }


def test_a_report_is_made_after_failures_and_does_not_hide_them(dag: Any) -> None:
    """The state of a run is that of its leaves: the only one needs every task's success."""
    report, ended = dag.task_dict["report"], dag.task_dict["ended"]
    assert report.trigger_rule == "all_done"
    assert [task.task_id for task in dag.leaves] == ["ended"]
    assert ended.upstream_task_ids == report.upstream_task_ids | {"report"}
    others = [task for task in dag.tasks if task is not report]
    assert {task.trigger_rule for task in others} == {"all_success"}


def test_nothing_is_landed_aggregated_or_published(dag: Any) -> None:
    outlets = {asset.name for task in dag.tasks for asset in task.outlets}
    assert outlets == {"plans", "run_metrics", "quality_reports"}


def test_intervals_are_days_in_utc_that_touch(
    dag: Any, intervals: Callable[..., list[Any]]
) -> None:
    found = intervals(dag, datetime(2013, 3, 9, tzinfo=UTC), datetime(2013, 3, 12, tzinfo=UTC))
    assert [interval.start.day for interval in found] == [9, 10, 11, 12]
    assert all(interval.end - interval.start == timedelta(days=1) for interval in found)
    assert all(one.end == following.start for one, following in itertools.pairwise(found))


def test_waiting_takes_no_slot_and_not_for_ever(dag: Any) -> None:
    wait = dag.task_dict["wait_for_last_hours"]
    assert wait.mode == "reschedule"
    assert wait.delta.total_seconds() < wait.timeout <= wait.execution_timeout.total_seconds()


@pytest.mark.parametrize(
    ("day", "minutes_ago", "over"),
    [("2013-02-08", 0, True), (None, 61, True), (None, 59, False), (None, -60, False)],
)
def test_it_waits_for_the_day_that_it_is_for(
    dag: Any, day: str | None, minutes_ago: int, over: bool
) -> None:
    end = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    midnight = end.replace(minute=0, second=0, microsecond=0)
    drift = end - midnight  # hours are whole
    wait = dag.task_dict["wait_for_last_hours"]
    context = {
        "params": {"day": day},
        "data_interval_start": midnight - timedelta(days=1),
        "data_interval_end": midnight,
    }
    mine = type(wait)(task_id="wait", delta=wait.delta + drift)
    assert wait.delta == timedelta(hours=1)
    assert mine.poke(context) is over
