"""House rules that hold for every DAG file, whoever adds one."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.dags.conftest import load_bag

pytestmark = pytest.mark.dags

#: Airflow parses DAG files every few minutes: seconds, on top of Airflow's own start.
PARSE_BUDGET = 2.0
HEAVY = ["pyspark", "great_expectations", "numba", "pandas"]


def tasks(bag: Any) -> list[Any]:
    return [task for dag in bag.dags.values() for task in dag.tasks]


def test_every_file_is_a_dag_of_its_own_name(bag: Any, root: Path) -> None:
    assert set(bag.dags) == {path.stem for path in (root / "dags").glob("*.py")}


def test_every_dag_says_what_it_is_and_whose(bag: Any) -> None:
    for dag in bag.dags.values():
        assert dag.doc_md, dag.dag_id
        assert dag.description, dag.dag_id
        assert "elsinore" in dag.tags, dag.dag_id
        assert dag.catchup is False, dag.dag_id
        assert dag.max_active_runs == 1, dag.dag_id


def test_every_run_is_bounded_due_and_missed_by_somebody(bag: Any) -> None:
    from elsinore.orchestration.callbacks import alert_run_failed, alert_run_overdue
    from elsinore.orchestration.house_rules import LONGEST_RUN

    for dag in bag.dags.values():
        assert timedelta(0) < dag.dagrun_timeout <= LONGEST_RUN, dag.dag_id
        assert dag.on_failure_callback is alert_run_failed, dag.dag_id
        (deadline,) = dag.deadline
        assert timedelta(0) < deadline.interval < dag.dagrun_timeout, dag.dag_id
        assert deadline.callback.path == f"{alert_run_overdue.__module__}.alert_run_overdue", (
            dag.dag_id
        )


def test_every_task_is_documented_bounded_and_tried_again_by_rule(bag: Any) -> None:
    from elsinore.orchestration.callbacks import alert_task_failed
    from elsinore.orchestration.house_rules import RETRY_TRANSIENT

    assert tasks(bag)
    for task in tasks(bag):
        assert task.owner == "elsinore", task.task_id
        assert task.doc_md, task.task_id
        assert timedelta(0) < task.execution_timeout <= task.dag.dagrun_timeout, task.task_id
        assert task.retries == 0 or task.retry_policy is RETRY_TRANSIENT, task.task_id
        assert alert_task_failed in task.on_failure_callback, task.task_id


def test_what_spark_works_for_has_a_slot_of_its_pool(bag: Any) -> None:
    found = {task.task_id for task in tasks(bag) if task.pool == "spark"}
    assert found == {"aggregate"}
    assert {task.pool for task in tasks(bag)} == {"spark", "default_pool"}


def test_every_step_is_a_job(root: Path) -> None:
    """Read from the sources: what is called by name is a module of `jobs/` with a `main`."""
    sources = [*(root / "dags").glob("*.py"), *(root / "lib/elsinore/orchestration").glob("*.py")]
    calls = [
        name.value
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"step_task", "call_step", "workload_tasks", "report_tasks"}
        for name in node.args[:2]
        if isinstance(name, ast.Constant)
    ]
    jobs = {
        path.stem
        for path in (root / "jobs").glob("*.py")
        if "def main(" in path.read_text(encoding="utf-8")
    }
    assert set(calls) == jobs


def test_assets_are_tables_or_reports(bag: Any, root: Path) -> None:
    tables = {path.stem for path in (root / "schemas/tables").glob("*.yaml")}
    named = {asset.name for task in tasks(bag) for asset in (*task.outlets, *task.inlets)}
    assert named == tables | {"quality_reports", "results_by_hour"}


def test_a_replay_that_fails_has_a_report_and_ends_failed(bag: Any) -> None:
    """The state of a run is that of its leaves, and the last of them needs all others."""
    for name in ("hourly_replay", "backfill_replay", "catch_up"):
        dag = bag.dags[name]
        report, following = dag.task_dict["report"], dag.task_dict["start_catch_up"]
        assert report.trigger_rule == "all_done"
        ended = dag.task_dict["ended"]
        last = (report, following, ended)
        assert all(task.upstream_task_ids == {"publish"} for task in last)
        assert {task.task_id for task in dag.leaves} == {task.task_id for task in last}
        assert ended.trigger_rule == "none_failed"
        # A slice that fails keeps no other hours stale; runs that catch up do not go round.
        rule = "none_failed" if name == "catch_up" else "all_done"
        assert following.trigger_rule == rule
        others = [task for task in dag.tasks if task not in last]
        assert {task.trigger_rule for task in others} == {"all_success"}


def test_parameters_refuse_what_is_no_value_of_theirs(bag: Any) -> None:
    """Every parameter has a type, and every text also a pattern or a list."""
    for dag in bag.dags.values():
        for name in dag.params:
            param = dag.params.get_param(name)
            assert param.schema["type"], (dag.dag_id, name)
            assert param.description, (dag.dag_id, name)
            if "string" in param.schema["type"] and not param.schema.get("enum"):
                assert param.schema["pattern"].startswith("^"), (dag.dag_id, name)
                assert param.schema["pattern"].endswith("$"), (dag.dag_id, name)


def test_dag_files_wire_and_do_nothing_else(root: Path) -> None:
    """No import of another DAG, no branch, no loop, no class: that belongs to the library."""
    for path in (root / "dags").glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        logic = (ast.If, ast.For, ast.While, ast.Try, ast.ClassDef, ast.Lambda)
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, logic)], path.name


def test_parsing_is_quick_and_brings_nothing_heavy_along(root: Path) -> None:
    """Nor does any module of orchestration, all that DAG files import beside Airflow itself."""
    program = (
        "import importlib, json, sys, time, airflow.sdk; began = time.process_time(); import runpy;"
        "files, modules, heavy = json.loads(sys.argv[1]); [runpy.run_path(path) for path in files];"
        "took = time.process_time() - began; [*map(importlib.import_module, modules)];"
        "print(json.dumps([took, [name for name in heavy if name in sys.modules]]))"
    )
    library = root / "lib"
    sources = sorted((library / "elsinore" / "orchestration").rglob("*.py"))
    modules = [".".join(path.relative_to(library).with_suffix("").parts) for path in sources]
    assert "elsinore.orchestration.__init__" in modules
    told = json.dumps([[*map(str, (root / "dags").glob("*.py"))], modules, HEAVY])
    done = subprocess.run(
        [sys.executable, "-c", program, told],
        env=os.environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    took, heavy = json.loads(done.stdout.splitlines()[-1])
    assert took < PARSE_BUDGET
    assert heavy == []


def test_airflow_can_wait_for_its_database() -> None:
    """As containers of `docker/kubernetes` do."""
    from airflow.cli.cli_parser import get_parser

    get_parser().parse_args(["db", "check-migrations", "--migration-wait-timeout", "1"])


def test_each_stream_has_dags_of_its_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_STREAMS", '["gone", "cluster"]')
    bag = load_bag()
    files = {path.stem for path in (root / "dags").glob("*.py")}
    # Runs of a stream without its files say so; no other stream is without its DAGs for it.
    assert set(bag.dags) == files | {f"{s}.{name}" for name in files for s in ("gone", "cluster")}
    of_cluster = [dag for name, dag in bag.dags.items() if name.startswith("cluster.")]
    places = {a.name for dag in of_cluster for t in dag.tasks for a in (*t.outlets, *t.inlets)}
    assert {place.partition(".")[0] for place in places} == {"cluster"}
    backfill = bag.dags["cluster.backfill_replay"]
    assert backfill.task_dict["start_catch_up"].trigger_dag_id == "cluster.catch_up"
    assert backfill.params.get_param("workload").schema["enum"] == [None, "cluster"]
