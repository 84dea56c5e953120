"""What the files outside the library may import: DAGs wire, jobs call one entry."""

import sys
from pathlib import Path

import pytest

from tests.architecture.imports import imports_below, is_within

ROOT = Path(__file__).parents[2]
STANDARD = frozenset(sys.stdlib_module_names)
MAY_IMPORT = {
    "dags": STANDARD | {"airflow", "elsinore.orchestration"},
    # Publishing computes anew what changed under it, by the steps before it.
    "jobs": STANDARD | {"elsinore", "jobs.aggregate_trends", "jobs.validate_results"},
}


def strangers(folder: Path, allowed: frozenset[str]) -> set[str]:
    """Returns `file: name` for each import below `folder` that is not within `allowed`."""
    return {
        f"{path.relative_to(folder)}: {name}"
        for path, names in imports_below(folder, run_at_import=False).items()
        for name in names
        # `from elsinore import orchestration` also names the package that it is taken from.
        if not is_within(name, allowed) and f"{name}.orchestration" not in names & allowed
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
