"""Results of many queries as one table are bounded in time and in memory."""

from __future__ import annotations

import time

import pytest

from elsinore.errors import ParameterError
from elsinore.results import wide
from elsinore.results.row import ResultRow
from elsinore.results.wide import wide_table


def rows(queries: int, label: str) -> list[ResultRow]:
    return [ResultRow(f"q{n}", (), 0, 10, ((label.format(n), n),)) for n in range(queries)]


def test_many_queries_take_linear_time() -> None:
    began = time.process_time()
    table = wide_table(rows(20_000, "c"), calendar=False)
    assert time.process_time() - began < 5
    assert table["c"].to_pylist() == [*range(20_000)]


def test_the_cells_of_all_queries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "MOST_CELLS", 100)
    assert wide_table(rows(10, "c{}"), calendar=False).num_columns == 13
    with pytest.raises(ParameterError, match="more than 100 cells as one table"):
        wide_table(rows(11, "c{}"), calendar=False)
