"""Published rows, worked out again from the raw files by the two-step reference."""

from __future__ import annotations

import pytest

from elsinore.timeline import Interval
from tests.e2e.conftest import CleanRun
from tests.e2e.recompute import disagreements, published_rows, rows_without_a_lake
from tests.e2e.support import END, START

pytestmark = [pytest.mark.e2e, pytest.mark.spark, pytest.mark.slow]


def test_published_rows_are_those_that_the_raw_files_give(clean: CleanRun) -> None:
    """No query's row is missing, and none is there that should not be."""
    home, _, _ = clean
    expected = rows_without_a_lake(home.path / "var" / "landing", Interval.parse(START, END))
    assert sum(expected.values()) > 0
    assert {query: len(rows) for query, rows in published_rows(home.lake).items()} == expected


def test_the_reference_finds_the_published_rows_in_the_raw_files(clean: CleanRun) -> None:
    """The smallest, the middle and a larger row of each query."""
    home, _, _ = clean
    chosen = [
        rows[place]
        for rows in published_rows(home.lake).values()
        for place in sorted({0, len(rows) // 2, len(rows) * 3 // 4})
    ]
    landing = home.path / "var" / "landing"
    found = [(told, row) for row in chosen if (told := disagreements(row, landing))]
    assert found == []
