"""Partial rows: the states of aggregates by query, group and window, as columns of numbers.

Executors return partial rows. Rows of the same query, group and window that come from different
partitions, chunks or tasks are merged before they become results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.executors.aggregates import accumulators_of, exceeds_64_bits, needs_of
from elsinore.executors.kinds import Kind
from elsinore.executors.output.exact_states import ExactSums, IntegerExtremes
from elsinore.executors.output.state_columns import (
    Extremes,
    ScaledDoubles,
    StateColumn,
    WideExtremes,
)
from elsinore.executors.output.value_lists import ValueLists
from elsinore.numbers.exact_columns import Integers
from elsinore.query.bound import BoundAggregate, BoundQuery, of_query
from elsinore.sorting import ascending


class ExtremeKind(Enum):
    """The numbers of a column of extremes."""

    LONG = auto()  # 64 bits
    WIDE = auto()  # integers in two parts
    DOUBLE = auto()
    INTEGER = auto()  # integers of any size


class Shape(NamedTuple):
    """The columns of the partial rows of a query, in their order."""

    integers: int  #: number of columns of integers; the first one counts trends
    sums: int  #: number of columns of sums of doubles
    #: for each column of extremes, its numbers, and whether it has maxima.
    extremes: tuple[tuple[ExtremeKind, bool], ...]
    exact: int = 0  #: number of columns of exact sums
    #: for each column of lists of values, whether these are doubles.
    lists: tuple[bool, ...] = ()

    def no_rows(self) -> tuple[StateColumn, ...]:
        """Return columns without any row."""
        longs, doubles, known = np.empty(0, np.int64), np.empty(0), np.empty(0, np.bool_)
        extremes: list[StateColumn] = []
        for kind, largest in self.extremes:
            if kind is ExtremeKind.WIDE:
                extremes.append(WideExtremes.of(longs, longs, known, largest=largest))
            elif kind is ExtremeKind.INTEGER:
                extremes.append(IntegerExtremes(Integers(longs), known, largest))
            else:
                values = doubles if kind is ExtremeKind.DOUBLE else longs
                extremes.append(Extremes.of(values, known, largest=largest))
        integers = [Integers(longs)] * self.integers
        sums = [ScaledDoubles.of(doubles, longs)] * self.sums
        exact = [ExactSums(Integers(longs), 0)] * self.exact
        lists = (ValueLists.none_of(0, doubles=each) for each in self.lists)
        return (*integers, *sums, *extremes, *exact, *lists)


@of_query
def shape_of(query: BoundQuery) -> Shape:
    """Return the columns of the partial rows of a query."""
    accumulators = accumulators_of(query)
    integers, sums, extremes = accumulators.columns
    kinds = {
        accumulator: _kind_of(item) for item in query.counted for accumulator in needs_of(item)
    }
    sides = tuple((kinds[each], each.largest) for each in extremes)
    lists = tuple(each.kind is Kind.DOUBLE for each in accumulators.lists)
    return Shape(len(integers), len(sums), sides, len(accumulators.exact), lists)


def _kind_of(item: BoundAggregate) -> ExtremeKind:
    """Return the numbers of the extremes of an aggregate."""
    if item.measure is not None and not item.measure.adds_doubles:
        return ExtremeKind.WIDE
    if item.measure is None and exceeds_64_bits(item.attribute):
        return ExtremeKind.INTEGER
    is_double = item.measure is not None or item.type is AttributeType.DOUBLE
    return ExtremeKind.DOUBLE if is_double else ExtremeKind.LONG


@dataclass(frozen=True, eq=False)
class PartialRows:
    """R partial rows of queries that have the same shape."""

    queries: tuple[BoundQuery, ...]  #: one or more; their keys differ
    groups: pa.Array  #: string[G], distinct groups as JSON arrays, in the order of GROUP-BY
    query: np.ndarray  #: int32[R], positions in `queries`
    group: np.ndarray  #: int32[R], positions in `groups`
    window: np.ndarray  #: int64[R], window numbers
    #: integers, sums of doubles, extremes, exact sums and lists, see `Shape`.
    columns: tuple[StateColumn, ...]
    #: int64[R], the ends of windows that are sessions, whose `window` is their start; None if no
    #: query has sessions, or before `session_bounds.bounded`.
    ends: np.ndarray | None = None

    @classmethod
    def none_of(cls, query: BoundQuery) -> PartialRows:
        """Return no rows of a query."""
        no_numbers = np.empty(0, np.int32)
        return cls(
            (query,),
            pa.array([], pa.string()),
            no_numbers,
            no_numbers,
            np.empty(0, np.int64),
            shape_of(query).no_rows(),
        )

    def __len__(self) -> int:
        return self.window.size

    def take(self, rows: np.ndarray) -> PartialRows:
        """Return some rows; `rows` is int64[N]."""
        return PartialRows(
            self.queries,
            self.groups,
            self.query[rows],
            self.group[rows],
            self.window[rows],
            tuple(column.take(rows) for column in self.columns),
            None if self.ends is None else self.ends[rows],
        )

    @classmethod
    def joined(cls, parts: Sequence[PartialRows]) -> PartialRows:
        """Return the rows of one or more parts of the same shape as one part.

        Queries are identified by name.
        """
        if len(parts) == 1:
            return parts[0]
        queries = {query.key: query for part in parts for query in part.queries}
        numbers = {name: number for number, name in enumerate(queries)}
        query = [
            np.array([numbers[each.key] for each in part.queries], np.int32)[part.query]
            for part in parts
        ]
        groups, group = joined_groups(parts)
        columns: list[Any] = list(zip(*(part.columns for part in parts), strict=True))
        return cls(
            tuple(queries.values()),
            groups,
            np.concatenate(query),
            np.concatenate(group),
            np.concatenate([part.window for part in parts]),
            tuple(type(each[0]).joined(each) for each in columns),
            _joined_ends(parts),
        )


def _joined_ends(parts: Sequence[PartialRows]) -> np.ndarray | None:
    """Return the ends of all rows; 0 for rows without, and None if no part has ends."""
    if all(part.ends is None for part in parts):
        return None
    return np.concatenate(
        [np.zeros(len(part), np.int64) if part.ends is None else part.ends for part in parts]
    )


def joined_groups(parts: Sequence[PartialRows]) -> tuple[pa.Array, list[np.ndarray]]:
    """Return the distinct groups of all parts, and for each part its rows' positions in them."""
    first = parts[0].groups
    if all(part.groups is first for part in parts):
        return first, [part.group for part in parts]
    encoded = pa.concat_arrays([part.groups for part in parts]).dictionary_encode()
    codes, begin, found = np.asarray(encoded.indices), 0, []
    for part in parts:
        found.append(codes[begin : begin + len(part.groups)][part.group])
        begin += len(part.groups)
    return encoded.dictionary, found


def by_shape(parts: Sequence[PartialRows]) -> list[PartialRows]:
    """Return the rows of some parts, one part per shape that has rows."""
    shapes: dict[Shape, list[PartialRows]] = {}
    for part in parts:
        if len(part):
            shapes.setdefault(shape_of(part.queries[0]), []).append(part)
    return [PartialRows.joined(own) for own in shapes.values()]


def merge(parts: Sequence[PartialRows]) -> list[PartialRows]:
    """Return one row per query, group and window: the values over the trends of all their rows.

    Args:
        parts: partial rows, in any order and of any shapes.

    Returns:
        One part per shape that has rows.
    """
    return [_merged(rows) for rows in by_shape(parts)]


#: Number of rows that are merged at once, or more if as many are merged already.
_AT_ONCE = 100_000


def merge_all(parts: Iterable[Sequence[PartialRows]]) -> list[PartialRows]:
    """Return the same as `merge` for many parts, whose rows need not fit in memory together."""
    kept, waiting, held, size = list[PartialRows](), list[PartialRows](), 0, 0
    for part in parts:
        waiting += part
        size += sum(map(len, part))
        if size > max(_AT_ONCE, held):
            kept, waiting, size = merge([*kept, *waiting]), [], 0
            held = sum(map(len, kept))
    return merge([*kept, *waiting])


def _merged(rows: PartialRows) -> PartialRows:
    """Return the rows of one part, merged."""
    keys = rows.query, rows.group, rows.window
    order = ascending(*keys)  # stable, so sums of doubles do not depend on other rows
    is_new = np.zeros(len(rows), np.bool_)
    is_new[:1] = True
    for key in keys:
        ranked = key[order]
        is_new[1:] |= ranked[1:] != ranked[:-1]
    if is_new.all():
        return rows
    begins = np.flatnonzero(is_new)
    firsts = order[begins]
    return PartialRows(
        rows.queries,
        rows.groups,
        rows.query[firsts],
        rows.group[firsts],
        rows.window[firsts],
        tuple(column.take(order).merged(begins) for column in rows.columns),
        None if rows.ends is None else rows.ends[firsts],
    )
