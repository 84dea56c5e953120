"""Adding the states of a group as numbers gives what merging their text gives."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest

from elsinore.executors.input.columns import Column
from elsinore.executors.input.weights import NO_RANK, Extremes
from elsinore.executors.output.window_rows import (
    Reading,
    WindowRows,
    group_tables,
    partial_tables,
)
from elsinore.executors.output.wire import PARTIAL_SCHEMA, merge_partials
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({"A": {"k": "long", "x": "long", "y": "double"}})
VALUES = np.array([-0.5, 2.0, 1e300, np.nan])
PARTITIONS, WINDOWS = 7, 3


@pytest.mark.parametrize("groups", [["[1]", "[2]"], ["[1]"], [f"[{n}]" for n in range(PARTITIONS)]])
def test_sums_of_numbers_are_those_of_text(groups: list[str]) -> None:
    dice = np.random.default_rng(len(groups))
    readings = _readings(groups)
    parts = [_rows(dice, limbs) for limbs in (1, 1, 2, 3)]
    added = [*group_tables(parts, readings)]
    text = [table for rows in parts for table in partial_tables(rows, readings)]
    assert _states(added) == _states(text)
    if len(groups) < PARTITIONS:
        assert sum(map(len, added)) < sum(map(len, text))


def test_a_sum_of_64_bit_counts_may_need_more() -> None:
    rows = _rows(np.random.default_rng(1), 1)
    rows.counts[:] = 2**63 - 1
    added = pa.concat_tables(group_tables([rows], _readings(["[1]"])))
    counts = {int(text) for texts in added["counts"].to_pylist() for text in texts}
    assert max(counts) > 2**64


def _readings(groups: list[str]) -> list[Reading]:
    texts = pa.array([groups[n % len(groups)] for n in range(PARTITIONS)])
    known = np.ones(VALUES.size, np.bool_)
    both = [Extremes(Column(VALUES, known), known, largest=largest) for largest in (False, True)]
    asked = "RETURN A.k, COUNT(*), SUM(A.x), SUM(A.y), MIN(A.y), MAX(A.y) PATTERN A+"
    query = bound_query(f"{asked} GROUP-BY A.k WITHIN 10", SCHEMA)
    return [Reading(query, texts, both)]


def _rows(dice: np.random.Generator, limbs: int) -> WindowRows:
    """Return rows of all windows of all partitions; sums are integers, so that they are exact."""
    keys = np.array([(p, w, 0) for p in range(PARTITIONS) for w in range(WINDOWS)], np.int64)
    size = len(keys)
    counts = dice.integers(-(2**40), 2**40, (size, 3))
    if limbs > 1:
        counts = dice.integers(0, 2**63, (size, 3, limbs)).astype(np.uint64)
    ranks = dice.integers(0, VALUES.size, (size, 2))
    ranks[dice.random((size, 2)) < 0.4] = NO_RANK
    sums = dice.integers(-5, 5, (size, 1)).astype(np.float64)
    return WindowRows(keys, counts, sums, dice.integers(0, 9, (size, 1)), ranks)


def _states(tables: Iterable[pa.Table]) -> list[tuple[object, ...]]:
    merged = merge_partials(pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables]))
    rows = []
    for row in merged.to_pylist():
        sums = [state["mantissa"] * 2.0 ** state["exponent"] for state in row["sums"]]
        extremes = row["minima"], row["maxima"]
        rows.append((row["group"], row["window_start"], row["counts"], sums, extremes))
    return sorted(rows, key=repr)
