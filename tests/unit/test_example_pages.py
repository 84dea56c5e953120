"""The README, docs/how-to/answers.md, and the library's page and notebook do what they say."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANSWERS = (ROOT / "docs" / "how-to" / "answers.md").read_text(encoding="utf-8")
PRINTED = re.findall(r"^```sh\n(.*?)^```\n\n```text\n(.*?)^```$", ANSWERS, re.MULTILINE | re.DOTALL)


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


@pytest.mark.parametrize(("command", "text"), PRINTED)
def test_commands_print_what_the_page_of_answers_says(
    command: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/elsinore"
    assert run_command(arguments) == 0
    printed = capsys.readouterr().out
    assert [line.rstrip() for line in printed.strip().splitlines()] == text.splitlines()


def test_every_command_of_the_page_shows_what_it_prints() -> None:
    assert len(PRINTED) == ANSWERS.count("```sh\n") > 2


def test_pages_that_it_names_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


# ---- the library
def test_examples_of_the_library_give_what_their_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(ROOT / "docs" / "how-to" / "use-from-python.md"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS,
        encoding="utf-8",
    )
    assert (done.failed, done.attempted > 15) == (0, True)


def test_the_notebook_runs_and_its_last_cell_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code in one namespace, as a kernel runs it; what it shows can be shown."""
    monkeypatch.chdir(ROOT / "docs" / "how-to")
    cells = json.loads(
        (ROOT / "docs" / "how-to" / "use-from-python.ipynb").read_text(encoding="utf-8")
    )["cells"]
    names: dict[str, object] = {}
    shown = 0
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not committed"
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec(compile("\n".join(lines), f"cell {number}", "exec"), names)
        try:
            found = eval(compile(last, f"cell {number}", "eval"), names)
        except SyntaxError:
            exec(compile(last, f"cell {number}", "exec"), names)
            continue
        shown += hasattr(found, "_repr_html_") and bool(found._repr_html_())
    assert shown >= 5
    assert names["total"] == 11
