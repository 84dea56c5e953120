"""The commands of the runbook and late-data.md run, on a copy of a home after a clean replay.

Those of Airflow, seconds each, run by `ELSINORE_LONG=1`; otherwise Airflow's own parser takes them.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from elsinore.orchestration.alert_kinds import ALERTS
from tests.draws import draws
from tests.e2e.conftest import CleanRun
from tests.e2e.support import ROOT, Home

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]

RUNBOOK = ROOT / "docs" / "runbook"
#: The definitions and the table of symptoms, the sections that they are followed by, and the
#: sections of the page that uses the same definitions.
NAMES, *OWN = re.split(
    r"^## ", (RUNBOOK / "operator.md").read_text(encoding="utf-8"), flags=re.MULTILINE
)
_, *OTHERS = re.split(
    r"^## ", (RUNBOOK / "data-changes.md").read_text(encoding="utf-8"), flags=re.MULTILINE
)
SECTIONS = [*OWN, *OTHERS]
LONG = bool(draws(0, 1))
#: Keeps the arguments of each call, as a line of JSON.
NOTED = """
airflow() {
    .venv/bin/python -c 'import json, sys; print(json.dumps(sys.argv[1:]))' "$@" >>"$CALLS"
}
"""
ALERT = {"kind": "ingest_refused", "reason": "2013-02-08T20: a gzip file is cut short"}


def blocks(text: str) -> str:
    """The commands of a part of the page."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def run(commands: str, home: Home) -> None:
    """Runs commands as the page has them; none of them may fail."""
    program = f"{blocks(NAMES)}{'' if LONG else NOTED}{commands}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", program],
        cwd=ROOT,
        env=home.environment | {"CALLS": str(home.path / "calls"), "TMPDIR": str(home.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def home(clean: CleanRun, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """With what an operator's home has beside the tables: an alert, logs, DAGs in the database."""
    mine = clean[0].copy(tmp_path_factory.mktemp("operator"))
    (mine.path / "var" / "alerts.jsonl").write_text(f"{json.dumps(ALERT)}\n")
    for folder in (mine.path / "var" / "logs", mine.path / "airflow" / "logs"):
        folder.mkdir(parents=True, exist_ok=True)
    (mine.path / "var" / "logs" / "spark-server.log").write_text("Spark is up\n")
    run("airflow dags reserialize\n", mine)
    return mine


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_commands_run(section: str, home: Home) -> None:
    from airflow.cli.cli_parser import get_parser

    calls = home.path / "calls"
    calls.unlink(missing_ok=True)
    assert blocks(section)
    run(blocks(section), home)
    for line in calls.read_text().splitlines() if calls.exists() else ():
        get_parser().parse_args(json.loads(line))  # ends the process where it takes them not


def test_the_question_of_the_page_on_lateness_is_answered(home: Home) -> None:
    run(blocks((ROOT / "docs" / "concepts" / "late-data.md").read_text(encoding="utf-8")), home)


def test_every_alert_has_an_entry_and_every_entry_is_named() -> None:
    assert [kind for kind in ALERTS if f"`{kind}`" not in NAMES] == []
    titles = [section.partition("\n")[0] for section in SECTIONS]
    assert re.findall(r"\| \[([^\]]+)\]\((?:data-changes\.md)?#", NAMES) == titles
