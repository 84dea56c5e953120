"""The command line: exit codes, help, and one line for each error."""

from __future__ import annotations

import pytest

from elsinore.cli.main import run_command


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nonsense"], 2, "nonsense"),
        (["run", "w.sase"], 2, "--schema"),
        (["check", "missing.sase", "--schema", "missing.yaml"], 2, "cannot read missing.yaml"),
        (["plan", "w.sase", "--schema", "s.yaml"], 2, "--rates FILE or --events FILE"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(arguments) == code
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("command", ["check", "plan", "explain", "land", "generate", "replay"])
def test_every_command_has_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([command, "--help"]) == 0
    assert f"elsinore {command}" in capsys.readouterr().out
