"""Rows of windows as columns of partial rows, compared with their text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from elsinore.executors.input.columns import Column
from elsinore.executors.input.weights import NO_RANK, Extremes
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.state_columns import Extremes as StateExtremes
from elsinore.executors.output.state_columns import ScaledDoubles
from elsinore.executors.output.window_rows import (
    Reading,
    WindowRows,
    of_text,
    partial_rows,
    partial_tables,
)
from elsinore.executors.output.wire import PARTIAL_SCHEMA
from elsinore.numbers.exact_columns import Integers, to_python
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

QUERIES = read_workload(
    """
    QUERY least RETURN A.k, SUM(A.x), SUM(A.y), MIN(A.x), MAX(A.y)
        PATTERN A+ GROUP-BY A.k WITHIN 10 SLIDE 5;
    QUERY same RETURN A.k, SUM(A.x), SUM(A.y), MIN(A.x), MAX(A.y)
        PATTERN A+ GROUP-BY A.k WITHIN 30;
    QUERY counts RETURN A.k, COUNT(*) PATTERN A+ GROUP-BY A.k WITHIN 10;
    """,
    stream_schema({"A": {"k": "long", "x": "long", "y": "double"}}),
).queries
GROUPS = pa.array(["[1]", "[2]", "[1]"])
SIZE = 200


@pytest.mark.parametrize("limbs", [1, 2, 5, 0])
def test_columns_are_those_of_text(limbs: int) -> None:
    dice = np.random.default_rng(limbs)
    readings = [Reading(query, GROUPS, _extremes(dice)) for query in QUERIES]
    rows = _rows(dice, limbs)
    found = partial_rows(rows, readings)
    text = pa.concat_tables(partial_tables(rows, readings))
    assert _plain(found) == _plain(of_text(QUERIES, text))
    assert {len(part.queries) for part in found} == {1, 2}
    assert sum(map(len, merge(found))) < SIZE


def test_no_rows() -> None:
    readings = [Reading(QUERIES[2], GROUPS, [])]
    nothing = _rows(np.random.default_rng(1), 1).where(np.empty(0, np.int64))
    assert partial_rows(nothing, readings) == []
    assert of_text(QUERIES, PARTIAL_SCHEMA.empty_table()) == []


def _extremes(dice: np.random.Generator) -> list[Extremes]:
    """Return tables of other values for each query."""
    known = np.ones(5, np.bool_)
    doubles = np.append(dice.normal(size=4), np.nan)
    return [
        Extremes(Column(dice.integers(-9, 9, 5), known), known, largest=False),
        Extremes(Column(doubles, known), known, largest=True),
    ]


def _rows(dice: np.random.Generator, limbs: int) -> WindowRows:
    """Return rows with counts of 64 bits, of some limbs, or (0) of Python integers."""
    keys = dice.integers(0, (3, 4, 3), (SIZE, 3))
    counts = dice.integers(-(2**40), 2**40, (SIZE, 3))
    if limbs == 0:
        counts = counts.astype(object) ** dice.integers(1, 4, (SIZE, 3)).astype(object)
    elif limbs > 1:
        counts = dice.integers(-(2**63), 2**63, (SIZE, 3, limbs)).view(np.uint64)
    sums = dice.integers(-5, 5, (SIZE, 1)).astype(np.float64)
    ranks = dice.integers(0, 3, (SIZE, 2))
    ranks[dice.random((SIZE, 2)) < 0.4] = NO_RANK
    return WindowRows(keys, counts, sums, dice.integers(0, 9, (SIZE, 1)), ranks)


def _plain(parts: Sequence[PartialRows]) -> list[str]:
    """Return rows as text, in one order."""
    found = []
    for part in parts:
        names = [part.queries[n].name for n in part.query.tolist()]
        groups = part.groups.take(pa.array(part.group)).to_pylist()
        columns: list[list[object]] = []
        for column in part.columns:
            match column:
                case Integers():
                    columns.append(to_python(column).tolist())
                case ScaledDoubles(mantissas, exponents):
                    columns += [mantissas.tolist(), exponents.tolist()]
                case StateExtremes(values, known):
                    columns += [values.tolist(), known.tolist()]
        found += list(zip(names, groups, part.window.tolist(), *columns, strict=True))
    return sorted(map(repr, found))
