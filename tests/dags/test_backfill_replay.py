"""The DAG `backfill_replay`: its tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from elsinore.errors import ParameterError

pytestmark = pytest.mark.dags


@pytest.fixture(scope="module")
def dag(load_dag: Callable[[str], Any]) -> Any:
    return load_dag("backfill_replay")


def test_what_is_published_is_looked_up_before_anything_is_replayed(
    dag: Any, load_dag: Callable[[str], Any]
) -> None:
    tasks = {task.task_id: task.downstream_task_ids for task in dag.tasks}
    assert tasks.pop("needs_replay") == {"land"}
    hourly = load_dag("hourly_replay")
    assert tasks == {task.task_id: task.downstream_task_ids for task in hourly.tasks}


@pytest.mark.parametrize(
    ("published", "others", "force", "goes_on"),
    [(1, [], False, False), (0, [], False, True), (1, ["a"], True, True), (1, ["a"], False, None)],
)
def test_it_goes_on_where_there_is_something_to_replay(
    dag: Any,
    monkeypatch: pytest.MonkeyPatch,
    published: int,
    others: list[str],
    force: bool,
    goes_on: bool | None,
) -> None:
    found = {"hours": 1, "published_hours": published, "other_queries": others}
    replay = dag.task_dict["needs_replay"].python_callable
    monkeypatch.setitem(replay.__globals__, "call_step", lambda job, context: found)
    context = {"params": {"force": force}}
    if goes_on is None:
        with pytest.raises(ParameterError, match="set force"):
            replay(**context)
        return
    assert replay(**context) is goes_on


def test_it_runs_when_asked_only(dag: Any) -> None:
    assert dag.timetable.can_be_scheduled is False
