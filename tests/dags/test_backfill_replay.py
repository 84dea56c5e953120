"""The DAG `backfill_replay`: its tasks, and what it takes as parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from elsinore.errors import ParameterError

pytestmark = pytest.mark.dags


@pytest.fixture(scope="module")
def dag(load_dag: Callable[[str], Any]) -> Any:
    return load_dag("backfill_replay")


def refused(dag: Any, name: str, value: object) -> bool:
    from airflow.sdk.exceptions import ParamValidationError

    try:
        dag.params.get_param(name).resolve(value)
    except ParamValidationError:
        return True
    return False


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


@pytest.mark.parametrize("name", ["start", "end"])
@pytest.mark.parametrize(
    "value", [None, "", "x; drop", "{{ ds }}", "2013-02-08T00:30:00Z", "2013-02-08T00:00:00+05:00"]
)
def test_an_hour_must_be_given_and_whole(dag: Any, name: str, value: object) -> None:
    assert refused(dag, name, value)
    assert not refused(dag, name, "2013-02-08T07:00:00Z")


def test_start_and_end_have_no_default() -> None:
    from elsinore.orchestration.house_rules import required_hours

    assert {name: param.has_value for name, param in required_hours().items()} == {
        "start": False,
        "end": False,
    }


def test_the_workload_is_one_of_the_streams_by_name(dag: Any) -> None:
    param = dag.params.get_param("workload")
    assert param.resolve() == "flights"
    assert param.schema["enum"] == ["flights", "flights_cancellations"]


@pytest.mark.parametrize(
    "value",
    [
        None, "", "rides", "../workloads/flights", "schemas/workloads/flights.sase",
        "flights.sase", "flights; ls", "file:///etc/passwd", "FLIGHTS", 1, ["flights"],
    ],
)  # fmt: skip
def test_no_path_and_no_unknown_name_is_a_workload(dag: Any, value: object) -> None:
    assert refused(dag, "workload", value)


def test_force_is_off_and_a_truth_value(dag: Any) -> None:
    assert dag.params.get_param("force").resolve() is False
    assert not refused(dag, "force", True)
    assert refused(dag, "force", "yes")
    assert refused(dag, "force", 1)
