"""House rules that hold for every DAG file, whoever adds one."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.dags

#: Airflow parses DAG files every few minutes: seconds, on top of Airflow's own start.
PARSE_BUDGET = 2.0


@pytest.fixture(scope="module")
def bag(root: Path) -> Any:
    from airflow.dag_processing.dagbag import DagBag

    return DagBag(dag_folder=str(root / "dags"))


def test_every_file_is_a_dag_of_its_own_name(bag: Any, root: Path) -> None:
    assert bag.import_errors == {}
    assert set(bag.dags) == {path.stem for path in (root / "dags").glob("*.py")}


def test_every_dag_says_what_it_is_and_whose(bag: Any) -> None:
    for dag in bag.dags.values():
        assert dag.doc_md, dag.dag_id
        assert dag.description, dag.dag_id
        assert "elsinore" in dag.tags, dag.dag_id
        assert dag.catchup is False, dag.dag_id
        assert dag.max_active_runs == 1, dag.dag_id


def test_every_task_is_documented_bounded_and_tried_again_by_rule(bag: Any) -> None:
    from elsinore.orchestration.job_operator import RETRY_TRANSIENT

    tasks = [task for dag in bag.dags.values() for task in dag.tasks]
    assert tasks
    for task in tasks:
        assert task.owner == "elsinore", task.task_id
        assert task.doc_md, task.task_id
        assert timedelta(0) < task.execution_timeout <= timedelta(hours=1), task.task_id
        assert task.retries == 0 or task.retry_policy is RETRY_TRANSIENT, task.task_id


def test_parsing_is_quick(root: Path) -> None:
    program = (
        "import sys, time, airflow.sdk; began = time.monotonic(); import runpy;"
        "[runpy.run_path(path) for path in sys.argv[1:]];"
        "print(time.monotonic() - began)"
    )
    files = [str(path) for path in (root / "dags").glob("*.py")]
    done = subprocess.run(
        [sys.executable, "-c", program, *files],
        env=os.environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(done.stdout.split()[-1]) < PARSE_BUDGET
