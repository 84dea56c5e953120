"""The entry of `elsinore replay`: which raw files it makes and what it refuses."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from elsinore import replay
from elsinore.errors import ParameterError
from elsinore.generate.flights import hour_path
from elsinore.settings import Settings
from elsinore.timeline import Interval, hours_of

SIX_HOURS = Interval.parse("2013-02-08T00:00", "2013-02-08T06:00")


class Stopped(Exception):
    """Raised in place of running Airflow."""


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []

    def generate(output: Path, *, start: datetime, end: datetime) -> None:
        calls.append((f"{start:%H}", f"{end:%H}"))

    def stop(*arguments: Any) -> Path:
        raise Stopped

    monkeypatch.setattr(replay, "generate_flights", generate)
    monkeypatch.setattr(replay, "run_dag", stop)
    monkeypatch.setattr(replay, "server_url", lambda settings: "")
    return calls


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ([], [("00", "06")]),
        ([0, 1, 2, 3, 4, 5], []),
        ([2, 3], [("00", "02"), ("04", "06")]),
        ([0, 5], [("01", "05")]),
    ],
)
def test_only_missing_hours_are_generated(
    tmp_path: Path, generated: list[tuple[str, str]], present: list[int],
    expected: list[tuple[str, str]],
) -> None:  # fmt: skip
    settings = Settings(home=tmp_path)
    for number, hour in enumerate(hours_of(SIX_HOURS)):
        if number in present:
            path = hour_path(settings.landing, hour)
            path.parent.mkdir(parents=True, exist_ok=True)
            # However its owner named the rest of it.
            path.with_name(path.name.replace(".jsonl.gz", "-corrected.jsonl")).touch()
    with pytest.raises(Stopped):
        replay.replay(settings, "2013-02-08T00:00", "2013-02-08T06:00", Console())
    assert generated == expected


@pytest.mark.parametrize(
    ("start", "end"),
    [("2013-02-08", "2013-02-08"), ("2013-02-09", "2013-02-08"), ("x", "2013-02-08"),
     ("2013-02-08T00:30", "2013-02-08T02:00")],
)  # fmt: skip
def test_a_bad_stretch_is_refused_before_anything_is_made(
    tmp_path: Path, generated: list[tuple[str, str]], start: str, end: str
) -> None:
    with pytest.raises(ParameterError):
        replay.replay(Settings(home=tmp_path), start, end, Console())
    assert generated == []
