"""The edge of jobs: one line out, on the right stream, with the right exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elsinore.errors import (
    ConflictError,
    DataError,
    ElsinoreError,
    LostWorkerError,
    QueryError,
    SetupError,
)
from elsinore.settings import Settings
from elsinore.timeline import Interval
from jobs.edge import Arguments, run_job

DAY = ["--start", "2013-01-01T00:00Z", "--end", "2013-01-02T00:00:00+00:00"]


def end_of(main: Any, argv: list[str]) -> Any:
    with pytest.raises(SystemExit) as caught:
        run_job("a_job", main, argv)
    return caught.value.code


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ELSINORE_DEBUG", raising=False)
    monkeypatch.delenv("ELSINORE_RUN_ID", raising=False)


def test_figures_are_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Arguments] = []

    def main(arguments: Arguments, settings: Settings) -> dict[str, int]:
        seen.append(arguments)
        return {"lines": 3}

    assert end_of(main, DAY) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"job": "a_job", "lines": 3}
    assert (out.count("\n"), err) == (1, "")
    assert seen[0].interval == Interval.parse("2013-01-01", "2013-01-02")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (QueryError("no such query"), 2),
        (DataError("too many bad lines"), 1),
        (SetupError("no Java"), 2),
        (ConflictError("somebody was first"), 75),
        (LostWorkerError("a worker died"), 75),
        (KeyError("an\nexpected\nkey"), 1),
    ],
)
def test_an_error_is_one_line_and_a_code(
    error: Exception, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(arguments: Arguments, settings: Settings) -> dict[str, int]:
        raise error

    assert end_of(main, DAY) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    kind = error.code if isinstance(error, ElsinoreError) else "KeyError"
    assert err.startswith(f"a_job: {kind}: ")


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        ([], "required"),
        (DAY[:2], "--end"),
        ([*DAY, "--force"], "--force"),
        (["--start", "yesterday", *DAY[2:]], "yesterday"),
        (["--start", "2013-01-01T00:30Z", *DAY[2:]], "whole hours"),
        (["--start", DAY[3], "--end", DAY[1]], "backwards"),
        (["--start", "x' OR 1=1 --", *DAY[2:]], "OR 1=1"),
    ],
)
def test_wrong_arguments_end_with_2(
    argv: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end_of(lambda *_: pytest.fail("the job was started"), argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert text in err


def test_the_stack_is_printed_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELSINORE_DEBUG", "1")

    def main(arguments: Arguments, settings: Settings) -> dict[str, int]:
        raise KeyError("figure")

    assert end_of(main, DAY) == 1
    assert "Traceback" in capsys.readouterr().err
