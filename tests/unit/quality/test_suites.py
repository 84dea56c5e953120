"""Suites are read strictly: what is not understood is refused with its file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from elsinore.errors import SchemaError
from elsinore.quality.checkpoint import judge
from elsinore.quality.run_tables import read_run_tables
from elsinore.quality.suites import SUITES, load_suites
from tests.unit.quality import lake


def test_every_suite_is_read_in_order() -> None:
    suites = load_suites(lake.EXPECTATIONS)
    assert list(dict.fromkeys(part.suite for part in suites)) == list(SUITES)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(lake.EXPECTATIONS, tmp_path / "expectations"))


def _replace(folder: Path, old: str, new: str) -> None:
    file = folder / "reference_diff.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("severity: critical", "severity: fatal"),
        ("severity: critical", "severity: critical\n      mostly: 0.5"),
        ("suite: reference_diff", "suite: other"),
        ("description: Every checked", "description: $Every checked"),
    ],
)
def test_a_suite_with_a_fault_is_refused(folder: Path, old: str, new: str) -> None:
    _replace(folder, old, new)
    with pytest.raises(SchemaError, match=r"reference_diff\.yaml"):
        load_suites(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("expect_published_to_equal_reference", "expect_the_best"),
        ("{column: status, value_set: [checked, skipped]}", "{columm: status}"),
    ],
)
def test_an_expectation_that_nobody_knows_is_refused(
    folder: Path, tmp_path: Path, old: str, new: str
) -> None:
    _replace(folder, old, new)
    tables = read_run_tables(lake.write_lake(tmp_path / "lake", lake.healthy()), lake.INTERVAL)
    with pytest.raises(SchemaError, match=r"reference_diff\.yaml"):
        judge(tables, tmp_path / "quality", lake.RUN, expectations_dir=folder, docs=True)
    assert list((tmp_path / "quality").iterdir()) == []


def test_a_missing_suite_is_refused(folder: Path) -> None:
    (folder / "static_plan.yaml").unlink()
    with pytest.raises(SchemaError, match=r"static_plan\.yaml"):
        load_suites(folder)
