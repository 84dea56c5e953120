"""Alerts: one line each, in the log and in the file, and only where a person is needed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elsinore.errors import DataError
from elsinore.orchestration.callbacks import (
    alert_run_failed,
    alert_run_overdue,
    alert_task_failed,
    raise_alert,
)

DAG = SimpleNamespace(dag_id="hourly_replay")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "var"))
    return tmp_path / "var" / "alerts.jsonl"


def alerts(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_an_alert_is_one_line_in_both_places(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        raise_alert("task_failed", "d", "r", 'two\nlines, "quoted" %s')
    (line,) = file.read_text().splitlines()
    assert json.loads(line)["reason"] == 'two\nlines, "quoted" %s'
    assert [record.getMessage() for record in caplog.records] == [f"ALERT {line}"]


def test_what_was_left_of_an_alert_spoils_none_after_it(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"kind": "task_')  # the disk was full
    for reason in "ab":
        raise_alert("task_failed", "d", "r", reason)
    torn, *whole = file.read_text().splitlines()
    assert torn == '{"kind": "task_'
    assert [json.loads(line)["reason"] for line in whole] == ["a", "b"]


def test_people_are_told_where_the_file_cannot_be_written(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no notifier fails as a service does that is down: by a line in the log."""
    monkeypatch.setenv("ELSINORE_NOTIFIERS", '[{"class": "builtins.print", "end": 1}]')
    file.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        raise_alert("task_failed", "d", "r", "no space left")
    assert "NOT NOTIFIED by builtins.print: TypeError" in caplog.text


def test_a_long_reason_is_cut(file: Path) -> None:
    raise_alert("task_failed", "d", "r", "x" * 100_000)
    assert 1_000 < file.stat().st_size < 4_000


def test_a_failed_task_names_itself_its_slice_and_its_log(file: Path) -> None:
    part = {"start": "2013-02-08T07:00:00Z", "end": "2013-02-08T08:00:00Z"}
    task = SimpleNamespace(task_id="aggregate", op_kwargs={"time_slice": part})
    error = ValueError("no such query")
    alert_task_failed(
        {"dag": DAG, "run_id": "r1", "task": task, "exception": error,
         "ti": SimpleNamespace(log_url="http://here")}
    )  # fmt: skip
    (alert,) = alerts(file)
    assert alert.pop("at").endswith("Z")
    assert alert == {
        "kind": "task_failed", "dag": "hourly_replay", "run": "r1",
        "reason": "ValueError: no such query", "task": "aggregate",
        "label": "2013-02-08T07 to 2013-02-08T08", "log": "http://here",
    }  # fmt: skip


def test_a_task_that_was_killed_has_no_words(file: Path) -> None:
    task = SimpleNamespace(task_id="ingest")
    alert_task_failed({"dag": DAG, "run_id": "r1", "task": task, "ti": SimpleNamespace()})
    assert alerts(file)[0]["reason"] == "the task ended without an error message"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "MemoryError"),
        (KeyError("speed"), "KeyError: 'speed'"),
        (DataError("too many bad lines", hint="look"), "too many bad lines (look)"),
    ],
)
def test_why_a_task_failed_is_told_in_words(file: Path, error: Exception, reason: str) -> None:
    told = {"dag": DAG, "run_id": "r1", "ti": SimpleNamespace(), "exception": error}
    alert_task_failed(told | {"task": SimpleNamespace(task_id="ingest")})
    assert alerts(file)[0]["reason"] == reason


def test_a_failed_run_is_told_once_and_a_late_one_unless_it_waits_in_a_backfill(file: Path) -> None:
    run = {"dag_id": "d", "dag_run_id": "r1", "state": "running"}
    deadline = {"deadline_time": "2013-02-08 09:00"}
    alert_run_failed({"dag": DAG, "run_id": "r1", "reason": "task_failure"})
    alert_run_overdue({"dag_run": run | {"run_type": "backfill"}, "deadline": deadline})
    assert not file.exists()
    alert_run_failed({"dag": DAG, "run_id": "r1", "reason": "timed_out"})
    alert_run_overdue({"dag_run": run | {"run_type": "scheduled"}, "deadline": deadline})
    assert [(a["kind"], a["dag"], a["run"], a["reason"]) for a in alerts(file)] == [
        ("run_failed", "hourly_replay", "r1", "timed out"),
        ("run_overdue", "d", "r1", "still running at its deadline, 2013-02-08 09:00"),
    ]
