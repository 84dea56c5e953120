"""Published rows, worked out again from the raw files by the two-step reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import CleanRun
from tests.e2e.recompute import disagreements, published_rows

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


def test_the_reference_finds_the_published_rows_in_the_raw_files(
    clean: CleanRun, tmp_path: Path
) -> None:
    home, _, _ = clean
    rows = published_rows(home.lake)
    assert len(rows) >= 5, "three hours are enough for the queries with short windows"
    for smallest_first in rows.values():
        row = smallest_first[len(smallest_first) // 2]
        assert disagreements(row, home.path / "var" / "landing", tmp_path) == [], row
