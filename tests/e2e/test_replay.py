"""The whole pipeline in Airflow: once, again, and killed on the way; the tables end the same."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from psutil import NoSuchProcess, Process  # type: ignore[import-untyped]

from tests.e2e.conftest import CleanRun
from tests.e2e.support import SLICES

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]


def test_a_replay_publishes_validated_results(clean: CleanRun) -> None:
    _, output, rows = clean
    tasks = [line.split()[1] for line in output.splitlines() if line.startswith("  done ")]
    parts = ["aggregate", "validate", "publish"]
    assert tasks[:2] == ["ingest", "find_plan"]
    assert sorted(tasks[2:-1]) == sorted(parts * SLICES)
    assert tasks[-1] == "report"
    assert rows["results"]
    assert rows["results"] == rows["results_staged"]
    validations = [json.loads(row) for row in rows["validations"]]
    assert any(row["status"] == "checked" for row in validations)
    assert not any(row["mismatch"] for row in validations)


def test_airflows_pages_have_its_logs_its_hours_and_a_link_to_its_report(clean: CleanRun) -> None:
    home, _, _ = clean
    logs = [*(home.path / "airflow" / "logs").rglob("attempt=1.log")]
    tasks = {part[8:] for log in logs for part in log.parts if part.startswith("task_id=")}
    assert tasks == {"ingest", "find_plan", "aggregate", "validate", "publish", "report"}
    assert all("Done. Returned value was" in log.read_text() for log in logs)
    with sqlite3.connect(home.path / "airflow.db") as database:
        notes = database.execute("SELECT content FROM dag_run_note").fetchall()
        links = database.execute("SELECT value FROM xcom WHERE key = '_link_ReportLink'").fetchall()
    assert notes == [("2013-02-08 21:00 to 2013-02-08 23:00 UTC",)]
    page = "/reports/2013-02-08T21_2013-02-08T23.html"
    assert [json.loads(link) for (link,) in links] == [f"/elsinore{page}"]
    assert (home.path / "var" / page[1:]).is_file()


def test_openlineage_is_told_which_tables_come_from_which(clean: CleanRun) -> None:
    home, _, _ = clean
    lines = (home.path / "lineage.jsonl").read_text().splitlines()
    done = [event for event in map(json.loads, lines) if event["eventType"] == "COMPLETE"]
    own = {event["job"]["name"].split(".")[-1]: event for event in done}

    def names(task: str, side: str) -> set[tuple[str, str]]:
        return {(each["namespace"], each["name"]) for each in own[task][side]}

    def tables(*names: str) -> set[tuple[str, str]]:
        return {("file", str(home.path / "var" / "lake" / name)) for name in names}

    assert names("ingest", "outputs") >= tables("raw_events", "quarantine", "events")
    assert names("aggregate", "inputs") == tables("events", "plans")
    assert names("aggregate", "outputs") == tables("results_staged")
    assert names("publish", "outputs") >= tables("results")


def test_the_counts_of_the_ledger_are_those_of_the_tables(clean: CleanRun) -> None:
    _, _, rows = clean
    ledger = [json.loads(row) for row in rows["hours"]]
    ingested = [row for row in ledger if row["state"] == "ingested"]
    published = [row for row in ledger if row["state"] == "published"]
    assert sum(row["records"] for row in ingested) == len(rows["raw_events"])
    assert sum(row["bad_records"] for row in ingested) == len(rows["quarantine"])
    assert sum(row["rows"] for row in published) == len(rows["results"])
    checked = [json.loads(row) for row in rows["validations"]]
    agreed = sum(row["status"] == "checked" and row["has_result"] for row in checked)
    assert sum(row["checked_rows"] for row in published) == agreed


def is_fork(process: Process) -> bool:
    """Whether a process runs what its parent does."""
    with suppress(NoSuchProcess):  # so are those called that have just ended
        parent = process.parent()
        return parent is not None and process.cmdline() == parent.cmdline()
    return False


@pytest.mark.long
def test_replayed_again_and_killed_twice_in_aggregate_it_ends_the_same(
    clean: CleanRun, tmp_path: Path
) -> None:
    published, _, rows = clean
    home = published.copy(tmp_path)
    process = home.start()
    assert process.stdout is not None
    output = ""
    while "started  aggregate" not in output:
        line = process.stdout.readline()
        assert line, output  # it has ended
        output += line
    # The process of steps dies: the step is tried again by another one.
    steps = [child for child in Process(process.pid).children(recursive=True) if is_fork(child)]
    assert steps
    for step in steps:
        step.kill()
    # Airflow dies with the task that it runs: what that has left running cannot commit any more.
    home.writing("results_staged")
    os.killpg(process.pid, signal.SIGKILL)
    output += process.stdout.read()
    process.wait()
    assert "retried  " in output
    home.replay()
    assert home.rows() == rows
