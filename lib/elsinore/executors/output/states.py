"""The states of the rows of one query, by accumulator."""

from __future__ import annotations

from typing import Any, NamedTuple

from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.output.exact_states import ExactSums, IntegerExtremes
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.state_columns import Extremes, ScaledDoubles, WideExtremes
from elsinore.executors.output.value_lists import ValueLists
from elsinore.numbers.exact_columns import Integers
from elsinore.query.bound import BoundQuery


class States(NamedTuple):
    """The states of the rows of one query by accumulator."""

    integers: dict[Accumulator, Integers]
    sums: dict[Accumulator, ScaledDoubles]
    extremes: dict[Accumulator, Extremes | WideExtremes | IntegerExtremes]
    exact: dict[Accumulator, ExactSums]
    lists: dict[Accumulator, ValueLists]

    @classmethod
    def of(cls, run: BoundQuery, part: PartialRows) -> States:
        """Return the states of rows, all of the query `run`."""
        columns = iter(part.columns)
        accumulators = accumulators_of(run)
        kinds = *accumulators.columns, accumulators.exact, accumulators.lists
        found: list[Any] = [{each: next(columns) for each in kind} for kind in kinds]
        return cls(*found)

    def sum_of(self, of: Accumulator) -> ExactSums:
        """Return a sum of integers, or of exact doubles."""
        return self.exact[of] if of.weight.is_exact else ExactSums(self.integers[of], 0)

    def whole(self, of: Accumulator) -> Integers:
        """Return a sum of integers."""
        return self.exact[of].whole() if of.weight.is_exact else self.integers[of]
