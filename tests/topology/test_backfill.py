"""Real backfills of flights on the deployed topology, each against one direct replay.

Of two days Airflow's own backfill runs the first hours one by one (`ELSINORE_TOPOLOGY_HOURS`, all
48 by default; each takes some seconds), then `backfill_replay` all of them at once, a second time.
The first days of the year (`ELSINORE_TOPOLOGY_DAYS`) it replays in batches of a day.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
DAYS = int(os.environ.get("ELSINORE_TOPOLOGY_DAYS", "4"))
START = datetime(2013, 2, 8, tzinfo=UTC)
LAST = START + timedelta(hours=HOURS)
END = START + timedelta(hours=48)
YEAR = datetime(2013, 1, 1, tzinfo=UTC)


@contextmanager
def deployed(start: datetime, end: datetime) -> Iterator[Cluster]:
    """The topology, with the raw files of a stretch of flights."""
    # Not pytest's own folder, which is closed to PostgreSQL's user.
    folder = Path(mkdtemp(prefix="elsinore-topology-"))
    folder.chmod(0o755)
    with Processes(folder) as processes:
        cluster = Cluster(folder, processes)
        generate_flights(folder / "var" / "landing", start=start, end=end)
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


def states(cluster: Cluster, dag: str) -> dict[str, int]:
    """How many runs of a DAG that the schedule did not start are in which state."""
    found = cluster.query(
        f"SELECT state, count(*) FROM dag_run WHERE dag_id = '{dag}' AND run_type <> 'scheduled'"
        " GROUP BY state"
    )
    return {str(state): int(count) for state, count in found}


def finish(cluster: Cluster, dag: str, runs: int, seconds: float) -> float:
    """Waits until some runs of a DAG have ended, all well, and returns the seconds."""
    ended = {"success", "failed"}
    took = cluster.processes.wait(
        f"{runs} runs of {dag}",
        lambda: sum(n for state, n in states(cluster, dag).items() if state in ended) == runs,
        seconds,
    )
    assert states(cluster, dag) == {"success": runs}
    return took


def backfill_hour_by_hour(cluster: Cluster) -> float:
    """Airflow's backfill of the first hours: seconds."""
    cluster.airflow("unpause", "dags", "unpause", "hourly_replay", "--yes")
    interval = ["--from-date", f"{START:%Y-%m-%dT%H:%M}", "--to-date", f"{LAST:%Y-%m-%dT%H:%M}"]
    create = ["backfill", "create", "--dag-id", "hourly_replay", *interval]
    dry = cluster.airflow("dry-run", *create, "--dry-run")
    assert dry.count("2013-02-") >= HOURS
    cluster.airflow("create", *create, "--max-active-runs", "3")
    seconds = finish(cluster, "hourly_replay", HOURS, HOURS * 600)
    intervals = cluster.query(
        "SELECT DISTINCT data_interval_end - data_interval_start FROM dag_run"
        " WHERE run_type = 'backfill'"
    )
    assert intervals == [(timedelta(hours=1),)]
    return seconds


def backfill_replay(cluster: Cluster, start: datetime, end: datetime, **asked: int) -> float:
    """`backfill_replay` of a stretch, with further parameters: seconds."""
    cluster.airflow("unpause-all", "dags", "unpause", "backfill_replay", "--yes")
    given = {"start": f"{start:%Y-%m-%dT%H}:00:00Z", "end": f"{end:%Y-%m-%dT%H}:00:00Z", **asked}
    cluster.airflow("trigger", "dags", "trigger", "backfill_replay", "--conf", json.dumps(given))
    return finish(cluster, "backfill_replay", 1, 7200)


def replay_embedded(cluster: Cluster, start: datetime, end: datetime) -> tuple[Path, float]:
    """The same hours in one run: another executor, another lake, the same raw files; seconds."""
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
        [BIN / "elsinore", "replay", "--start", start.isoformat(), "--end", end.isoformat()],
        cwd=ROOT, env=env, check=True,
    )  # fmt: skip
    return other / "var" / "lake", time.monotonic() - began


def require_equal_tables(here: Path, there: Path) -> dict[str, int]:
    """The number of rows of each table of data, which are the same in both lakes."""
    counts = {}
    for table in ("raw_events", "quarantine", "events", "landings", "trend_aggregates"):
        mine = [row for row in rows(here, table) if "2013-0" in row or "2013-1" in row]
        assert mine == rows(there, table), table
        counts[table] = len(mine)
    return counts


def test_daily_batches_leave_the_tables_of_one_replay() -> None:
    end = YEAR + timedelta(days=DAYS)
    with deployed(YEAR, end) as cluster:
        batches = backfill_replay(cluster, YEAR, end, batch_hours=24)
        tries = cluster.query("SELECT count(*), max(try_number) FROM task_instance")
        lake, direct = replay_embedded(cluster, YEAR, end)
        counts = require_equal_tables(cluster.folder / "var" / "lake", lake)
    print(
        f"\n{DAYS} days in daily batches in {batches:.0f} s, in one embedded replay in "
        f"{direct:.0f} s; {tries[0][0]} tasks, at most {tries[0][1]} tries; equal rows: {counts}"
    )


def test_backfills_leave_the_tables_of_one_replay() -> None:
    with deployed(START, END) as cluster:
        _compare_backfills(cluster)


def _compare_backfills(cluster: Cluster) -> None:
    hourly, whole = backfill_hour_by_hour(cluster), backfill_replay(cluster, START, END)
    busiest = cluster.query(
        "SELECT max(together) FROM (SELECT (SELECT count(*) FROM task_instance b"
        " WHERE b.pool = 'spark' AND b.start_date <= a.start_date AND b.end_date > a.start_date)"
        " AS together FROM task_instance a WHERE a.pool = 'spark') AS moments"
    )
    assert busiest == [(1,)], "one Spark job at a time"
    tries = cluster.query("SELECT count(*), max(try_number) FROM task_instance")

    lake, direct = replay_embedded(cluster, START, END)
    counts = require_equal_tables(cluster.folder / "var" / "lake", lake)
    print(
        f"\n{HOURS} hours one by one in {hourly:.0f} s, 48 hours at once in {whole:.0f} s, in one "
        f"embedded replay in {direct:.0f} s; "
        f"{tries[0][0]} tasks, at most {tries[0][1]} tries; equal rows: {counts}"
    )
