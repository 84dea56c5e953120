"""Lists of values: as Arrow tables, merged, and percentiles by their definition."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elsinore.executors.output.wire as wire
from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import participation_query
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.value_lists import ValueLists
from elsinore.executors.output.wire import Place, from_arrow, to_arrow
from elsinore.executors.plan import RuntimePlan
from elsinore.numbers.exact_columns import Integers
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

QUERY = participation_query(
    read_workload(
        "QUERY q RETURN MEDIAN(EACH A.x), PERCENTILE(EACH A.y, 0.5) PATTERN A+ WITHIN 10;",
        stream_schema({"A": {"x": "long", "y": "double"}}),
    ).queries[0]
)
PLACES = {QUERY.key: Place(3)}

longs = st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=7))
doubles = st.lists(st.lists(st.floats() | st.floats(-3, 3), max_size=7))
shares = st.sampled_from(["0", "1", "0.5", "0.1", "0.7", "0.3333", "0.999999999999999"])


def lists_of(rows: list[list[Any]], kind: type) -> ValueLists:
    numbers = [n for n, values in enumerate(rows) for _ in values]
    flat = [value for values in rows for value in values]
    return ValueLists.of(np.array(numbers, np.int64), np.array(flat, kind), len(rows))


def ranked(values: list[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (value != value, value))


@given(st.one_of(longs, doubles), shares)
def test_percentiles_are_values_at_ranks(rows: list[list[Any]], share: str) -> None:
    kind = np.float64 if any(isinstance(v, float) for values in rows for v in values) else np.int64
    found, known = lists_of(rows, kind).percentiles(Fraction(share))
    assert known.tolist() == [bool(values) for values in rows]
    for value, values in zip(found.tolist(), rows, strict=True):
        if values:
            wanted = ranked(values)[max(math.ceil(Fraction(share) * len(values)), 1) - 1]
            assert value == wanted or (value != value and wanted != wanted)


@given(st.one_of(longs, doubles))
def test_medians_are_the_nearest_doubles(rows: list[list[Any]]) -> None:
    kind = np.float64 if any(isinstance(v, float) for values in rows for v in values) else np.int64
    found, known = lists_of(rows, kind).medians()
    assert known.tolist() == [bool(values) for values in rows]
    for value, values in zip(found.tolist(), rows, strict=True):
        if not values:
            continue
        low, high = ranked(values)[(len(values) - 1) // 2], ranked(values)[len(values) // 2]
        if math.isfinite(low) and math.isfinite(high):
            assert value == float((Fraction(low) + Fraction(high)) / 2)
        else:
            assert value == low + high or value != value


def part(xs: list[list[int]], ys: list[list[float]], windows: list[int]) -> PartialRows:
    size = len(windows)
    zeros = np.zeros(size, np.int32)
    columns = (Integers(np.ones(size, np.int64)), lists_of(xs, np.int64), lists_of(ys, np.float64))
    return PartialRows((QUERY,), pa.array(["[]"]), zeros, zeros, np.array(windows), columns)


def contents(parts: list[PartialRows]) -> dict[int, tuple[list[Any], list[Any]]]:
    """By window, the sorted values of both lists."""
    found = {}
    for one in parts:
        for at, window in enumerate(one.window.tolist()):
            sides = [column for column in one.columns if isinstance(column, ValueLists)]
            found[window] = tuple(
                ranked(side.values[side.offsets[at] : side.offsets[at + 1]].tolist())
                for side in sides
            )
    return found  # type: ignore[return-value]


def test_rows_of_tasks_are_merged_after_they_were_sent() -> None:
    first = part([[1, 5], []], [[0.5], [math.inf, 2.0]], [0, 1])
    other = part([[2**63 - 1], [-7]], [[], [0.25]], [1, 2])
    sent = [
        one
        for each in (first, other)
        for one in from_arrow(to_arrow([each], PLACES), {Place(3): QUERY})
    ]
    assert contents(merge(sent)) == {
        0: ([1, 5], [0.5]), 1: ([2**63 - 1], [2.0, math.inf]), 2: ([-7], [0.25]),
    }  # fmt: skip
    assert contents(merge([PartialRows.none_of(QUERY), *sent])) == contents(merge(sent))


def test_too_many_values_are_an_error_that_names_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_LISTED", 3)
    table = to_arrow([part([[1, 5]], [[0.5, 1.5]], [0])], PLACES)
    with pytest.raises(QueryError, match="query q: more than 20,000,000 events or values"):
        from_arrow(table, {Place(3): QUERY})


@pytest.mark.parametrize("function", ["MEDIAN(EACH A.x * A.x)", "PERCENTILE(EACH A.x * A.x, 0.5)"])
def test_values_beyond_64_bits_are_an_error_with_a_fix(function: str) -> None:
    schema = stream_schema({"A": {"x": "long"}})
    workload = read_workload(f"QUERY q RETURN {function} PATTERN A+ WITHIN 10;", schema)
    events = [EventTable.of(schema, [("A", 1, {"x": x})]) for x in (3 * 10**9, 4 * 10**9)]
    fits, exceeds = (RuntimePlan.of(workload.queries).run(each) for each in events)
    assert finish(workload, [*chain.from_iterable(fits)])[0].values[0][1] == 9 * 10**18
    with pytest.raises(QueryError, match=r"exceeds 64 bits \(compute with doubles, as in"):
        list(exceeds)


def test_columns_obey_their_laws() -> None:
    one, other = lists_of([[3], [], [1, 2]], np.int64), lists_of([[], [9], [0]], np.int64)
    both = one.plus(other)
    assert np.split(both.values, both.offsets[1:-1])[2].tolist() == [1, 2, 0]
    assert (both.offsets.tolist(), both.values.tolist()) == ([0, 1, 2, 5], [3, 9, 1, 2, 0])
    assert one.plus(one.zero(3)).values.tolist() == one.values.tolist()
    assert one.take(np.array([2, 0])).values.tolist() == [1, 2, 3]
    assert one.merged(np.array([0, 2])).offsets.tolist() == [0, 1, 3]
    with pytest.raises(AssertionError, match="not multiplied"):
        one.times(Integers(np.ones(3, np.int64)))
