"""The generated reference pages are those that the code makes now, and leave nothing out."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import elsinore
from docs.generate.configuration import attributes
from docs.generate.error_codes import errors
from docs.generate.python_names import PIPELINE_NAMES
from docs.generate.reference import MARK, PAGES
from docs.generate.site_pages import ROOT
from elsinore.cli.main import COMMANDS
from elsinore.orchestration.alert_kinds import ALERTS, AlertKind
from elsinore.orchestration.metric_names import METRICS
from elsinore.settings import Settings

REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    assert written == MARK + PAGES[name](), f"{name} is outdated: run `make reference`"


def test_no_other_page_says_that_it_is_generated() -> None:
    marked = {
        page.name
        for page in REFERENCE.glob("*.md")
        if page.read_text(encoding="utf-8").startswith(MARK)
    }
    assert marked == PAGES.keys()


def test_every_command_has_a_section() -> None:
    sections = re.findall(r"^## elsinore (\S+)", PAGES["cli.md"](), re.MULTILINE)
    assert set(sections) == COMMANDS.keys()


def test_every_option_has_a_meaning() -> None:
    rows = re.findall(r"^\| (`-[^|]+) \| [^|]* \| ([^|]*) \|", PAGES["cli.md"](), re.MULTILINE)
    assert len(rows) > 80
    assert [name for name, meaning in rows if not meaning.strip()] == []


def test_every_setting_has_a_meaning_and_a_section() -> None:
    assert attributes(Settings).keys() == Settings.model_fields.keys()
    sections = re.findall(r"^## ELSINORE_(\w+)", PAGES["configuration.md"](), re.MULTILINE)
    assert sections == [*map(str.upper, Settings.model_fields), "MEMORY_LIMIT", "DEBUG"]


def test_defaults_are_not_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_HOME", "/elsewhere")
    assert str(ROOT) not in PAGES["configuration.md"]()
    assert "/elsewhere" not in PAGES["configuration.md"]()


def test_every_kind_of_alert_is_declared_and_in_the_runbook() -> None:
    assert [*ALERTS] == [*get_args(AlertKind)]
    runbook = (ROOT / "docs" / "runbook" / "operator.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^## (.+)$", runbook, re.MULTILINE))
    assert {alert.section for alert in ALERTS.values()} <= headings


def test_names_of_metrics_and_codes_of_errors_are_unique() -> None:
    names = [metric.name for metric in METRICS]
    codes = [error.code for error in errors()]
    assert len(names) == len(set(names)) > 0
    assert len(codes) == len(set(codes)) > 10


def test_every_table_and_expectation_is_on_its_page() -> None:
    tables = {file.stem for file in (ROOT / "schemas" / "tables").glob("*.yaml")}
    assert set(re.findall(r"^## (\w+)$", PAGES["tables.md"](), re.MULTILINE)) == tables
    suites = [*(ROOT / "expectations").glob("*.yaml")]
    declared = sum(suite.read_text(encoding="utf-8").count("expectation:") for suite in suites)
    rows = re.findall(r"\| (?:critical|warning) \| `expect_", PAGES["expectations.md"]())
    assert len(rows) == declared > 30


def test_the_python_page_has_every_public_name() -> None:
    named = set(re.findall(r"^::: elsinore\.(\w+)", PAGES["python.md"](), re.MULTILINE))
    assert named == {*elsinore.__all__, *PIPELINE_NAMES}
    assert [name for name in named if not hasattr(elsinore, name)] == []


def test_every_name_that_the_package_exports_is_public() -> None:
    source = Path(elsinore.__file__).read_text(encoding="utf-8")
    exported = re.findall(r"^ *from elsinore\S* import \w+ as (\w+)$", source, re.MULTILINE)
    assert sorted(exported) == sorted([*elsinore.__all__, *PIPELINE_NAMES])


@pytest.mark.slow
def test_a_star_import_works_without_the_packages_of_the_pipeline() -> None:
    code = (
        "import sys\n"
        "for name in ('pyspark', 'deltalake', 'duckdb', 'airflow'): sys.modules[name] = None\n"
        "from elsinore import *\n"
        "print(workload.__name__, 'connect' in globals())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("workload False\n", "")
