"""The DAG `hourly_replay`: its tasks and its intervals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.dags


@pytest.fixture(scope="module")
def dag(load_dag: Callable[[str], Any]) -> Any:
    return load_dag("hourly_replay")


def test_tasks_follow_each_other(dag: Any) -> None:
    tasks = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert tasks == {
        "land": {"find_plan", "aggregate"},
        "find_plan": {"aggregate"},
        "aggregate": {"validate"},
        "validate": {"publish", "report"},
        "publish": set(),
        "report": set(),
    }


def test_aggregate_is_mapped_over_the_slices_that_landing_gives(dag: Any) -> None:
    aggregate = dag.task_dict["aggregate"]
    assert aggregate.is_mapped
    assert set(aggregate.op_kwargs_expand_input.value) == {"time_slice"}
    assert "time_slice" in aggregate.partial_kwargs["map_index_template"]


def test_reopened_hours_are_slices_like_the_run_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from elsinore.orchestration.replay_tasks import run_slices

    def hours(start: int, end: int) -> dict[str, str]:
        return {
            "start": f"2013-02-08T{start:02}:00:00.000000Z",
            "end": f"2013-02-08T{end:02}:00:00.000000Z",
        }

    context: Any = {"params": hours(10, 14)}
    assert run_slices(context, {"reopened": []}) == [hours(10, 14)]
    monkeypatch.setenv("ELSINORE_SLICES", "3")
    assert run_slices(context, {"reopened": []}) == [hours(10, 12), hours(12, 14)]
    landed = {"lines": 5, "reopened": [hours(3, 4), hours(5, 7)]}
    assert run_slices(context, landed) == [
        hours(10, 12), hours(12, 14), hours(3, 4), hours(5, 6), hours(6, 7),
    ]  # fmt: skip


def test_every_table_is_an_outlet(dag: Any, root: Path) -> None:
    outlets = {asset.name for task in dag.tasks for asset in task.outlets}
    tables = {path.stem for path in (root / "schemas/tables").glob("*.yaml")}
    assert outlets == tables | {"quality_reports"}


def test_scheduled_intervals_are_hours_that_touch(
    dag: Any, intervals: Callable[..., list[Any]]
) -> None:
    """Also over the night in which clocks in New York went forward."""
    found = intervals(dag, datetime(2013, 3, 10, tzinfo=UTC), datetime(2013, 3, 11, tzinfo=UTC))
    assert len(found) == 25
    assert all(interval.end - interval.start == timedelta(hours=1) for interval in found)
    assert all(one.end == following.start for one, following in itertools.pairwise(found))
