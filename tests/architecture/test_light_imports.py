"""Airflow parses DAG files again and again: nothing heavy may be imported when it does."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.imports import imported_names, imports_below, is_within

ROOT = Path(__file__).parents[2]
DAGS = ROOT / "dags"
ORCHESTRATION = ROOT / "lib" / "elsinore" / "orchestration"
HEAVY = frozenset({"pyspark", "great_expectations", "numba", "pandas"})


def test_dags_and_orchestration_import_nothing_heavy() -> None:
    files = imports_below(DAGS, ORCHESTRATION, run_at_import=True)
    assert ORCHESTRATION / "__init__.py" in files
    heavy = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, names in files.items()
        for name in names
        if is_within(name, HEAVY)
    }
    assert heavy == set()


def test_importing_orchestration_brings_nothing_heavy_along() -> None:
    modules = [
        ".".join(path.relative_to(ROOT / "lib").with_suffix("").parts)
        for path in sorted(ORCHESTRATION.rglob("*.py"))
    ]
    program = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import pandas as pd", {"pandas"}),
        ("from pyspark.sql import functions", {"pyspark.sql", "pyspark.sql.functions"}),
        ("try:\n    import numba\nexcept ImportError:\n    numba = None", {"numba"}),
        ("class A:\n    import numba", {"numba"}),
        ("def f():\n    import pandas", set()),
        ("if TYPE_CHECKING:\n    import pandas\nelse:\n    import json", {"json"}),
    ],
)
def test_only_what_runs_at_import_counts(source: str, expected: set[str]) -> None:
    assert imported_names(source, run_at_import=True) == expected


def test_function_bodies_count_when_asked_for() -> None:
    assert imported_names("def f():\n    import pandas", run_at_import=False) == {"pandas"}
