"""Each import rule of pyproject.toml can fail; that all of them hold is `make lint`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: By the start of a contract's name, a package and what it may not import.
BREACHES = [
    ("Imports point one way", "catalog", "elsinore.query"),
    ("Imports point one way", "algebra", "elsinore.windows"),
    ("Kernels know nothing of ours", "kernels", "elsinore.errors"),
    ("Algebra and windows stand on", "windows", "elsinore.catalog"),
    ("Results know nothing of queries", "results", "elsinore.query"),
    ("The reference shares no code", "reference", "elsinore.engine"),
    ("The reference does its own aggregation", "reference", "elsinore.algebra"),
    ("Orchestration knows errors, time", "orchestration", "elsinore.spark"),
    ("The library knows neither jobs nor DAGs", "engine", "jobs"),
    ("Only elsinore.spark knows Spark", "engine", "pyspark.sql"),
    ("The lake and what is read", "lake", "elsinore.spark.failures"),
    ("Only elsinore.quality knows", "results", "great_expectations"),
    ("Only elsinore.orchestration (and dags)", "spark", "airflow"),
    ("Only elsinore.kernels knows Numba", "windows", "numba"),
    ("Only elsinore.query knows the parser", "catalog", "lark"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What import-linter says of a checkout in which every rule is broken."""
    checkout = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "pyproject.toml", checkout)
    package = checkout / "lib" / "elsinore"
    shutil.copytree(ROOT / "lib", package.parent, ignore=shutil.ignore_patterns("__pycache__"))
    for number, (_, folder, imported) in enumerate(BREACHES):
        place = package / folder
        intruder = place / f"intruder_{number}.py" if place.is_dir() else place.with_suffix(".py")
        with intruder.open("a", encoding="utf-8") as file:
            file.write(f"def hidden_{number}() -> None:\n    import {imported}\n")
    (package / "stray.py").write_text('"""Belongs nowhere."""\n')
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


@pytest.mark.parametrize(("number", "breach"), [*enumerate(BREACHES)])
def test_contract_breaks_on(told: str, number: int, breach: tuple[str, str, str]) -> None:
    contract, folder, imported = breach
    name, target = re.escape(contract), imported.partition(".")[0]
    (section,) = re.findall(rf"^{name}.*\n-+\n((?:.*\n(?!.*\n---))*)", told, re.MULTILINE)
    assert re.search(rf"elsinore\.{folder}(\.intruder_{number})? -> {target}", section), told


def test_package_without_a_place_in_the_layers_is_refused(told: str) -> None:
    assert re.search(r"not listed as layers:\n\n- elsinore\.stray\n", told), told
