"""Tasks that call steps, with jobs of a few lines in place of the real ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elsinore.errors import (
    ConflictError,
    DataError,
    EngineError,
    LostWorkerError,
    ParameterError,
    SetupError,
)

pytestmark = pytest.mark.dags

HOURS = {
    "dag": SimpleNamespace(dag_id="trial"),
    "task": SimpleNamespace(inlets=[], outlets=[]),
    "run_id": "manual__2013",
    "dag_run": SimpleNamespace(run_type="manual"),
    "params": {"start": None, "end": None},
    "data_interval_start": datetime(2013, 2, 8, 7, tzinfo=UTC),
    "data_interval_end": datetime(2013, 2, 8, 8, tzinfo=UTC),
}
TOLD = """
def main(arguments, settings):
    return {
        "interval": str(arguments.interval),
        "run": arguments.run,
        "workload": str(settings.queries),
        "lake": str(settings.lake),
    }
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Calls a program as the job `trial` of a root that holds nothing else."""
    from elsinore.orchestration.replay_tasks import step_task

    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    real = {name: sys.modules.pop(name) for name in [*sys.modules] if name.split(".")[0] == "jobs"}
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "__init__.py").touch()

    def call(program: str, context: Any = HOURS, **arguments: Any) -> Any:
        (tmp_path / "trial").write_text(program)
        # At once: a process that has just begun may be reading the one before.
        (tmp_path / "trial").replace(tmp_path / "jobs" / "trial.py")
        return step_task("trial", task_id="trial").function(**arguments, **context)

    yield call
    for name in [*sys.modules]:
        if name.split(".")[0] == "jobs":
            del sys.modules[name]
    sys.modules.update(real)


def test_the_figures_are_the_result_as_plain_data(call: Callable[..., Any]) -> None:
    assert call("def main(arguments, settings): return {'rows': 3, 'parts': (1, 2)}") == {
        "rows": 3,
        "parts": [1, 2],
    }


@pytest.mark.parametrize(
    ("params", "part", "interval"),
    [
        ({}, None, "[2013-02-08T07:00:00.000000Z, 2013-02-08T08:00:00.000000Z)"),
        ({}, ("2013-02-08T09:00:00Z", "2013-02-08T11:00:00Z"),
         "[2013-02-08T09:00:00.000000Z, 2013-02-08T11:00:00.000000Z)"),
        ({"day": "2013-01-31"}, None,
         "[2013-01-31T00:00:00.000000Z, 2013-02-01T00:00:00.000000Z)"),
    ],
)  # fmt: skip
def test_the_job_gets_its_run_and_the_data_interval_but_a_slice_or_a_day_comes_first(
    call: Callable[..., Any], params: dict[str, str], part: Any, interval: str
) -> None:
    of_part = part and {"start": part[0], "end": part[1], "ingested": False, "share": 0.5}
    told = call(TOLD, {**HOURS, "params": params}, time_slice=of_part)
    assert (told["interval"], told["run"]) == (interval, "manual__2013")


@pytest.mark.parametrize(
    ("start", "run_type", "by_hand"),
    [
        (None, "scheduled", False),
        (None, "manual", False),
        (None, "backfill", True),
        ("2013-02-08T07:00", "manual", True),
    ],
)
def test_the_job_is_told_whether_somebody_asked_for_its_hours(
    call: Callable[..., Any], start: str | None, run_type: str, by_hand: bool
) -> None:
    params = {"start": start, "end": start and "2013-02-08T08:00"}
    context = {**HOURS, "params": params, "dag_run": SimpleNamespace(run_type=run_type)}
    told = call("def main(arguments, settings): return {'by_hand': arguments.by_hand}", context)
    assert told == {"by_hand": by_hand}


def test_an_interval_of_no_width_fails_loudly(call: Callable[..., Any]) -> None:
    with pytest.raises(ParameterError, match="empty"):
        call(TOLD, {**HOURS, "data_interval_end": HOURS["data_interval_start"]})


def test_a_workload_is_looked_up_by_its_name(call: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "schemas" / "workloads"
    folder.mkdir(parents=True)
    (folder / "flights_storms.sase").touch()
    told = call(TOLD, {**HOURS, "params": {"workload": "flights_storms"}})
    assert told["workload"] == str(folder / "flights_storms.sase")
    with pytest.raises(ParameterError, match="unknown workload"):
        call(TOLD, {**HOURS, "params": {"workload": "../workloads/flights_storms"}})


def test_the_dag_says_of_which_stream(call: Callable[..., Any], tmp_path: Path) -> None:
    context = {**HOURS, "dag": SimpleNamespace(dag_id="rides.trial")}
    with pytest.raises(SetupError, match=r"the stream rides has no .*rides\.yaml"):
        call(TOLD, context)
    for file in ("events/rides.yaml", "workloads/rides.sase"):
        (tmp_path / "schemas" / file).parent.mkdir(parents=True)
        (tmp_path / "schemas" / file).touch()
    told = call(TOLD, context)
    assert told["workload"] == str(tmp_path / "schemas/workloads/rides.sase")
    assert told["lake"].endswith("/rides/lake")


def test_an_error_is_the_tasks_own(call: Callable[..., Any]) -> None:
    program = "from elsinore.errors import DataError\ndef main(*_): raise DataError('bad lines')"
    with pytest.raises(DataError, match="bad lines"):
        call(program)


def test_a_full_disk_is_the_operators_whoever_met_it(call: Callable[..., Any]) -> None:
    program = """
import errno

def main(*_):
    try:
        raise OSError(errno.ENOSPC, "No space left on device", "page.html")
    except OSError:
        raise RuntimeError("a library cannot make its folder")
"""
    with pytest.raises(SetupError, match=r"No space left on device.*free disk space"):
        call(program)


def test_what_is_transient_is_tried_again_and_nothing_else() -> None:
    from airflow.sdk import RetryAction
    from airflow.sdk.exceptions import AirflowTaskTimeout

    from elsinore import errors
    from elsinore.orchestration.house_rules import RETRY_TRANSIENT

    def action(error: BaseException) -> Any:
        return RETRY_TRANSIENT.evaluate(error, 1, 3).action

    family = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.ElsinoreError)
    ]
    assert {LostWorkerError, ConflictError} <= {kind for kind in family if kind.transient}
    for kind in family:
        expected = RetryAction.RETRY if kind.transient else RetryAction.FAIL
        assert action(kind("gone")) is expected, kind
    assert action(AirflowTaskTimeout()) is RetryAction.FAIL
    assert action(ZeroDivisionError()) is RetryAction.FAIL


def test_mapped_tasks_are_named_by_their_slices() -> None:
    from elsinore.orchestration.run_params import task_label

    part = {"start": "2013-02-08T09:00:00Z", "end": "2013-02-08T11:00:00Z"}
    assert task_label(SimpleNamespace(op_kwargs={"time_slice": part})) == (
        "2013-02-08T09 to 2013-02-08T11"
    )
    assert task_label(SimpleNamespace(op_kwargs={})) == task_label(SimpleNamespace()) == ""


def test_a_process_of_the_steps_tells_figures_and_errors_and_is_replaced_when_it_dies(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from elsinore.orchestration import replay_tasks, run_step

    program = """
import os, signal, sys
from elsinore.errors import DataError

def main(arguments, settings):
    if arguments.run == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if arguments.run == "bad lines":
        raise DataError("bad lines", lines=3)
    return {"process": os.getpid(), "rows": 3 / int(arguments.run)}
"""

    def run(name: str) -> Any:
        return call(program, {**HOURS, "run_id": name})

    monkeypatch.setattr(run_step, "import_libraries", lambda: None)
    monkeypatch.setattr(replay_tasks, "_BESIDE", run_step.StepProcess())
    first = run("1")
    assert first["rows"] == 3
    assert first["process"] != os.getpid()
    with pytest.raises(DataError, match="bad lines") as raised:
        run("bad lines")
    assert raised.value.fields == {"lines": 3}
    with pytest.raises(EngineError, match="ZeroDivisionError"):
        run("0")
    assert run("2")["process"] == first["process"]
    with pytest.raises(LostWorkerError, match="trial"):
        run("dies")
    assert run("3")["process"] != first["process"]
