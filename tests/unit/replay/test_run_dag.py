"""Following a run of the DAG, with a few lines of Python in place of Airflow."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from elsinore import replay as module
from elsinore.errors import AuthorError, ElsinoreError, SetupError
from elsinore.orchestration.callbacks import PROGRESS_FILE, TaskProgress
from elsinore.replay import run_dag
from elsinore.settings import Settings
from elsinore.timeline import Interval

INTERVAL = Interval.parse("2013-02-08T07:00", "2013-02-08T09:00")

DONE = [TaskProgress("land", "started"), TaskProgress("land", "done")]


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_prepared", lambda root: True)


def replace_airflow(
    monkeypatch: pytest.MonkeyPatch, steps: list[TaskProgress], code: int, *, then: str = ""
) -> None:
    program = (
        f"import os, sys, time\nfor line in {[step.to_line() for step in steps]!r}:\n"
        f"    with open(os.environ['{PROGRESS_FILE}'], 'a') as file: file.write(line + chr(10))\n"
        f"print('the log')\n{then}\nsys.exit({code})"
    )
    monkeypatch.setattr(module, "_command", lambda interval: [sys.executable, "-c", program])


def test_every_step_is_passed_on_and_the_log_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_airflow(monkeypatch, DONE, 0)
    heard: list[TaskProgress] = []
    log = run_dag(Settings(home=tmp_path), INTERVAL, heard.append)
    assert heard == DONE
    assert log == tmp_path / "logs" / "2013-02-08T07_2013-02-08T09.log"
    assert log.read_text() == "the log\n"


def test_airflow_gets_this_processes_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "print(os.environ['ELSINORE_HOME'], os.environ['ELSINORE_SLICES'])"
    replace_airflow(monkeypatch, [], 0, then=names)
    log = run_dag(Settings(home=tmp_path, slices=7), INTERVAL, lambda step: None)
    assert log.read_text().splitlines()[1] == f"{tmp_path} 7"


@pytest.mark.parametrize(("exit_code", "kind"), [(1, ElsinoreError), (2, AuthorError)])
def test_the_first_failed_task_is_named_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, kind: type[ElsinoreError]
) -> None:
    failed = TaskProgress("aggregate", "failed", "07 to 08", "no such column", exit_code)
    replace_airflow(monkeypatch, [*DONE, failed, TaskProgress("x", "failed")], 1)
    with pytest.raises(ElsinoreError, match=r"aggregate \(07 to 08\) failed: no such") as caught:
        run_dag(Settings(home=tmp_path), INTERVAL, lambda step: None)
    assert type(caught.value) is kind
    assert str(tmp_path / "logs") in str(caught.value)


def test_a_task_that_recovered_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [TaskProgress("land", "retried", reason="conflict", exit_code=1), *DONE]
    replace_airflow(monkeypatch, steps, 0)
    heard: list[TaskProgress] = []
    run_dag(Settings(home=tmp_path), INTERVAL, heard.append)
    assert heard == steps


def test_airflow_that_ends_without_a_failed_task_is_a_fault_of_the_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_airflow(monkeypatch, DONE, 3)
    with pytest.raises(SetupError, match="exit code 3"):
        run_dag(Settings(home=tmp_path), INTERVAL, lambda step: None)


def test_airflow_does_not_outlive_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_airflow(monkeypatch, DONE, 0, then="time.sleep(600)")

    def interrupt(step: TaskProgress) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_dag(Settings(home=tmp_path), INTERVAL, interrupt)
    assert time.monotonic() - began < 60
