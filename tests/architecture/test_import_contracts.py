"""Each import rule of pyproject.toml can fail; that all of them hold is `make lint`."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: By the start of a contract's name, a module and what it may not import.
BREACHES = [
    ("Imports point one way", "catalog", "elsinore.query"),
    ("Imports point one way", "numbers", "elsinore.executors"),
    ("Executors have layers", "executors.input", "elsinore.executors.output"),
    ("Executors have layers", "executors.hamlet", "elsinore.executors.linear"),
    ("Numbers know nothing of ours", "numbers", "elsinore.errors"),
    ("Kernels know numbers and kernels", "executors.graph.kernels", "elsinore.events"),
    ("Windows know only errors", "windows", "elsinore.catalog"),
    ("Results know nothing of queries", "results", "elsinore.query"),
    ("The reference shares no code", "reference", "elsinore.executors"),
    ("Orchestration knows errors, time", "orchestration", "elsinore.spark"),
    ("The library knows neither jobs nor DAGs", "executors", "jobs"),
    ("Only elsinore.spark, store, ingest, publish and maintain know Spark", "executors", "pyspark"),
    ("The lake and what is read", "lake", "elsinore.spark"),
    ("Ingest and publication know no queries", "ingest", "elsinore.query"),
    ("Ingest and publication know no queries", "ingest", "elsinore.generate"),
    ("Imports point one way", "raw_names", "elsinore.events"),
    ("Imports point one way", "sorting", "elsinore.timeline"),
    ("Imports point one way", "tasks", "elsinore.catalog"),
    ("The store knows neither", "store", "elsinore.files"),
    ("The ledger knows no queries", "ledger", "elsinore.query"),
    ("Only elsinore.quality knows", "results", "great_expectations"),
    ("Only elsinore.orchestration (and dags)", "spark", "airflow"),
    ("Only elsinore.numbers knows Numba", "windows", "numba"),
    ("Only elsinore.numbers knows Numba", "executors.graph.kernels", "llvmlite"),
    ("Input, output and the linear", "executors.linear", "elsinore.sharing"),
    ("Only elsinore.query knows the parser", "catalog", "lark"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of a package of our layers in which every rule is broken."""
    checkout = tmp_path_factory.mktemp("checkout")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (checkout / "pyproject.toml").write_text(text, encoding="utf-8")
    contracts = {one["id"]: one for one in tomllib.loads(text)["tool"]["importlinter"]["contracts"]}
    names = [name for row in contracts["layers"]["layers"] for name in row.split(" | ")]
    # Contracts also name parts of packages.
    parts = re.findall(r'"elsinore\.(\w+(?:\.\w+)+)"', text)
    inner = (row for row in contracts["layers-of-executors"]["layers"])
    parts += [f"executors.{name}" for row in inner for name in re.split(r" [|:] ", row)]
    parts += [f"executors.{name}.kernels" for name in ("input", "graph", "linear", "hamlet")]
    modules = dict.fromkeys(["__init__", "stray", *names, *sorted(parts)], "")
    for _, name, imported in BREACHES:
        modules[name] += f"import {imported}\n"
    package = checkout / "lib" / "elsinore"
    package.mkdir(parents=True)
    for name, source in modules.items():
        is_package = any(other.startswith(f"{name}.") for other in modules)
        path = package / f"{name.replace('.', '/')}{'/__init__' * is_package}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "lib")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("breach", BREACHES)
def test_contract_breaks_on(told: str, breach: tuple[str, str, str]) -> None:
    contract, folder, imported = breach
    (section,) = re.findall(
        rf"^{re.escape(contract)}.*\n-+\n((?:.*\n(?!.*\n---))*)", told, re.MULTILINE
    )
    assert f"elsinore.{folder} -> {imported} (l." in section, told


def test_package_without_a_place_in_the_layers_is_refused(told: str) -> None:
    assert re.search(r"not listed as layers:\n\n- elsinore\.stray\n", told), told
