"""`elsinore report`: a run by its name or hours, or a day, becomes one job over whole hours."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from elsinore.cli.pipeline import report
from elsinore.errors import ParameterError

RUN = ["--start", "2013-02-08T05:00:00.000000Z", "--end", "2013-02-08T07:00:00.000000Z"]
DAY = ["--start", "2013-02-08T00:00:00.000000Z", "--end", "2013-02-09T00:00:00.000000Z"]


@pytest.fixture(name="started")
def _started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    found: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        found.append(command[2:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return found


@pytest.mark.parametrize(
    ("given", "job"),
    [
        ({"run": "2013-02-08T05_2013-02-08T07"}, ["jobs.report_quality", *RUN]),
        ({"start": "2013-02-08T05:00", "end": "2013-02-08T07:00"}, ["jobs.report_quality", *RUN]),
        ({"night": "2013-02-08"}, ["jobs.report_night", *DAY]),
    ],
)
def test_one_job_is_started(
    started: list[list[str]], given: dict[str, str], job: list[str]
) -> None:
    assert report(**given) == 0
    assert started == [job]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"night": "2013-02-30"},
        {"night": "../2013-02-08"},
        {"run": "2013-02-08T05_2013-02-08T07/../x"},
        {"run": "2013-02-08T07_2013-02-08T05"},
        {"start": "2013-02-08T05:00"},
        {"start": "2013-02-08T05:30", "end": "2013-02-08T07:00"},
        {"run": "2013-02-08T05_2013-02-08T07", "night": "2013-02-08"},
    ],
)
def test_what_is_no_run_and_no_day_starts_nothing(
    started: list[list[str]], given: dict[str, str]
) -> None:
    with pytest.raises(ParameterError):
        report(**given)
    assert started == []
