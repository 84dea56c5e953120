"""The core needs no package of the pipeline, and who lacks one is told how to get it.

Nor does it import before it must what takes long to import.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    ["ingest", "--start", "2013-01-01", "--end", "2013-01-02"],
]  # fmt: skip

#: By step of `PROGRAM`, what is slow to import and not loaded yet when the step is done.
SLOW = {
    "import": ["numba", "numpy", "pandas", "pyarrow", "pydantic", "rich", "scipy", "yaml"],
    "run": ["matplotlib", "scipy.optimize"],
    "plan": ["matplotlib"],
}
GROUPS = {"core": CORE, "pipeline": PIPELINE, "help": [["--help"]]}

#: Imports and runs commands where the packages `absent` cannot be imported.
PROGRAM = """
import json, sys
absent, slow, groups, library = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(absent))

def tell(step):
    print("loaded", *sorted({*slow[step]} & {*sys.modules}))

import elsinore
tell("import")
from elsinore.cli.main import run_command
run_command(groups["core"][0])
tell("run")
import elsinore.cli.plan
tell("plan")
for name, commands in groups.items():
    for stream in (sys.stdout, sys.stderr):
        print(f"=== {name}", file=stream, flush=True)
    for command in commands:
        print("exit", run_command(command), flush=True)
queries, schema, events = library
print(elsinore.workload(queries, schema=schema).run(events)["slow_cancelled"].num_rows)
"""


def absent() -> list[str]:
    """The packages that the pipeline has beyond the core, as they are imported."""
    names = [re.split(r"[\[<>=]", line)[0] for line in PROJECT["optional-dependencies"]["pipeline"]]
    core = {re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]}
    return [IMPORTED.get(name, name.replace("-", "_")) for name in names if name not in core]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    """What the program writes to its output and errors, by group of commands; "" before them."""
    given = json.dumps([absent(), SLOW, GROUPS, [_QUERIES[0], _QUERIES[2], _EVENTS]])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, given],
        cwd=tmp_path_factory.mktemp("light"), capture_output=True, text=True, check=True,
    )  # fmt: skip
    out, error = (re.split(r"=== \w+\n", text) for text in (done.stdout, done.stderr))
    return dict(zip(["", *GROUPS], zip(out, error, strict=True), strict=True))


Told = dict[str, tuple[str, str]]


def test_what_takes_time_is_imported_when_it_is_needed(told: Told) -> None:
    loaded = [line for line in told[""][0].splitlines() if line.startswith("loaded")]
    assert loaded == ["loaded"] * len(SLOW)


def test_the_core_runs_without_the_pipeline(told: Told) -> None:
    assert len(absent()) >= 8
    out, error = told["core"]
    codes = [line for line in out.splitlines() if line.startswith("exit")]
    assert codes == ["exit 0"] * (len(CORE) - 1) + ["exit 2"], error
    events, missing = error.splitlines()
    assert "9 events, 1 row" in events
    assert "Missing argument" in missing
    assert told["help"][0].splitlines()[-1] == "1"


def test_a_command_of_the_pipeline_says_how_to_get_it(told: Told) -> None:
    out, error = told["pipeline"]
    assert out.count("exit 2") == len(PIPELINE)
    for command, line in zip(PIPELINE, error.splitlines(), strict=True):
        assert re.fullmatch(
            rf"elsinore: elsinore {command[0]} needs \w+, which is not installed "
            r"\(in a checkout, run `pip install '\.\[pipeline\]'`\)",
            line,
        ), line


def test_help_lists_all_commands_without_the_pipeline(told: Told) -> None:
    listed, _ = told["help"]
    assert re.search(r"run +Run the queries", listed)
    assert re.search(r"stop +Stop the Spark server .*Needs\s+elsinore\[pipeline\]\.", listed)


def test_the_core_asks_for_no_package_that_the_pipeline_pins() -> None:
    """`pandas<3` is the pipeline's limit alone."""
    assert {line for line in PROJECT["dependencies"] if "<" in line} == set()
    assert PROJECT["requires-python"] == ">=3.11"
