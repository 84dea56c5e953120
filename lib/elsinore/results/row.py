"""One row of results: a query's aggregates for one group in one window."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from elsinore.results.rounding import Bounds
from elsinore.timeline import Instant

#: A group value or an aggregate; instants are `Instant`, NULL is None.
Value = int | float | str | bool | Instant | None


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The aggregates of all trends of one query and group in one window.

    Attributes:
        query: the query's name.
        group: `(label, value)` in the order of GROUP-BY; empty without grouping.
        window_start, window_end: half-open bounds; `Instant`s unless the stream counts ticks.
        values: `(label, value)` in the order of RETURN. Counts and sums of longs are int of any
            size, AVG and sums of doubles float, MIN and MAX of the attribute's type; None where
            no event carried a value.
        bounds: for each value between which doubles it may lie by rounding, None where it is exact;
            the reference's rows alone have them. They do not count where rows are compared.
    """

    query: str
    group: tuple[tuple[str, Value], ...]
    window_start: int
    window_end: int
    values: tuple[tuple[str, Value], ...]
    bounds: tuple[Bounds | None, ...] = field(default=(), compare=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """What identifies the row; sorts by query, group and window, NULL first."""
        group = tuple(_sortable(value) for _, value in self.group)
        return self.query, group, self.window_start, self.window_end


def _sortable(value: Value) -> tuple[int, str, Any]:
    if value is None:
        return (0, "", 0)
    if isinstance(value, float) and value != value:
        return (2, "", 0)
    if isinstance(value, str):
        return (1, "text", value)
    return (1, "number", value)


def sorted_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Rows in canonical order: by query, group and window."""
    return sorted(rows, key=lambda row: row.key)
