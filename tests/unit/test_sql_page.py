"""The SQL of the README and of docs/how-to/query-with-sql.md runs, over results of flights."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from elsinore.cli.main import run_command
from elsinore.settings import Settings
from tests.views_lake import ROOT, SAMPLES, publish_flights

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "how-to" / "query-with-sql.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for text in re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    for line in text.splitlines()
    if "elsinore sql" in line
]
#: Code of the page by language, with the output that it shows.
SHOWN = re.findall(
    r"^```(sql|sh|python)\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(home=tmp_path_factory.mktemp("flights"))
    publish_flights(settings)
    return settings


@pytest.fixture(autouse=True)
def home(flights: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("ELSINORE_HOME", str(flights.home))
    return flights.home


@pytest.mark.parametrize(("language", "code", "output"), SHOWN)
def test_the_page_shows_the_output_of_its_code(
    language: str, code: str, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    match language:
        case "sql":
            assert run_command(["sql", code, "--format", "table"]) == 0
        case "sh":
            program, *arguments = shlex.split(code)
            assert program == ".venv/bin/elsinore"
            assert run_command(arguments) == 0
        case _:
            exec(compile(code, "query-with-sql.md", "exec"), {})
    printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
    if language == "sql":
        assert printed.pop(0) == "3 rows"
    assert printed == output.splitlines()


def test_all_code_of_the_page_shows_its_output() -> None:
    assert len(SHOWN) == len(re.findall(r"^```(?:sql|sh|python)$", PAGE, re.MULTILINE)) == 7
    assert [code for language, code, _ in SHOWN if language == "sql"] == SAMPLES


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_readme_print_rows(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/elsinore"
    assert run_command(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_there_is_no_other_sql_in_the_docs() -> None:
    """Neither in fences nor in programs; operator.md and your-data.md have tests of their own."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with_sql = [page.name for page in pages if "SELECT " in page.read_text(encoding="utf-8")]
    assert with_sql == ["README.md", "your-data.md", "query-with-sql.md", "operator.md"]
    assert len(COMMANDS) == 1
