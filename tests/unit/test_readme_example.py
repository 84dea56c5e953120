"""The README's query, command and result are what the program says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, having: str) -> str:
    """The one code block of a language that holds a text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (found,) = [text for text in blocks if having in text]
    return found


def test_query_is_that_of_the_example() -> None:
    workload = (ROOT / "docs" / "example" / "rides.sase").read_text(encoding="utf-8")
    assert block("sase", "slow_cancelled") in workload


@pytest.mark.parametrize("executor", ["auto", "greta", "twostep"])
def test_command_prints_the_result(
    executor: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(block("sh", "elsinore run"))
    assert program == ".venv/bin/elsinore"
    assert run_command([*arguments, "--executor", executor]) == 0
    assert capsys.readouterr().out == block("json", "slow_cancelled")


def test_pages_that_it_names_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
