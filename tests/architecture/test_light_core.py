"""The core needs no package of the pipeline, and who lacks one is told how to get it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
RIDES = ROOT / "docs" / "example"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: What the packages of the extra `pipeline` are called where they are imported, if otherwise.
IMPORTED = {"apache-airflow": "airflow", "delta-spark": "delta", "Jinja2": "jinja2"}

_QUERIES = [str(RIDES / "rides.sase"), "--schema", str(RIDES / "rides.yaml")]
_EVENTS = str(RIDES / "rides.jsonl")
CORE = [
    ["run", *_QUERIES, "--input", _EVENTS],
    ["check", *_QUERIES, "--plot", "check.svg"],
    ["plan", *_QUERIES, "--events", _EVENTS],
    ["explain", *_QUERIES, "--events", _EVENTS],
    ["schema", "infer", _EVENTS],
    ["generate", "stock", "--events", "10", "--output", "stock.parquet"],
    ["--version"],
    ["run"],  # what is wrong is told without them, too
]
PIPELINE = [
    ["why", "q", "{}", "2013-01-01"], ["replay"], ["stop"], ["report"],
    ["sql", "SELECT 1"], ["views"],
    ["land", "--start", "2013-01-01", "--end", "2013-01-02"],
]  # fmt: skip

#: Runs commands where these packages cannot be imported.
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))
from elsinore.cli.main import run_command
for command in {commands!r}:
    print("exit", run_command(command))
import elsinore
print(elsinore.workload({queries!r}, schema={schema!r}).run({events!r})["slow_cancelled"].num_rows)
"""


def absent() -> list[str]:
    """The packages that the pipeline has beyond the core, as they are imported."""
    names = [re.split(r"[\[<>=]", line)[0] for line in PROJECT["optional-dependencies"]["pipeline"]]
    core = {re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]}
    return [IMPORTED.get(name, name.replace("-", "_")) for name in names if name not in core]


def run(commands: list[list[str]], folder: Path) -> subprocess.CompletedProcess[str]:
    values = {"absent": absent(), "commands": commands, "events": _EVENTS,
              "queries": _QUERIES[0], "schema": _QUERIES[2]}  # fmt: skip
    program = PROGRAM
    for name, value in values.items():
        program = program.replace(f"{{{name}!r}}", repr(value))
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )


def test_the_core_runs_without_the_pipeline(tmp_path: Path) -> None:
    assert len(absent()) >= 8
    done = run(CORE, tmp_path)
    codes = [line for line in done.stdout.splitlines() if line.startswith("exit")]
    assert codes == ["exit 0"] * (len(CORE) - 1) + ["exit 2"], done.stderr
    assert done.stdout.splitlines()[-1] == "1"
    told = done.stderr.splitlines()
    assert "9 events, 1 row" in told[0]
    assert "Missing argument" in told[1]
    assert len(told) == 2


def test_a_command_of_the_pipeline_says_how_to_get_it(tmp_path: Path) -> None:
    done = run(PIPELINE, tmp_path)
    assert done.stdout.count("exit 2") == len(PIPELINE)
    for command, line in zip(PIPELINE, done.stderr.splitlines(), strict=True):
        assert re.fullmatch(
            rf"elsinore: elsinore {command[0]} needs \w+, which is not installed "
            r"\(pip install 'elsinore\[pipeline\]'\)",
            line,
        ), line


def test_help_lists_all_commands_without_the_pipeline(tmp_path: Path) -> None:
    listed = run([["--help"]], tmp_path).stdout
    assert re.search(r"run +Answer the queries", listed)
    assert re.search(r"why +Needs the pipeline's packages", listed)


def test_the_core_asks_for_no_package_that_the_pipeline_pins() -> None:
    """`pandas<3` is the pipeline's limit alone."""
    assert {line for line in PROJECT["dependencies"] if "<" in line} == set()
    assert PROJECT["requires-python"] == ">=3.11"
