"""The states of the rows of one query, by accumulator."""

from __future__ import annotations

from typing import Any, NamedTuple

from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles, WideExtremes
from elsinore.executors.output.value_lists import ValueLists
from elsinore.numbers.exact_columns import Integers
from elsinore.query.bound import BoundQuery


class States(NamedTuple):
    """The states of the rows of one query by accumulator."""

    integers: dict[Accumulator, Integers]
    sums: dict[Accumulator, ScaledDoubles]
    extremes: dict[Accumulator, Extremes | WideExtremes]
    lists: dict[Accumulator, ValueLists]

    @classmethod
    def of(cls, run: BoundQuery, part: PartialRows) -> States:
        """Return the states of rows, all of the query `run`."""
        columns = iter(part.columns)
        accumulators = accumulators_of(run)
        kinds = (*accumulators.columns, accumulators.lists)
        found: list[Any] = [{each: next(columns) for each in kind} for kind in kinds]
        return cls(*found)
