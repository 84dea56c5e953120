"""Partial rows as columns: merging them, and their form as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.executors.output.partial_rows import (
    ExtremeKind,
    PartialRows,
    Shape,
    merge,
    shape_of,
)
from elsinore.executors.output.state_columns import (
    Extremes,
    ScaledDoubles,
    StateColumn,
    WideExtremes,
)
from elsinore.executors.output.wire import WIRE_SCHEMA, Place, from_arrow, to_arrow
from elsinore.numbers.exact_columns import Integers, from_limbs, to_python
from elsinore.query.load_workload import read_workload
from elsinore.query.query_keys import QueryKey
from elsinore.template.measures import measure_queries
from tests.draws import draws
from tests.golden_cases import stream_schema

QUERIES = read_workload(
    """
    QUERY counts RETURN COUNT(*) PATTERN A+ WITHIN 10 SLIDE 5;
    QUERY both RETURN COUNT(*) PATTERN SEQ(A a, A b) WITHIN 20;
    QUERY all RETURN AVG(A.y), SUM(A.x), MIN(A.x), MIN(A.y), MAX(A.y) PATTERN A+ WITHIN 10;
    QUERY same RETURN MAX(A.y), AVG(A.y), SUM(A.x), MIN(A.x), MIN(A.y) PATTERN A+ WITHIN 30;
    QUERY others RETURN MAX(A.x), SUM(A.y) PATTERN A+ WITHIN 10;
    """,
    stream_schema({"A": {"x": "long", "y": "double"}}),
).queries
MEASURES = read_workload(
    """
    QUERY best RETURN MAX(TOTAL(A.x)), MIN(LENGTH / 2), MIN(TOTAL(A.y) - 1) PATTERN A+ WITHIN 10;
    """,
    stream_schema({"A": {"x": "long", "y": "double"}}),
).queries
QUERIES = (*QUERIES, *(part for query in MEASURES for part in measure_queries(query)))
BY_NAME = {query.name: query for query in QUERIES}
PLACES = {query.key: Place(7 + n) for n, query in enumerate(BY_NAME.values())}
cases = settings(max_examples=draws(60, 2_000))

#: One row: query, group, window, integers, sums, extremes.
Row = tuple[str, str, int, tuple[int, ...], tuple[float, ...], tuple[float | None, ...]]

integers = st.integers(-2, 2) | st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**600), 2**600)
longs = st.none() | st.integers(-(2**63), 2**63 - 1)
wides = st.none() | st.integers(-(2**93), 2**93) | st.integers(-(2**33), 2**33)
floats = st.none() | st.floats().map(lambda value: value + 0.0)
VALUES = {ExtremeKind.LONG: longs, ExtremeKind.WIDE: wides, ExtremeKind.DOUBLE: floats}


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    found = []
    for name in draw(st.lists(st.sampled_from([*BY_NAME]), max_size=12)):
        shape = shape_of(BY_NAME[name])
        group = draw(st.sampled_from(["[]", '["ä"]', "[1, null]"]))
        own = tuple(draw(integers) for _ in range(shape.integers))
        sums = tuple(float(draw(st.integers(-99, 99))) for _ in range(shape.sums))
        least = tuple(draw(VALUES[kind]) for kind, _ in shape.extremes)
        found.append((name, group, draw(st.integers(-1, 1)), own, sums, least))
    return found


def part_of(given_rows: Sequence[Row]) -> PartialRows:
    """Rows of one shape."""
    names = [*dict.fromkeys(row[0] for row in given_rows)]
    groups = [*dict.fromkeys(row[1] for row in given_rows)]
    shape = shape_of(BY_NAME[names[0]])
    columns: list[StateColumn] = []
    for n in range(shape.integers):
        held = b"".join(row[3][n].to_bytes(80, "little", signed=True) for row in given_rows)
        columns += from_limbs(np.frombuffer(held, np.uint64).reshape(-1, 1, 10))
    for n in range(shape.sums):
        sums = np.array([row[4][n] for row in given_rows])
        columns.append(ScaledDoubles.of(sums, np.zeros(sums.size, np.int64)))
    for n, (kind, largest) in enumerate(shape.extremes):
        columns.append(_extremes([row[5][n] for row in given_rows], kind, largest))
    return PartialRows(
        tuple(BY_NAME[name] for name in names),
        pa.array(groups, pa.string()),
        np.array([names.index(row[0]) for row in given_rows], np.int32),
        np.array([groups.index(row[1]) for row in given_rows], np.int32),
        np.array([row[2] for row in given_rows], np.int64),
        tuple(columns),
    )


def _extremes(values: Sequence[Any], kind: ExtremeKind, largest: bool) -> StateColumn:
    known = np.array([value is not None for value in values])
    if kind is ExtremeKind.WIDE:
        parts = np.array([divmod(value or 0, 2**32) for value in values], np.int64)
        return WideExtremes.of(parts[:, 0], parts[:, 1], known, largest=largest)
    filled: np.ndarray = np.array(
        [0 if value is None else value for value in values],
        np.float64 if kind is ExtremeKind.DOUBLE else np.int64,
    )
    return Extremes.of(filled, known, largest=largest)


def parts_of(given_rows: Sequence[Row], cut: int = 0) -> list[PartialRows]:
    """Rows of any shapes, in several parts."""
    by_shape: dict[tuple[Shape, bool], list[Row]] = {}
    for at, row in enumerate(given_rows):
        by_shape.setdefault((shape_of(BY_NAME[row[0]]), at < cut), []).append(row)
    return [part_of(own) for own in by_shape.values()]


def plain(parts: Sequence[PartialRows]) -> list[tuple[Any, ...]]:
    """The rows in one order; NaN is text, and sums are fractions."""
    found: list[tuple[Any, ...]] = []
    for part in parts:
        columns = []
        for column in part.columns:
            match column:
                case Integers():
                    columns.append(to_python(column).tolist())
                case ScaledDoubles():
                    columns.append(list(map(Fraction, column.to_doubles().tolist())))
                case Extremes(values, known):
                    columns.append(_known(values, known))
                case WideExtremes(known=known):
                    columns.append(_known(to_python(column.to_integers()), known))
        for at in range(len(part)):
            name, group = part.queries[part.query[at]].name, part.groups[int(part.group[at])]
            key = name, group.as_py(), int(part.window[at])
            found.append((*key, *(column[at] for column in columns)))
    return sorted(found, key=repr)


def _known(values: np.ndarray, known: np.ndarray) -> list[str | None]:
    cells = zip(values.tolist(), known.tolist(), strict=True)
    return [repr(value) if is_known else None for value, is_known in cells]


def merged(given_rows: Sequence[Row]) -> list[Row]:
    """The rows with equal keys, added up by Python."""
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in given_rows:
        found.setdefault(row[:3], []).append(row)
    return [
        (
            *key,
            tuple(map(sum, zip(*(row[3] for row in own), strict=True))),
            tuple(map(sum, zip(*(row[4] for row in own), strict=True))),
            tuple(
                _extreme([row[5][n] for row in own], largest)
                for n, (_, largest) in enumerate(shape_of(BY_NAME[key[0]]).extremes)
            ),
        )
        for key, own in found.items()
    ]


def _extreme(values: Sequence[float | None], largest: bool) -> float | None:
    """NaN only if there is no number, None only if there is no value."""
    known = [value for value in values if value is not None]
    numbers = [value for value in known if value == value]
    if numbers:
        return max(numbers) if largest else min(numbers)
    return known[0] if known else None


def test_shapes_follow_from_queries() -> None:
    assert shape_of(BY_NAME["counts"]) == shape_of(BY_NAME["both"]) == Shape(1, 0, ())
    long, wide, double = ExtremeKind.LONG, ExtremeKind.WIDE, ExtremeKind.DOUBLE
    extremes = ((long, False), (double, False), (double, True))
    assert shape_of(BY_NAME["all"]) == Shape(4, 1, extremes)
    assert shape_of(BY_NAME["same"]) == shape_of(BY_NAME["all"])
    assert shape_of(BY_NAME["others"]) == Shape(2, 1, ((long, True),))
    assert shape_of(BY_NAME["best extremes 1"]) == Shape(1, 0, ((wide, True),))
    assert shape_of(BY_NAME["best extremes 2"]) == Shape(1, 0, ((wide, False),))
    assert shape_of(BY_NAME["best extremes 3"]) == Shape(1, 0, ((double, False),))


# ---- merging


@cases
@given(rows(), st.integers(0, 12))
def test_merging_is_adding(given_rows: list[Row], cut: int) -> None:
    wanted = merged(given_rows)
    found = merge(parts_of(given_rows, cut))
    assert plain(found) == plain(parts_of(wanted))
    assert plain(merge([*merge(parts_of(given_rows[:cut])), *merge(parts_of(given_rows[cut:]))])) \
        == plain(found)  # fmt: skip
    assert len({shape_of(part.queries[0]) for part in found}) == len(found)


def test_rows_without_equals_are_not_moved() -> None:
    part = part_of([("counts", "[2]", 5, (1,), (), ()), ("counts", "[1]", 5, (2,), (), ())])
    assert merge([part]) == [part]
    assert merge([part, part.take(np.empty(0, np.int64))]) == [part]
    assert merge([]) == merge([part.take(np.empty(0, np.int64))]) == []


def test_parts_that_share_groups_keep_them() -> None:
    part = part_of([("counts", "[2]", 5, (1,), (), ()), ("counts", "[1]", 5, (2,), (), ())])
    (found,) = merge([part, part])
    assert found.groups is part.groups
    assert plain([found]) == [("counts", "[1]", 5, 4), ("counts", "[2]", 5, 2)]


# ---- Arrow tables


@cases
@given(rows(), st.integers(0, 12))
def test_tables_have_the_same_rows(given_rows: list[Row], cut: int) -> None:
    parts = parts_of(given_rows, cut)
    table = to_arrow(parts, PLACES)
    assert (table.schema, table.num_rows) == (WIRE_SCHEMA, len(given_rows))
    queries = {PLACES[query.key]: query for query in BY_NAME.values()}
    assert plain(from_arrow(table, queries)) == plain(parts)
    # Slices, chunks and columns that may be NULL, as Spark returns them.
    nullable = pa.schema([field.with_nullable(True) for field in WIRE_SCHEMA])
    again = pa.concat_tables([table.cast(nullable)[:cut], table.cast(nullable)[cut:]])
    assert plain(from_arrow(again, queries)) == plain(parts)
    batches = [batch for batch in again.to_batches(max_chunksize=2) if batch.num_rows]
    assert plain(from_arrow(pa.Table.from_batches(batches, nullable), queries)) == plain(parts)


def test_only_wide_rows_have_bytes() -> None:
    part = part_of([("others", "[]", n, (n, 2**80 * (n == 1)), (0.0,), (None,)) for n in range(3)])
    table = to_arrow([part], {QueryKey("others"): Place(3)})
    assert table["wide"].to_pylist() == [None, [None, (2**80).to_bytes(16, "little")], None]
    assert table["integers"].to_pylist() == [[0, 0], [1, 0], [2, 0]]
    assert table["extremes"].to_pylist() == [[None]] * 3


@pytest.mark.parametrize("query", [0, 2**31 - 1])
def test_rows_of_panes_keep_their_place(query: int) -> None:
    first, second = (
        part_of([(name, "[]", 0, (n,), (), ())]) for n, name in enumerate(["counts", "both"])
    )
    places = {QueryKey("counts"): Place(query, 0, 32_766), QueryKey("both"): Place(query, 1, 0)}
    table = to_arrow([first, second], places)
    found = from_arrow(table, {place: BY_NAME[key.query] for key, place in places.items()})
    assert plain(found) == [("both", "[]", 0, 1), ("counts", "[]", 0, 0)]


def test_no_rows() -> None:
    table = to_arrow([], {})
    assert (table.num_rows, table.schema) == (0, WIRE_SCHEMA)
    assert from_arrow(table, {}) == []
    assert from_arrow(WIRE_SCHEMA.empty_table().combine_chunks(), {}) == []


@pytest.mark.parametrize("name", BY_NAME)
def test_a_query_without_rows_has_columns(name: str) -> None:
    part = PartialRows.none_of(BY_NAME[name])
    assert len(part) == 0
    assert all(len(column) == 0 for column in part.columns)
    zero = [type(column).joined([column, column.zero(1)]) for column in part.columns]
    assert [len(column) for column in zero] == [1] * len(part.columns)
    shape = shape_of(BY_NAME[name])
    assert len(part.columns) == shape.integers + shape.sums + len(shape.extremes)
