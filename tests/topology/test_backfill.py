"""A real backfill of flights, hour by hour on the deployed topology, against one direct replay."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from deltalake import DeltaTable

from elsinore.generate.flights import generate_flights
from tests.topology.cluster import BIN, ROOT, Cluster
from tests.topology.processes import Processes

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(6 * 3600)]

HOURS = int(os.environ.get("ELSINORE_TOPOLOGY_HOURS", "48"))
START = datetime(2013, 2, 8, tzinfo=UTC)
LAST = START + timedelta(hours=HOURS - 1)
END = START + timedelta(hours=HOURS)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Not pytest's own folder, which is closed to PostgreSQL's user.
    folder = Path(mkdtemp(prefix="elsinore-topology-"))
    folder.chmod(0o755)
    with Processes(folder) as processes:
        cluster = Cluster(folder, processes)
        generate_flights(folder / "var" / "landing", start=START, end=END)
        cluster.start()
        yield cluster
    if not os.environ.get("ELSINORE_KEEP"):
        shutil.rmtree(folder)


def rows(lake: Path, table: str) -> list[str]:
    """Every row; doubles to 12 digits, since they may be added in any order."""
    found = DeltaTable(lake / table).to_pyarrow_table().to_pylist()
    return sorted(json.dumps(_comparable(row), sort_keys=True, default=str) for row in found)


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(f"{value:.12g}") if isinstance(value, float) else value
        for name, value in row.items()
    }


def backfill_states(cluster: Cluster) -> dict[str, int]:
    found = cluster.query(
        "SELECT state, count(*) FROM dag_run WHERE run_type = 'backfill' GROUP BY state"
    )
    return {str(state): int(count) for state, count in found}


def test_a_backfill_hour_by_hour_leaves_the_tables_of_one_replay(cluster: Cluster) -> None:
    cluster.airflow("unpause", "dags", "unpause", "hourly_replay", "--yes")
    interval = ["--from-date", f"{START:%Y-%m-%dT%H:%M}", "--to-date", f"{LAST:%Y-%m-%dT%H:%M}"]
    create = ["backfill", "create", "--dag-id", "hourly_replay", *interval]
    dry = cluster.airflow("dry-run", *create, "--dry-run")
    assert dry.count("2013-02-") >= HOURS
    began = time.monotonic()
    cluster.airflow("create", *create, "--max-active-runs", "3")
    ended = {"success", "failed"}
    cluster.processes.wait(
        "backfill",
        lambda: sum(n for state, n in backfill_states(cluster).items() if state in ended) == HOURS,
        HOURS * 1800,
    )
    seconds = time.monotonic() - began
    assert backfill_states(cluster) == {"success": HOURS}
    _, intervals = zip(
        *cluster.query(
            "SELECT data_interval_start, data_interval_end - data_interval_start FROM dag_run"
            " WHERE run_type = 'backfill' ORDER BY 1"
        ),
        strict=True,
    )
    assert set(intervals) == {timedelta(hours=1)}
    busiest = cluster.query(
        "SELECT max(together) FROM (SELECT (SELECT count(*) FROM task_instance b"
        " WHERE b.pool = 'spark' AND b.start_date <= a.start_date AND b.end_date > a.start_date)"
        " AS together FROM task_instance a WHERE a.pool = 'spark') AS moments"
    )
    assert busiest == [(1,)], "one Spark job at a time"
    tries = cluster.query("SELECT count(*), max(try_number) FROM task_instance")

    # The same hours in one run, embedded: another executor, another lake, the same raw files.
    other = cluster.folder / "direct"
    (other / "var").mkdir(parents=True)
    shutil.copytree(cluster.folder / "var" / "landing", other / "var" / "landing")
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(other / "airflow"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{other / 'airflow.db'}",
        "ELSINORE_HOME": str(other / "var"),
    }
    began = time.monotonic()
    subprocess.run(
        [BIN / "elsinore", "replay", "--start", START.isoformat(), "--end", END.isoformat()],
        cwd=ROOT, env=env, check=True,
    )  # fmt: skip
    direct = time.monotonic() - began
    here, there = cluster.folder / "var" / "lake", other / "var" / "lake"
    counts = {}
    for table in ("raw_events", "quarantine", "events", "landings", "trend_aggregates"):
        mine = [row for row in rows(here, table) if "2013-0" in row]
        assert mine == rows(there, table), table
        counts[table] = len(mine)
    print(
        f"\n{HOURS} hours by backfill in {seconds:.0f} s, in one replay in {direct:.0f} s; "
        f"{tries[0][0]} tasks, at most {tries[0][1]} tries; equal rows: {counts}"
    )
