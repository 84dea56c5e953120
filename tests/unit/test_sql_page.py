"""The SQL of the pages on the pipeline and on SQL runs, over results of flights."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import elsinore
from elsinore.cli.main import run_command
from elsinore.settings import Settings
from tests.views_lake import ROOT, SAMPLES, publish_flights

PIPELINE = (ROOT / "docs" / "get-started" / "pipeline.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "how-to" / "query-with-sql.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for text in re.findall(r"^```sh\n(.*?)^```$", PIPELINE, re.MULTILINE | re.DOTALL)
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
def test_commands_of_the_pipeline_page_print_rows(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/elsinore"
    assert run_command(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3


@pytest.mark.slow
def test_the_rows_that_the_pipeline_page_shows_are_those_of_two_days(tmp_path: Path) -> None:
    """`make run` replays these two days; it publishes the windows that end in them."""
    days = ["--start", "2013-02-08", "--end", "2013-02-10"]
    assert run_command(["generate", "flights", *days, "--output", str(tmp_path)]) == 0
    text = (ROOT / "schemas" / "workloads" / "flights.sase").read_text(encoding="utf-8")
    query = re.findall(r"^QUERY growing_delays\n.*?;", text, re.MULTILINE | re.DOTALL)[0]
    flights = elsinore.workload(query, schema=ROOT / "schemas" / "events" / "flights.yaml")
    table = flights.run(tmp_path).to_pandas()["growing_delays"]
    published = table[table["window_end"] <= "2013-02-10"].sort_values(
        ["aircraft", "carrier", "window_start"], ascending=[False, True, True]
    )
    rows = [
        f"{row.carrier} {row.window_start:%Y-%m-%d %H:%M:%S} {row.aircraft} {row.flights} "
        f"{row.latest}"
        for row in published.head(3).itertuples()
    ]
    shown = re.findall(r"^[A-Z]\w +2013-.*$", PIPELINE, re.MULTILINE)
    assert [" ".join(line.split()) for line in shown] == rows


def test_there_is_no_other_sql_in_the_docs() -> None:
    """Neither in fences nor in programs; the runbook and two pages have other tests."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with_sql = [page.name for page in pages if "SELECT " in page.read_text(encoding="utf-8")]
    assert with_sql == [
        "pipeline.md", "connect-files.md", "consume-results.md", "query-with-sql.md",
        "data-changes.md", "operator.md",
    ]  # fmt: skip
    assert len(COMMANDS) == 1
