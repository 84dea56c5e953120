"""Limit the bound expressions of a query, which can be much larger than its text.

`IN` and `BETWEEN` compare their first operand several times, and a value of RETURN repeats the
values that it names. Each level can double the expression, and everything after binding visits all
of its parts. The sizes are known while the repeated parts are still shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from elsinore.query.expressions import BoundExpression, operands_of

#: Parts of all expressions of a query. `IN` with as many values as a query can have, of an
#: expression of ten parts, has 50,000.
MAX_PARTS = 50_000
#: Levels of an expression. Some hundred more would exceed the limit of recursion.
MAX_LEVELS = 300


@dataclass
class ExpressionSizes:
    """The sizes of the expressions of a query, while it is bound."""

    _known: dict[int, tuple[BoundExpression, int, int]] = field(default_factory=dict)
    _complete: list[int] = field(default_factory=lambda: [0])  #: parts of complete expressions
    _level: int = 0  #: expressions that are being bound

    def inside(self) -> ExpressionSizes:
        """Return the sizes for arguments of aggregates, which are expressions of their own."""
        return ExpressionSizes(self._known, self._complete)

    @contextmanager
    def binding(self) -> Iterator[None]:
        """Mark that an expression, or a part of it, is being bound."""
        self._level += 1
        try:
            yield
        finally:
            self._level -= 1

    def problem(self, bound: BoundExpression) -> str | None:
        """Add a bound expression, or a part; return what is wrong with its size, if anything."""
        parts, levels = self._measured(bound)
        if levels > MAX_LEVELS:
            return f"this expression has more than {MAX_LEVELS} levels"
        if self._complete[0] + parts > MAX_PARTS:
            return f"the expressions of the query have more than {MAX_PARTS:,} parts"
        if self._level == 1:
            self._complete[0] += parts
        return None

    def _measured(self, bound: BoundExpression) -> tuple[int, int]:
        """Return the number of parts and of levels; only parts that are new are visited."""
        # Equal expressions are not looked up as such, because comparing them visits all parts.
        if (known := self._known.get(id(bound))) is None:
            sizes = [self._measured(operand) for operand in operands_of(bound)]
            parts = 1 + sum(parts for parts, _ in sizes)
            levels = 1 + max((levels for _, levels in sizes), default=0)
            known = self._known[id(bound)] = bound, parts, levels
        return known[1:]
