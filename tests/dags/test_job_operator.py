"""The operator that runs a job, with jobs of a few lines in place of the real ones."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from elsinore.errors import LostWorkerError

pytestmark = pytest.mark.dags

HOURS = {
    "run_id": "manual__2013",
    "params": {"start": None, "end": None},
    "data_interval_start": datetime(2013, 2, 8, 7, tzinfo=UTC),
    "data_interval_end": datetime(2013, 2, 8, 8, tzinfo=UTC),
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a program as the job `trial` of a root that holds nothing else."""
    from elsinore.orchestration.job_operator import JobOperator

    (tmp_path / "jobs").mkdir()
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))

    def run(program: str, context: Any = HOURS, **arguments: Any) -> Any:
        (tmp_path / "jobs" / "trial.py").write_text(program)
        operator = JobOperator(task_id="trial", job="trial", **arguments)
        return operator.execute(context)

    return run


def test_the_last_line_of_output_is_the_result(run: Any) -> None:
    assert run(
        "import sys\nprint('hello')\nprint('{\"rows\": 3}')\nprint('x', file=sys.stderr)"
    ) == {"rows": 3}


def test_the_job_gets_the_data_interval_and_the_root(run: Any, tmp_path: Path) -> None:
    program = "import json, os, sys\nprint(json.dumps({'argv': sys.argv[1:], 'cwd': os.getcwd()}))"
    assert run(program) == {
        "argv": [
            "--start", "2013-02-08T07:00:00.000000Z", "--end", "2013-02-08T08:00:00.000000Z",
        ],
        "cwd": str(tmp_path),
    }  # fmt: skip


def test_the_job_knows_its_run(run: Any) -> None:
    program = "import json, os\nprint(json.dumps({'run': os.environ['ELSINORE_RUN_ID']}))"
    assert run(program) == {"run": "manual__2013"}


def test_a_slice_comes_before_the_interval(run: Any) -> None:
    part = {"start": "2013-02-08T09:00:00Z", "end": "2013-02-08T11:00:00Z"}
    found = run("import json, sys\nprint(json.dumps({'argv': sys.argv[1:]}))", time_slice=part)
    assert found["argv"][1::2] == ["2013-02-08T09:00:00.000000Z", "2013-02-08T11:00:00.000000Z"]


@pytest.mark.parametrize("code", [1, 2, 3])
def test_other_errors_fail_for_good_in_the_jobs_words(run: Any, code: int) -> None:
    from elsinore.orchestration.job_operator import JobFailed

    with pytest.raises(JobFailed, match="trial: author: no such query") as caught:
        run(f"import sys\nprint('trial: author: no such query', file=sys.stderr)\nsys.exit({code})")
    assert caught.value.exit_code == code


@pytest.mark.parametrize(
    "program",
    ["raise SystemExit(75)", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"],
)
def test_transient_ends_are_left_to_the_retry(run: Any, program: str) -> None:
    with pytest.raises(LostWorkerError, match="trial"):
        run(program)


@pytest.mark.parametrize("program", ["", "print('done')", "print([1])", "print('{')"])
def test_a_job_without_figures_breaks_its_contract(run: Any, program: str) -> None:
    from elsinore.orchestration.job_operator import JobFailed

    with pytest.raises(JobFailed, match="figures"):
        run(program)


def test_an_interval_of_no_width_fails_loudly(run: Any) -> None:
    from elsinore.orchestration.job_operator import JobFailed

    with pytest.raises(JobFailed, match="empty") as caught:
        run("print('{}')", {**HOURS, "data_interval_end": HOURS["data_interval_start"]})
    assert caught.value.exit_code == 2


def test_on_kill_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from elsinore.orchestration.job_operator import JobOperator

    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "trial.py").write_text("import time\ntime.sleep(600)")
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    operator = JobOperator(task_id="trial", job="trial")
    began = time.monotonic()
    timer = Timer(1, operator.on_kill)
    timer.start()
    with pytest.raises(LostWorkerError, match=f"signal {int(signal.SIGTERM)}"):
        operator.execute(HOURS)
    assert time.monotonic() - began < 60
    assert os.environ["ELSINORE_ROOT"] == str(tmp_path)


def test_only_lost_work_is_tried_again() -> None:
    from airflow.sdk import RetryAction
    from airflow.sdk.exceptions import AirflowTaskTimeout

    from elsinore.orchestration.job_operator import RETRY_TRANSIENT

    def action(error: BaseException) -> Any:
        return RETRY_TRANSIENT.evaluate(error, 1, 3).action

    assert action(LostWorkerError("gone")) is RetryAction.RETRY
    assert action(AirflowTaskTimeout()) is RetryAction.FAIL
    assert action(ZeroDivisionError()) is RetryAction.FAIL


def test_a_workload_is_looked_up_by_its_name(run: Any, tmp_path: Path) -> None:
    from elsinore.orchestration.job_operator import JobFailed

    folder = tmp_path / "schemas" / "workloads"
    folder.mkdir(parents=True)
    (folder / "flights_storms.sase").touch()
    program = "import json, os\nprint(json.dumps({'file': os.environ['ELSINORE_WORKLOAD_FILE']}))"
    chosen = {**HOURS, "params": {"workload": "flights_storms"}}
    assert run(program, chosen) == {"file": str(folder / "flights_storms.sase")}
    with pytest.raises(JobFailed, match="no workload") as caught:
        run(program, {**HOURS, "params": {"workload": "../workloads/flights_storms"}})
    assert caught.value.exit_code == 2


def test_a_day_comes_before_the_interval(run: Any) -> None:
    found = run(
        "import json, sys\nprint(json.dumps({'argv': sys.argv[1:]}))",
        {**HOURS, "params": {"day": "2013-01-31"}},
    )
    assert found["argv"][1::2] == ["2013-01-31T00:00:00.000000Z", "2013-02-01T00:00:00.000000Z"]


def test_replacing_other_results_by_accident_fails_for_good() -> None:
    from elsinore.orchestration.job_operator import JobFailed, decide_replay

    found = {"hours": 1, "published_hours": 1, "other_queries": ["a"]}
    params: dict[str, Any] = {"force": False}
    context: Any = {"params": params}
    with pytest.raises(JobFailed, match="set force") as caught:
        decide_replay(found, context)
    assert caught.value.exit_code == 2
    params["force"] = True
    assert decide_replay(found, context)
