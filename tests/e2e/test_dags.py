"""The other DAGs, and a run whose validation fails, on copies of a home after one clean replay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import CleanRun
from tests.e2e.support import END, ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]

#: A workload that runs only if asked for, and its queries.
CHOICE = "flights_cancellations"
OF_CHOICE = {"cancellation_runs", "departures_after_cancellation"}

LAST_HOUR = {"start": "2013-02-08T22:00:00Z", "end": END}


def queries(rows: list[str], hour: str) -> set[str]:
    """The queries that have results in an hour."""
    found = (json.loads(row) for row in rows)
    return {row["query"] for row in found if row["window_end_hour"] == hour}


def test_a_night_reports_on_the_day_and_publishes_nothing(clean: CleanRun, tmp_path: Path) -> None:
    home, _, before = clean
    mine = home.copy(tmp_path)
    code, output = mine.run_dag("nightly_replay", {"day": "2013-02-08"})
    assert code == 0, output
    after = mine.rows()
    unchanged = set(before) - {"run_metrics", "plans"}
    assert {table: after[table] for table in unchanged} == {t: before[t] for t in unchanged}
    assert set(before["plans"]) <= set(after["plans"])
    day = "2013-02-08T00_2013-02-09T00"
    metrics = [json.loads(row) for row in after["run_metrics"]]
    steps = {row["step"] for row in metrics if row["run_key"] == day}
    assert steps == {"plan", "maintain"}
    others = [row for row in after["run_metrics"] if json.loads(row)["run_key"] != day]
    assert others == before["run_metrics"]
    page = (mine.path / "var" / "reports" / "night_2013-02-08.html").read_text()
    assert "Sample passed" in page
    assert (mine.path / "var" / "quality" / day / "validation_results.json").is_file()
    assert not (mine.path / "var" / "alerts.jsonl").exists()


def spoilt_expectations(folder: Path) -> Path:
    """The suites with a critical expectation that no run can meet."""
    shutil.copytree(ROOT / "expectations", folder)
    file = folder / "reference_diff.yaml"
    suite = yaml.safe_load(file.read_text())
    suite["tables"]["validations"].append(
        {
            "expectation": "expect_column_values_to_be_in_set",
            "description": "Nothing is ever right.",
            "severity": "critical",
            "arguments": {"column": "status", "value_set": ["never"]},
        }
    )
    file.write_text(yaml.safe_dump(suite))
    return folder


@pytest.mark.long
def test_a_failed_validation_publishes_nothing_reports_and_fails(
    clean: CleanRun, tmp_path: Path
) -> None:
    home, _, before = clean
    mine = home.copy(tmp_path)
    asked: dict[str, object] = {**LAST_HOUR, "workload": CHOICE}
    spoilt = str(spoilt_expectations(tmp_path / "spoilt"))
    code, output = mine.run_dag("backfill_replay", asked, ELSINORE_EXPECTATIONS_DIR=spoilt)
    assert code != 0, output
    assert not mine.rows(CHOICE).get("results")
    page = mine.path / "var/workloads" / CHOICE / "reports" / "2013-02-08T22_2013-02-08T23.html"
    assert "Do not use these results" in page.read_text()
    (alert,) = map(json.loads, (mine.path / "var" / "alerts.jsonl").read_text().splitlines())
    assert (alert["kind"], alert["task"]) == ("task_failed", "validate")
    assert "Nothing is ever right" in alert["reason"]

    # The same without the fault: the results of the chosen workload are there, the others stay.
    code, output = mine.run_dag("backfill_replay", asked)
    assert code == 0, output
    assert queries(mine.rows(CHOICE)["results"], "2013-02-08T22") == OF_CHOICE
    after = mine.rows()
    others = before.keys() - {"plans", "hours"}
    assert {table: after[table] for table in others} == {t: before[t] for t in others}
    assert {*before["hours"]} <= {*after["hours"]}
    assert "Sample passed" in page.read_text()
