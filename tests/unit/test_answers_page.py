"""Every command on docs/answers.md prints what the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PRINTED = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_command_shows_what_it_prints() -> None:
    assert len(PRINTED) == len(COMMANDS) > 2


@pytest.mark.parametrize(("command", "text"), PRINTED)
def test_commands_print_what_the_page_says(
    command: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/elsinore"
    assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    assert [line.rstrip() for line in printed.strip().splitlines()] == text.splitlines()
