"""Convert the totals of windows to partial rows, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.executors.input.weights import Extremes
from elsinore.executors.output.exact_states import IntegerExtremes
from elsinore.executors.output.partial_rows import (
    ExtremeKind,
    PartialRows,
    Shape,
    by_shape,
    merge,
    shape_of,
)
from elsinore.executors.output.state_columns import Extremes as StateExtremes
from elsinore.executors.output.state_columns import ScaledDoubles, StateColumn
from elsinore.executors.output.value_lists import ValueLists
from elsinore.numbers.exact_columns import from_limbs
from elsinore.query.bound import BoundQuery


@dataclass(frozen=True)
class WindowRows:
    """The totals of R windows, of several queries."""

    keys: np.ndarray  #: int64[R, 3]: partition, window number, number of the query
    #: int64[R, *], counts and other integers. If one needs more bits: uint64[R, *, L] in two's
    #: complement, or Python integers.
    counts: np.ndarray
    #: float64[R, *] and int64[R, *]; a sum of doubles is `sum * 2**exponent`.
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray  #: int64[R, *], the ranks of extremes

    @property
    def owners(self) -> np.ndarray:
        """Return the number of the query of each row, int64[R]."""
        return self.keys[:, 2]

    def where(self, chosen: np.ndarray) -> WindowRows:
        """Return some rows, chosen by number or by a bool[R]."""
        return WindowRows(*(column[chosen] for column in self._columns))

    def with_trend(self) -> WindowRows:
        """Return the rows in which any count is not 0, of whatever query it is."""
        counts = self.counts
        return self.where(np.flatnonzero(counts.any(axis=tuple(range(1, counts.ndim)))))

    @classmethod
    def joined(cls, parts: Sequence[WindowRows]) -> WindowRows:
        """Return the rows of one or more parts as one; none has Python integers."""
        if len(parts) == 1:
            return parts[0]
        limbs = {part.counts.shape[2] if part.counts.ndim == 3 else 1 for part in parts}
        if len(limbs) > 1:
            parts = [replace(part, counts=_widened(part.counts, max(limbs))) for part in parts]
        columns = zip(*(part._columns for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))

    @property
    def _columns(self) -> tuple[np.ndarray, ...]:
        return self.keys, self.counts, self.sums, self.exponents, self.ranks


def _widened(counts: np.ndarray, limbs: int) -> np.ndarray:
    """Return counts of at most `limbs` limbs as uint64[R, K, limbs] in two's complement."""
    narrow = counts.view(np.uint64)[..., None] if counts.ndim == 2 else counts
    found = np.empty((*narrow.shape[:2], limbs), np.uint64)
    found[..., : narrow.shape[2]] = narrow
    found[..., narrow.shape[2] :] = (narrow[..., -1:].view(np.int64) >> 63).view(np.uint64)
    return found


class Groups(NamedTuple):
    """The groups of P partitions."""

    texts: pa.Array  #: string[G], the distinct groups as JSON arrays
    numbers: np.ndarray  #: int32[P], the group of each partition

    @classmethod
    def of(cls, texts: pa.Array) -> Groups:
        """Return the groups, given the group of each partition."""
        encoded = texts.dictionary_encode()
        return cls(encoded.dictionary, np.asarray(encoded.indices))

    @property
    def are_shared(self) -> bool:
        """Return whether several partitions have the same group."""
        return len(self.texts) < self.numbers.size


@dataclass(frozen=True)
class Reading:
    """The meaning of the rows of one query.

    Their columns are the query's accumulators and extremes, in order, with minima before maxima.
    """

    query: BoundQuery  #: the query
    groups: Groups  #: the group of each partition
    extremes: Sequence[Extremes]  #: the values of the ranks, by column

    @property
    def columns(self) -> tuple[Shape, int]:
        """Return a key; rows of readings with equal keys are converted together."""
        return shape_of(self.query), id(self.groups)


def partial_rows(parts: Iterable[WindowRows], readings: Sequence[Reading]) -> list[PartialRows]:
    """Return rows of windows as partial rows, one per query, group and window.

    Args:
        parts: the totals of windows, each window of a partition and query once.
        readings: the meaning of the rows, by number of the query.
    """
    alike: dict[tuple[Shape, int], list[int]] = {}
    for number, reading in enumerate(readings):
        alike.setdefault(reading.columns, []).append(number)
    found = []
    for rows in parts:
        for numbers in alike.values():
            position = np.full(len(readings), -1, np.int32)
            position[numbers] = np.arange(len(numbers))
            query = position[rows.owners]
            mine = rows if len(alike) == 1 else rows.where(query >= 0)
            if mine.keys.size:
                own = [readings[number] for number in numbers]
                found.append(_partial_rows(mine, query[query >= 0], own))
    is_shared = any(reading.groups.are_shared for reading in readings)
    return merge(found) if is_shared else by_shape(found)


def _partial_rows(rows: WindowRows, query: np.ndarray, readings: Sequence[Reading]) -> PartialRows:
    """Return the partial rows of readings with equal `Reading.columns`.

    Args:
        rows: one or more rows.
        query: int32[R], the position of the reading of each row.
        readings: the meaning of the rows.
    """
    shape, groups = shape_of(readings[0].query), readings[0].groups
    sums = zip(rows.sums.T[: shape.sums], rows.exponents.T, strict=False)
    columns: list[StateColumn] = [
        *from_limbs(rows.counts[:, : shape.integers]),
        *(ScaledDoubles.of(*each) for each in sums),
        *(
            _extremes_of_ranks(
                rows.ranks[:, n], query, [each.extremes[n].distinct for each in readings], side
            )
            for n, side in enumerate(shape.extremes)
        ),
        # `participation` fills them.
        *(ValueLists.none_of(len(rows.keys), doubles=each) for each in shape.lists),
    ]
    return PartialRows(
        tuple(reading.query for reading in readings),
        groups.texts,
        query,
        groups.numbers[rows.keys[:, 0]],
        rows.keys[:, 1].copy(),
        tuple(columns),
    )


def _extremes_of_ranks(
    ranks: np.ndarray,
    query: np.ndarray,
    tables: Sequence[np.ndarray],
    side: tuple[ExtremeKind, bool],
) -> StateColumn:
    """Return the values of ranks.

    Args:
        ranks: int64[R].
        query: int32[R], the number of the table of each row.
        tables: the values of the ranks; queries of one attribute share a table.
        side: the numbers of the values, and whether they are maxima.
    """
    (kind, largest), distinct = side, {id(table): table for table in tables}
    if kind is ExtremeKind.INTEGER:
        return _integer_extremes(ranks, query, tables, largest=largest)
    if len(distinct) == 1:
        return StateExtremes.from_ranks(ranks, tables[0], largest=largest)
    numbers = {name: number for number, name in enumerate(distinct)}
    table_of = np.array([numbers[id(table)] for table in tables])[query]
    values, known = np.zeros(ranks.size, tables[0].dtype), np.zeros(ranks.size, np.bool_)
    for number, table in enumerate(distinct.values()):
        rows = np.flatnonzero((table_of == number) & (ranks < table.size))
        values[rows], known[rows] = table[ranks[rows]], True
    return StateExtremes.of(values, known, largest=largest)


def _integer_extremes(
    ranks: np.ndarray, query: np.ndarray, tables: Sequence[np.ndarray], *, largest: bool
) -> IntegerExtremes:
    """Return the values of ranks, integers of any size; see `_extremes_of_ranks`."""
    first = np.cumsum([0, *(table.size for table in tables)])
    known = ranks < np.diff(first)[query]
    every = np.concatenate([table.astype(object) for table in tables])
    places = np.where(known, first[query] + np.where(known, ranks, 0), every.size)
    return IntegerExtremes.from_ranks(places, every, largest=largest)
