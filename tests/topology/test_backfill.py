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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import obstore
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from obstore.store import from_url

from elsinore.generate.flights import generate_flights
from elsinore.generate.streams import StockOptions
from elsinore.generate.write_events import write_events
from elsinore.places import place, whole_file
from tests.store.serve import s3_server
from tests.topology.cluster import BIN, ROOT, Cluster
from tests.topology.processes import Processes

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(6 * 3600)]

HOURS = int(os.environ.get("ELSINORE_TOPOLOGY_HOURS", "48"))
DAYS = int(os.environ.get("ELSINORE_TOPOLOGY_DAYS", "4"))
START = datetime(2013, 2, 8, tzinfo=UTC)
LAST = START + timedelta(hours=HOURS)
END = START + timedelta(hours=48)
YEAR = datetime(2013, 1, 1, tzinfo=UTC)

#: What is compared.
TABLES = ("raw_events", "quarantine", "events", "landings", "results")


@contextmanager
def deployed(
    start: datetime, end: datetime, prepare: Callable[[Cluster], None] | None = None
) -> Iterator[Cluster]:
    """The topology, with the raw files of a stretch of flights; `prepare` adds to it."""
    # Not pytest's own folder, which is closed to PostgreSQL's user.
    folder = Path(mkdtemp(prefix="elsinore-topology-"))
    folder.chmod(0o755)
    with Processes(folder) as processes:
        cluster = Cluster(folder, processes)
        generate_flights(folder / "var" / "landing", start=start, end=end)
        if prepare:
            prepare(cluster)
        cluster.start()
        yield cluster
    if not os.environ.get("ELSINORE_KEEP"):
        shutil.rmtree(folder)


def rows(lake: Path, table: str) -> list[str]:
    """Every row, but for the times of files; doubles to 12 digits, for any order adds them."""
    found = DeltaTable(str(lake / table)).to_pyarrow_table().to_pylist()
    return sorted(json.dumps(_comparable(row), sort_keys=True, default=str) for row in found)


def _comparable(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: float(f"{value:.12g}") if isinstance(value, float) else value
        for name, value in row.items()
        if name != "listing"
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


def start_hour_by_hour(cluster: Cluster, dag: str) -> None:
    """Airflow's backfill of the first hours."""
    cluster.airflow("unpause", "dags", "unpause", dag, "--yes")
    interval = ["--from-date", f"{START:%Y-%m-%dT%H:%M}", "--to-date", f"{LAST:%Y-%m-%dT%H:%M}"]
    create = ["backfill", "create", "--dag-id", dag, *interval]
    dry = cluster.airflow("dry-run", *create, "--dry-run")
    assert dry.count("2013-02-") >= HOURS
    cluster.airflow("create", *create, "--max-active-runs", "3")


def backfill_hour_by_hour(cluster: Cluster) -> float:
    """Airflow's backfill of the first hours: seconds."""
    start_hour_by_hour(cluster, "hourly_replay")
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


def replay_embedded(
    cluster: Cluster, start: datetime, end: datetime, landing: str = "landing", **files: Path
) -> tuple[Path, float]:
    """The same hours in one run: another executor, another lake, the same raw files; seconds.

    `landing` is the zone in the home; `files` are the schema and the workload, if not the default.
    """
    other = cluster.folder / "-".join(["direct", *(file.stem for file in files.values())])
    (other / "var").mkdir(parents=True)
    shutil.copytree(cluster.folder / "var" / landing, other / "var" / "landing")
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(other / "airflow"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{other / 'airflow.db'}",
        "ELSINORE_HOME": str(other / "var"),
        **{f"ELSINORE_{name.upper()}": str(file) for name, file in files.items()},
    }
    began = time.monotonic()
    subprocess.run(
        [BIN / "elsinore", "replay", "--start", start.isoformat(), "--end", end.isoformat()],
        cwd=ROOT, env=env, check=True,
    )  # fmt: skip
    return other / "var" / "lake", time.monotonic() - began


def require_equal_tables(here: Path, there: Path, tables: Sequence[str] = TABLES) -> dict[str, int]:
    """The number of rows of each table of data, which are the same in both lakes."""
    counts = {}
    for table in tables:
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


# ---- two streams, each with two workloads, side by side
def second_stream(cluster: Cluster) -> None:
    """Trades beside flights, a Parquet file a day in its own folder; a second workload each.

    They are those of a folder that stands for the checkout.
    """
    root = cluster.root = cluster.folder / "root"
    root.mkdir()
    for name in (".jars", "dags", "expectations", "jobs", "lib"):
        (root / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "schemas", root / "schemas")
    events, workloads = root / "schemas" / "events", root / "schemas" / "workloads"
    sources = 'sources: [{files: "{date}/trades-*.parquet"}]\n'
    (events / "trades.yaml").write_text((events / "stock.yaml").read_text() + sources)
    stock = (workloads / "stock.sase").read_text().partition("QUERY sold_after")
    for stream, main, second in (
        ("trades", stock[0], "".join(stock[1:])),
        ("flights", None, (workloads / "flights_cancellations.sase").read_text()),
    ):
        if main:
            (workloads / f"{stream}.sase").write_text(main)
        (workloads / stream).mkdir()
        (workloads / stream / "second.sase").write_text(second)
    whole = cluster.folder / "trades.parquet"
    options = StockOptions(
        events=48 * 120, rate=2, burst=6, companies=20, start=START, volatility=0.05
    )
    write_events(options.make(), whole)
    trades = pq.read_table(whole)
    days = pc.strftime(trades["time"], "%Y-%m-%d")
    for day in pc.unique(days).to_pylist():
        folder = cluster.folder / "var" / "trades" / "landing" / day
        folder.mkdir(parents=True)
        pq.write_table(trades.filter(pc.equal(days, day)), folder / f"trades-{day}.parquet")
    cluster.env["ELSINORE_STREAMS"] = '["trades"]'


def test_streams_and_workloads_side_by_side_have_the_tables_of_four_lakes() -> None:
    with deployed(START, END, second_stream) as cluster:
        _compare_streams(cluster, ())


def test_in_an_object_store_and_killed_they_have_the_same_tables() -> None:
    """Tasks that are running are killed as files are written that no commit names yet."""
    with s3_server() as bucket:

        def in_store(cluster: Cluster) -> None:
            second_stream(cluster)
            cluster.home = f"{bucket}/estate"
            raw = cluster.folder / "var"
            for file in (path for path in raw.rglob("*") if path.is_file()):
                with whole_file(place(cluster.home) / file.relative_to(raw)) as out:
                    out.write(file.read_bytes())

        with deployed(START, END, in_store) as cluster:
            _compare_streams(cluster, ("lake/events", "trades/lake/results_staged"))


def kill_tasks(cluster: Cluster, table: str) -> int:
    """Kills the tasks that run when the next file of a table in a store appears; how many."""
    store = from_url(f"{cluster.home}/{table}")

    def files() -> set[str]:
        found = (each["path"] for batch in obstore.list(store) for each in batch)
        return {path for path in found if path.endswith(".parquet")}

    before, until = files(), time.monotonic() + 600
    while files() <= before:
        assert time.monotonic() < until, f"nothing is written into {table}"
        time.sleep(0.01)
    return cluster.processes.kill_forks("scheduler")


def _compare_streams(cluster: Cluster, struck: Sequence[str]) -> None:
    dags = ("hourly_replay", "trades.hourly_replay")
    began = time.monotonic()
    for dag in dags:
        start_hour_by_hour(cluster, dag)
    killed = [kill_tasks(cluster, table) for table in struck]
    for dag in dags:
        finish(cluster, dag, HOURS, HOURS * 600)
    took = time.monotonic() - began
    tries = cluster.query("SELECT count(*), max(try_number) FROM task_instance")
    counts = {}
    for stream, home in (("flights", ""), ("trades", "trades")):
        schemas, own = cluster.root / "schemas", place(cluster.home) / home
        for name, results in ((stream, own), (f"{stream}/second", own / "workloads/second")):
            alone = cluster.folder / f"{name.replace('/', '_')}.sase"
            shutil.copy(schemas / "workloads" / f"{name}.sase", alone)
            lake, _ = replay_embedded(
                cluster, START, LAST, f"{home}/landing".strip("/"),
                schema_file=schemas / "events" / f"{stream}.yaml", workload_file=alone,
            )  # fmt: skip
            counts[name] = require_equal_tables(own / "lake", lake, TABLES[:-1])
            counts[name] |= require_equal_tables(results / "lake", lake, TABLES[-1:])
    assert all(found["results"] for found in counts.values())
    assert all(killed)
    print(
        f"\n{HOURS} hours of two streams with two workloads each in {took:.0f} s; "
        f"{tries[0][0]} tasks, at most {tries[0][1]} tries, {killed} killed; "
        f"equal rows: {counts}"
    )
