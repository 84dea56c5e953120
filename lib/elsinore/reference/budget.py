"""Limit the work of an enumeration, whose cost is exponential in the number of events."""

from __future__ import annotations

from elsinore.errors import BudgetError, ParameterError
from elsinore.hints import Either, Hint

#: Default limit of steps per enumeration. A step tries an alternative of the pattern or an event,
#: or checks a trend or a pair. It costs some microseconds and, if it completes a trend, some
#: hundred bytes.
BUDGET = 1_000_000

#: Small pieces of work (a node of a condition, an event of a finished trend) that cost about as
#: much time as one step.
PIECES = 16

#: The library has a fixed budget.
_OR_MORE = Either(", or allow more steps: `elsinore run --budget 100000000`", "")


class Meter:
    """Counts the steps of one enumeration against its budget.

    Attributes:
        window: the number of the current window, for the error.
        start: the start of the current window, for the error's text.
        steps: number of steps so far, in all windows.

    Raises:
        ParameterError: the budget is not positive.
    """

    def __init__(self, query: str, budget: int) -> None:
        if budget <= 0:
            raise ParameterError(
                "a budget must allow at least one step", hint="as in --budget 100000"
            )
        self.window: int | None = None
        self.start: int | None = None
        self.steps = 0
        self._query = query
        self._limit = budget

    def spend(self, steps: int = 1, *, pieces: int = 0) -> None:
        """Count some steps, and small pieces of work, of which `PIECES` count as one step.

        Raises:
            BudgetError: the budget is exceeded.
        """
        self.steps += steps + pieces // PIECES
        if self.steps > self._limit:
            self.steps = self._limit + 1
            raise BudgetError(
                f"query {self._query} takes more than {self._limit} steps to enumerate its trends "
                f"in the window from {self.start}",
                hint=Hint("shorten WITHIN", _OR_MORE),
                query=self._query,
                window=self.window,
                steps=self._limit,
            )
