"""The assets of published results: what a publication emits, and which DAGs run on it."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.airflow_home import copy_database
from tests.topology.processes import Processes, answers, free_port

pytestmark = pytest.mark.dags

#: Jobs in place of the real ones. A publication changes the hours of its run, and one before them.
SLICES = (
    "{'recomputed': [], 'recomputed_hours': 0, 'hours_left': 0, 'catch_up': [], 'silent_hours': 0}"
)
JOBS = {
    "check_published": "{'hours': 1, 'published_hours': 0, 'other_queries': []}",
    "ingest_events": SLICES[:-1]
    + ", 'emptied_first': {}, 'refused_first': {}, 'unread_first': ''}",
    "find_plan": "{}",
    "aggregate_trends": "{}",
    "validate_results": "{}",
    "publish_results": "{'changed_hours': changed(arguments), 'published_version': 7}",
    "report_quality": "{}",
}
JOB = """
from elsinore.timeline import HOUR, hour_label, hours_of

def changed(arguments):
    hours = [hour_label(hour) for hour in hours_of(arguments.interval)]
    return [] if hours == ["2013-02-09T05"] else ["2013-02-08T03", *hours]

def main(arguments, settings):
    return {}
"""
CONSUMERS = '''
"""Two consumers of results, an ordinary one and one per hour."""

from airflow.sdk import DAG, Asset, PartitionedAssetTimetable, task

with DAG("per_hour", schedule=PartitionedAssetTimetable(assets=Asset("results_by_hour"))):

    @task
    def use(*, dag_run=None, triggering_asset_events=None):
        (event,) = triggering_asset_events[Asset("results_by_hour")][:1]
        return [dag_run.partition_key, event.extra]

    use()

with DAG("ordinary", schedule=[Asset("results")]):

    @task
    def use(*, triggering_asset_events=None):
        return [event.extra for event in triggering_asset_events[Asset("results")]]

    use()
'''


def test_the_events_have_the_changed_hours_and_the_version() -> None:
    from airflow.sdk.execution_time.context import OutletEventAccessors

    from elsinore.orchestration.house_rules import assets
    from elsinore.orchestration.replay_tasks import emit_results

    events = OutletEventAccessors()
    results, by_hour = assets("rides", "results", "results_by_hour", workload="storms")
    assert (results.name, by_hour.name) == ("rides.storms/results", "rides.storms/results_by_hour")
    hours = ["2013-02-08T03", "2013-02-08T20"]
    emit_results(events, results, by_hour, {"changed_hours": hours, "published_version": 7})
    assert events[results].extra == {"hours": hours, "version": 7}
    assert events[results].partition_keys == set()
    assert events[by_hour].partition_keys == {*hours}
    assert events[by_hour].extra == {"version": 7}


@pytest.mark.parametrize("figures", [{}, {"changed_hours": [], "published_version": 7}])
def test_without_a_changed_hour_the_task_is_skipped(figures: dict[str, Any]) -> None:
    from airflow.sdk.exceptions import AirflowSkipException
    from airflow.sdk.execution_time.context import OutletEventAccessors

    from elsinore.orchestration.house_rules import assets
    from elsinore.orchestration.replay_tasks import emit_results

    events = OutletEventAccessors()
    results, by_hour = assets("", "results", "results_by_hour")
    with pytest.raises(AirflowSkipException, match="unchanged"):
        emit_results(events, results, by_hour, figures)
    assert len(events) == 0


def test_each_workload_emits_assets_of_its_own(load_dag: Callable[[str], Any]) -> None:
    from elsinore.orchestration.house_rules import folder_of
    from elsinore.settings import Settings

    for name in ("hourly_replay", "backfill_replay", "catch_up"):
        publish = load_dag(name).task_dict["publish"]
        by_name = {asset.name: asset for asset in publish.outlets}
        assert by_name.keys() >= {"results", "results_by_hour"}
        settings = Settings(home=Path("/somewhere"))
        for asset in ("results", "results_by_hour"):
            assert folder_of(by_name[asset], settings) == settings.lake / "results"


@pytest.mark.long
def test_a_downstream_dag_runs_once_per_changed_hour(root: Path, tmp_path: Path) -> None:
    """By the real scheduler: recomputed hours run again, unchanged hours do not."""
    with Processes(tmp_path) as processes:
        env = started(root, tmp_path, processes)
        database = tmp_path / "airflow.db"

        def replayed(start: str, end: str) -> None:
            conf = json.dumps({"start": start, "end": end, "force": True})
            name = f"trigger-{start}"
            trigger = [sys.executable, "-m", "airflow", "dags", "trigger", "backfill_replay"]
            processes.run(name, [*trigger, "--conf", conf], env)
            processes.wait(f"{name} has ended", lambda: not unfinished(database), 240)

        replayed("2013-02-08T20:00Z", "2013-02-08T22:00Z")
        processes.wait("three hours", lambda: len(runs(database, "per_hour")) == 3, 120)
        processes.wait("they have ended", lambda: not unfinished(database), 240)
        replayed("2013-02-08T22:00Z", "2013-02-08T23:00Z")
        processes.wait("two hours more", lambda: len(runs(database, "per_hour")) == 5, 120)
        replayed("2013-02-09T05:00Z", "2013-02-09T06:00Z")  # which changes nothing
        processes.wait("all have ended", lambda: not unfinished(database), 240)

        found = runs(database, "per_hour")
        assert Counter(key for key, _ in found) == {
            "2013-02-08T03": 2, "2013-02-08T20": 1, "2013-02-08T21": 1, "2013-02-08T22": 1,
        }  # fmt: skip
        assert {state for _, state in [*found, *runs(database, "ordinary")]} == {"success"}
        assert len(runs(database, "ordinary")) == 2
        extras = [json.loads(extra) for (extra,) in query(
            database, "SELECT e.extra FROM asset_event e JOIN asset a ON a.id = e.asset_id "
            "WHERE a.name = 'results' ORDER BY e.id"
        )]  # fmt: skip
        assert extras == [
            {"hours": ["2013-02-08T03", "2013-02-08T20", "2013-02-08T21"], "version": 7},
            {"hours": ["2013-02-08T03", "2013-02-08T22"], "version": 7},
        ]


def started(root: Path, folder: Path, processes: Processes) -> dict[str, str]:
    """The environment of a running Airflow with the DAG `backfill_replay` and two consumers."""
    for name in ("jobs", "dags"):
        (folder / name).mkdir()
    (folder / "schemas").symlink_to(root / "schemas")
    (folder / "jobs" / "__init__.py").touch()
    for name, figures in JOBS.items():
        (folder / "jobs" / f"{name}.py").write_text(JOB.replace("{}", figures))
    (folder / "dags" / "backfill_replay.py").symlink_to(root / "dags" / "backfill_replay.py")
    (folder / "dags" / "consumers.py").write_text(CONSUMERS)
    assert copy_database(folder / "airflow.db")
    port = free_port()
    env = os.environ | {
        "AIRFLOW_HOME": str(folder),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{folder / 'airflow.db'}",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(24),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),
        "ELSINORE_ROOT": str(folder),
        "ELSINORE_HOME": str(folder / "var"),
    }
    for part in (["scheduler", "--skip-serve-logs"], ["dag-processor"], ["api-server"]):
        processes.start(part[0], [sys.executable, "-m", "airflow", *part], env)
    health = f"http://127.0.0.1:{port}/api/v2/monitor/health"
    processes.wait("api-server", answers(health), 240)
    parsed = "SELECT count(*) FROM dag WHERE dag_id IN ('backfill_replay', 'per_hour', 'ordinary')"
    wanted = f"{parsed} AND is_stale = 0"
    processes.wait("parsed", lambda: query(folder / "airflow.db", wanted) == [(3,)], 240)
    unpause = "UPDATE dag SET is_paused = 0"  # those of the copied database may be paused
    with closing(sqlite3.connect(folder / "airflow.db", timeout=30)) as connection:
        connection.execute(unpause)
        connection.commit()
    return env


def query(database: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of Airflow's metadata."""
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        return connection.execute(sql).fetchall()


def runs(database: Path, dag: str) -> list[tuple[str, str]]:
    """The partition keys and states of a DAG's runs."""
    sql = f"SELECT partition_key, state FROM dag_run WHERE dag_id = '{dag}'"
    return query(database, sql)


def unfinished(database: Path) -> bool:
    """Whether a run is queued or running."""
    return query(database, "SELECT 1 FROM dag_run WHERE state IN ('queued', 'running')") != []
