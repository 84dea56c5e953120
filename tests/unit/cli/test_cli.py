"""The command line: its help, and the jobs that `elsinore report` calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from elsinore.cli import pipeline
from elsinore.cli.main import run_command
from elsinore.cli.pipeline import report
from elsinore.errors import ParameterError
from elsinore.orchestration.run_step import Arguments

EXAMPLE = Path(__file__).parents[3] / "docs" / "example"
QUERIES, EVENTS = str(EXAMPLE / "rides.sase"), str(EXAMPLE / "rides.jsonl")


@pytest.mark.parametrize("command", ["check", "plan", "explain", "ingest", "generate", "replay"])
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command, "--help"]) == 0
    assert f"elsinore {command}" in capsys.readouterr().out


def test_replay_is_of_the_stream_that_the_environment_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command(["replay", "--help"]) == 0
    assert "ELSINORE_SCHEMA_FILE" in capsys.readouterr().out


def test_replay_of_another_stream_needs_its_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default hours are those of the sample flights."""
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(tmp_path / "shop.yaml"))
    for given in ([], ["--start", "2013-02-08"], ["--end", "2013-02-09"]):
        assert run_command(["replay", *given]) == 2
        assert "(add --start TIME and --end TIME; `elsinore put` prints them)" in (
            capsys.readouterr().err
        )
    assert not (tmp_path / "home").exists()


def test_replay_of_the_sample_flights_has_default_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    called: list[tuple[str, str]] = []
    monkeypatch.setattr(pipeline, "replay", lambda _, start, end, __: called.append((start, end)))
    assert run_command(["replay"]) == 0
    assert run_command(["replay", "--end", "2013-02-09"]) == 0
    assert called == [
        ("2013-02-08T00:00:00Z", "2013-02-10T00:00:00Z"), ("2013-02-08T00:00:00Z", "2013-02-09")
    ]  # fmt: skip


# ---- `elsinore report`: a run by its name or hours, or a day, becomes one job over whole hours
RUN = "[2013-02-08T05:00:00.000000Z, 2013-02-08T07:00:00.000000Z)"
DAY = "[2013-02-08T00:00:00.000000Z, 2013-02-09T00:00:00.000000Z)"


@pytest.fixture(name="called")
def _called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def run_step(job: str, arguments: Arguments, settings: Any) -> dict[str, Any]:
        del settings
        found.append((job, str(arguments.interval)))
        return {"report": "page"}

    monkeypatch.setattr(pipeline, "run_step", run_step)
    monkeypatch.setattr(pipeline, "require_run", lambda lake, interval: None)
    return found


@pytest.mark.parametrize(
    ("given", "job"),
    [
        ({"run": "2013-02-08T05_2013-02-08T07"}, ("report_quality", RUN)),
        ({"start": "2013-02-08T05:00", "end": "2013-02-08T07:00"}, ("report_quality", RUN)),
        ({"night": "2013-02-08"}, ("report_night", DAY)),
    ],
)
def test_one_job_is_called_and_its_figures_are_a_line(
    called: list[tuple[str, str]],
    given: dict[str, str],
    job: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(**given) == 0
    assert called == [job]
    assert capsys.readouterr().out == f'{{"job": "{job[0]}", "report": "page"}}\n'


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
def test_what_is_no_run_and_no_day_calls_nothing(
    called: list[tuple[str, str]], given: dict[str, str]
) -> None:
    with pytest.raises(ParameterError):
        report(**given)
    assert called == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["init", "s3://bucket/project"],
        ["generate", "flights", "--output", "s3://bucket/landing"],
        ["generate", "flights", "--output=gs://bucket/landing"],
    ],
)
def test_an_address_is_not_taken_for_a_folder(
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(arguments) == 2
    assert "://bucket/" in (told := capsys.readouterr().err)
    assert "is an address, not a path on this machine" in told
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("command", ["ingest", "replay"])
def test_hours_that_are_not_over_are_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--start", "2198-01-01T00:00Z", "--end", "2198-01-01T01:00Z"]
    assert run_command([command, *given]) == 2
    error = capsys.readouterr().err
    assert "the hours before '2198-01-01T01:00Z' are not over (set end to 20" in error


@pytest.mark.parametrize(
    ("arguments", "old", "new", "value", "other"),
    [
        (["plan", QUERIES, "--events", EVENTS], "--finder", "--optimizer", "gwmin", "optimal"),
        (["run", QUERIES, "--input", EVENTS], "--max-bad-share", "--max-error-rate", "0.5", "0.4"),
    ],
)
def test_old_options_work_with_a_warning(
    arguments: list[str], old: str, new: str, value: str, other: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    arguments += ["--schema", str(EXAMPLE / "rides.yaml")]
    assert run_command([*arguments, new, value]) == 0
    expected = capsys.readouterr()
    for given in ([old, value], [f"{old}={value}"], [new, value, old, value]):
        assert run_command([*arguments, *given]) == 0
        printed = capsys.readouterr()
        assert printed.out == expected.out
        assert printed.err.startswith(
            f"elsinore: `{old}` is now called `{new}`; use the new name\n"
        )
    assert run_command([*arguments, old, value, new, other]) == 2
    problem = f"elsinore: {old} and {new} have different values (remove {old})\n"
    assert capsys.readouterr().err == problem


@pytest.mark.filterwarnings("always::elsinore.renamed.RenamedWarning")
def test_warnings_about_old_names_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELSINORE_GRACE", "7")
    assert run_command(["views", "missing.sase"]) != 0
    warning = "elsinore: ELSINORE_GRACE is now called ELSINORE_GRACE_MINUTES; use the new name\n"
    assert capsys.readouterr().err.startswith(warning)


def test_lineage_is_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["lineage", "--help"]) == 0
    assert "elsinore why" in capsys.readouterr().out
