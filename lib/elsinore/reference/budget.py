"""A bound on the work of an enumeration, whose cost is exponential in the number of events."""

from __future__ import annotations

from elsinore.errors import BudgetError, ParameterError

#: How many steps one enumeration may take: events tried, and trends or pairs looked at. A step
#: costs some microseconds and, where it completes a trend, some hundred bytes.
BUDGET = 1_000_000


class Meter:
    """Counts the steps of one enumeration against its budget; ParameterError: that has none.

    Attributes:
        window: the number of the window at hand, for the error.
        start: its start, for the error's text.
        steps: the steps taken so far, in all windows.
    """

    def __init__(self, query: str, budget: int) -> None:
        if budget <= 0:
            raise ParameterError("a budget must allow at least one step")
        self.window: int | None = None
        self.start: int | None = None
        self.steps = 0
        self._query = query
        self._limit = budget

    def spend(self, steps: int = 1) -> None:
        """Count some steps; BudgetError: they are too many, and only those allowed are counted."""
        self.steps += steps
        if self.steps > self._limit:
            self.steps = self._limit + 1
            raise BudgetError(
                f"query {self._query} has more trends in the window from {self.start} than "
                f"{self._limit} steps can enumerate",
                hint="twostep is meant for small samples; `run --budget` lets it take more",
                query=self._query,
                window=self.window,
                steps=self._limit,
            )
