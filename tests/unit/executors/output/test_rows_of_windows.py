"""Rows of windows as columns of partial rows, compared with sums by Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.executors.input.columns import Column
from elsinore.executors.input.exact import ExactColumn
from elsinore.executors.input.weights import NO_RANK, Extremes
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import Extremes as StateExtremes
from elsinore.executors.output.state_columns import ScaledDoubles
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
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
SIZE = 200


@pytest.mark.parametrize("limbs", [1, 2, 5, 0])
@pytest.mark.parametrize("groups", [["[1]", "[2]", "[1]"], ["[1]", "[2]", "[3]"]])
def test_rows_of_windows_are_added_up_by_group(limbs: int, groups: list[str]) -> None:
    dice = np.random.default_rng(limbs)
    grouped = Groups.of(pa.array(groups))
    readings = [Reading(query, grouped, _extremes(dice)) for query in QUERIES]
    parts = [_rows(dice, limbs), _rows(dice, 1)]
    _, firsts = np.unique(np.concatenate([each.keys for each in parts]), axis=0, return_index=True)
    parts = [
        each.where(firsts[(firsts >= SIZE * n) & (firsts < SIZE * (n + 1))] - SIZE * n)
        for n, each in enumerate(parts)
    ]
    found = partial_rows(parts, readings)
    assert _plain(found) == _added_up(parts, readings, groups)
    assert {len(part.queries) for part in found} == {1, 2}


def test_a_sum_of_64_bit_counts_may_need_more() -> None:
    counts, nothing = np.full((3, 1), 2**63 - 1), np.zeros((3, 0))
    keys = np.array([[partition, 4, 0] for partition in range(3)])
    rows = WindowRows(keys, counts, nothing, nothing.astype(np.int64), nothing.astype(np.int64))
    (found,) = partial_rows([rows], [Reading(QUERIES[2], Groups.of(pa.array(["[1]"] * 3)), [])])
    assert _plain([found]) == [repr(("counts", "[1]", 4, 3 * (2**63 - 1)))]


def test_no_rows() -> None:
    readings = [Reading(QUERIES[2], Groups.of(pa.array(["[1]"])), [])]
    nothing = _rows(np.random.default_rng(1), 1).where(np.empty(0, np.int64))
    assert partial_rows([nothing], readings) == partial_rows([], readings) == []


def _added_up(
    parts: Sequence[WindowRows], readings: Sequence[Reading], groups: Sequence[str]
) -> list[str]:
    """Return the sums of rows by Python, as `_plain` does; sums of doubles are exact."""
    held: dict[tuple[str, str, int], list[list[Any]]] = {}
    for rows in parts:
        for at, (partition, window, owner) in enumerate(rows.keys.tolist()):
            reading = readings[owner]
            key = reading.query.name, groups[partition], window
            values: list[Any] = [_integer(n) for n in rows.counts[at]]
            if owner == 2:
                held.setdefault(key, []).append(values[:1])
                continue
            values.append(Fraction(float(rows.sums[at, 0])) * 2 ** int(rows.exponents[at, 0]))
            for n, extremes in enumerate(reading.extremes):
                rank = int(rows.ranks[at, n])
                known = rank < extremes.distinct.size
                values.append(extremes.distinct[rank].item() if known else None)
            held.setdefault(key, []).append(values)
    return sorted(repr((*key, *_total(each))) for key, each in held.items())


def _integer(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int.from_bytes(value.tobytes(), "little", signed=True)
    return int(value)


def _total(rows: list[list[Any]]) -> list[Any]:
    columns = list(zip(*rows, strict=True))
    found: list[Any] = [sum(column) for column in columns[:4]]
    for column, choose in zip(columns[4:], (min, max), strict=False):
        known = [value for value in column if value is not None]
        numbers = [value for value in known if value == value]
        found.append(choose(numbers) if numbers else known[0] if known else None)
    return found


def _extremes(dice: np.random.Generator) -> list[Extremes]:
    """Return tables of other values for each query."""
    known = np.ones(5, np.bool_)
    doubles = np.append(dice.normal(size=4), np.nan)
    return [
        Extremes(ExactColumn(Column(dice.integers(-9, 9, 5), known)), largest=False),
        Extremes(ExactColumn(Column(doubles, known)), largest=True),
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
                    scaled = zip(mantissas.tolist(), exponents.tolist(), strict=True)
                    columns.append([Fraction(m) * Fraction(2) ** e for m, e in scaled])
                case StateExtremes(values, known):
                    both = zip(values.tolist(), known.tolist(), strict=True)
                    columns.append([value if is_known else None for value, is_known in both])
        found += list(zip(names, groups, part.window.tolist(), *columns, strict=True))
    return sorted(map(repr, found))
