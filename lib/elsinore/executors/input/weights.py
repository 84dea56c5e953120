"""Compute what events add to the accumulators of several queries: columns of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.executors.aggregates import (
    Accumulator,
    Source,
    Weight,
    WeightColumns,
    accumulators_of,
)
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import digit_weights
from elsinore.executors.input.exact import ExactColumn, exact_values
from elsinore.executors.kinds import Kind
from elsinore.query.bound import BoundQuery

NO_RANK = int(np.iinfo(np.int64).max)


class Extremes:
    """The values of a MIN or MAX aggregate as ranks, where a smaller rank is more extreme.

    NaN ranks behind every number, so it is the result only if all values are NaN.

    Attributes:
        distinct: the value of each rank: int64[*] or float64[*], or Python's integers if one needs
            more bits.
        ranks: int64[N], `NO_RANK` for NULL.
    """

    def __init__(self, values: ExactColumn, *, largest: bool) -> None:
        used = values.column.known
        distinct, ranks = np.unique(values.numbers[used], return_inverse=True)
        numbers = int(np.count_nonzero(distinct == distinct))
        if largest:
            distinct[:numbers] = distinct[:numbers][::-1].copy()
            ranks = np.where(ranks < numbers, numbers - 1 - ranks, ranks)
        self.distinct = distinct
        self.ranks = np.full(used.size, NO_RANK, np.int64)
        self.ranks[used] = ranks


@dataclass(frozen=True)
class EventWeights:
    """Columns of weights of N events, in the order of a `WeightColumns`.

    Attributes:
        longs: int64[*, N].
        doubles: float64[*, N].
        ranks: int64[*, N].
        extremes: the values of the ranks, by `Accumulator.event_weight`.
    """

    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray
    extremes: dict[Accumulator, Extremes]

    def meanings(self, query: BoundQuery) -> list[Extremes]:
        """Return the values of the ranks of a query's extremes, in the order of its rows."""
        asked = accumulators_of(query).columns[Kind.RANK]
        return [self.extremes[each.event_weight] for each in asked]


def weigh_events(
    asked: WeightColumns, columns: EventColumns, rows: np.ndarray | None = None, *, first: int = 0
) -> EventWeights:
    """Return the columns of weights that some tables need.

    Args:
        asked: the columns, numbered.
        columns: the events.
        rows: int64[N], the events to weigh; None: all in their order.
        first: integer columns with smaller numbers are left out.
    """
    size = columns.times.size if rows is None else rows.size

    def read(source: Source | None) -> ExactColumn:
        assert source is not None
        return exact_values(source, columns).take(rows)

    def counted(what: Accumulator) -> np.ndarray:
        if what.weight is Weight.EVENT:
            return np.ones(size, np.int64)
        if what.weight is Weight.ELAPSED:
            times = columns.times if rows is None else columns.times[rows]
            return times - columns.times.min(initial=NO_RANK)
        if what.weight is Weight.DIGIT:
            digits = digit_weights(what, columns)
            return digits if rows is None else digits[rows]
        column = read(what.attribute).column
        if what.weight is Weight.PRESENT:
            return column.known.astype(np.int64)
        return column.values * column.known

    def summed(what: Accumulator) -> np.ndarray:
        column = read(what.attribute).column
        return np.where(column.known, column.values, 0.0)

    longs = [counted(each) for each in [*asked.columns[Kind.INTEGER]][first:]]
    doubles = [summed(each) for each in asked.columns[Kind.DOUBLE]]
    extremes = {}
    for each in asked.columns[Kind.RANK]:
        extremes[each] = Extremes(read(each.attribute), largest=each.largest)
    return EventWeights(
        stack_rows(longs, size, np.int64),
        stack_rows(doubles, size, np.float64),
        stack_rows([extreme.ranks for extreme in extremes.values()], size, np.int64),
        extremes,
    )


def stack_rows(columns: list[np.ndarray], width: int, kind: type) -> np.ndarray:
    """Return columns of `width` values as the rows of one array, which may have no rows."""
    return np.array(columns, kind).reshape(len(columns), width)
