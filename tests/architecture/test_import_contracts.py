"""The import rules of pyproject.toml hold, and each of them can fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Runs import-linter on the package below `checkout`/lib."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "lib")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_is_kept() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with nothing but the package and its rules, free to be spoilt."""
    checkout = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "pyproject.toml", checkout)
    shutil.copytree(ROOT / "lib", checkout / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    return checkout


@pytest.mark.parametrize(
    ("package", "statement", "contract"),
    [
        ("catalog", "import elsinore.query", "Imports point one way"),
        ("algebra", "import elsinore.windows", "Imports point one way"),
        ("kernels", "import elsinore.errors", "Kernels know nothing of ours"),
        ("windows", "import elsinore.catalog", "Algebra and windows stand on"),
        ("results", "import elsinore.query", "Results know nothing of queries"),
        ("reference", "import elsinore.engine", "The reference shares no code"),
        ("reference", "import elsinore.algebra", "The reference does its own aggregation"),
        ("orchestration", "import elsinore.spark", "Orchestration knows errors, time"),
        ("engine", "import jobs", "The library knows neither jobs nor DAGs"),
        ("engine", "import pyspark.sql", "Only elsinore.spark knows Spark"),
        ("lake", "import elsinore.spark.failures", "The lake and what is read"),
        ("results", "import great_expectations", "Only elsinore.quality knows"),
        ("spark", "import airflow", "Only elsinore.orchestration (and dags)"),
        ("windows", "import numba", "Only elsinore.kernels knows Numba"),
        ("catalog", "import lark", "Only elsinore.query knows the parser"),
    ],
)
def test_contract_breaks_on(copy: Path, package: str, statement: str, contract: str) -> None:
    intruder = copy / "lib" / "elsinore" / package / "intruder.py"
    intruder.write_text(f"def hidden() -> None:\n    {statement}\n")
    try:
        done = lint_imports(copy)
    finally:
        intruder.unlink()
    assert done.returncode == 1, done.stdout + done.stderr
    broken = [line for line in done.stdout.splitlines() if " BROKEN" in line]
    assert any(line.startswith(contract) for line in broken), done.stdout


def test_package_without_a_place_in_the_layers_is_refused(copy: Path) -> None:
    stray = copy / "lib" / "elsinore" / "stray.py"
    stray.write_text('"""Belongs nowhere."""\n')
    try:
        done = lint_imports(copy)
    finally:
        stray.unlink()
    assert done.returncode == 1
    assert "stray" in done.stdout
