"""What the files outside the library may import."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STANDARD = frozenset(sys.stdlib_module_names)
MAY_IMPORT = {
    "dags": STANDARD | {"airflow", "elsinore.orchestration"},
    # Publishing recomputes what changed since the earlier steps, by these steps; the page of a
    # night is written as the page of a run; hours to recompute are found after ingest.
    "jobs": STANDARD
    | {
        "elsinore",
        "jobs.aggregate_trends",
        "jobs.ingest_events",
        "jobs.report_quality",
        "jobs.validate_results",
        "pyspark.sql",
    },
}


def imported_names(path: Path) -> set[str]:
    """Dotted names; `from a import b` gives `a` and `a.b`, since `b` may be a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def strangers(folder: Path, allowed: frozenset[str]) -> set[str]:
    """Returns `file: name` for each import below `folder` that is not within `allowed`."""
    found = {path: imported_names(path) for path in folder.rglob("*.py")}
    return {
        f"{path.relative_to(folder)}: {name}"
        for path, names in found.items()
        for name in names
        if not any(name == package or name.startswith(f"{package}.") for package in allowed)
        # `from elsinore import orchestration` also names the package that it is taken from.
        and f"{name}.orchestration" not in names & allowed
    }


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_edge_imports_only_its_own(folder: str) -> None:
    assert strangers(ROOT / folder, MAY_IMPORT[folder]) == set()


def test_a_stranger_is_seen(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import json\nfrom elsinore import orchestration\n"
        "def task():\n    from elsinore.spark import session\n"
    )
    assert strangers(tmp_path, MAY_IMPORT["dags"]) == {
        "bad.py: elsinore.spark",
        "bad.py: elsinore.spark.session",
    }
