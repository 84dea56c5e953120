"""A row of results: its aggregates, how far rounding may move them, and its JSON line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from elsinore.integers import to_json
from elsinore.timeline import Instant, Length

# ---- the difference between sums of doubles in different orders: the only tolerance
#
# If values of both signs cancel, the rounding error is small compared with the values, but can be
# as large as their sum (0.1 + 0.2 - 0.3 is 1.1e-16, 5.6e-17 or 0). So the bounds of a sum follow
# from its magnitude, the sum of the absolute values.

#: The least and the greatest double that a sum, or an average, may come out as.
Bounds = tuple[float, float]

#: An addition is off by 2^-53 of its result at most, and what an event brings is added some 34
#: times more with each event that follows: to the trends that end there, and into and out of an
#: order tree, which has 16 levels for as many events as are ever checked
#: (`executors.graph.kernels.trees`).
LOST_AT_EACH_EVENT = 34 * 2.0**-53


def bounds_of(exact: Fraction, magnitude: Fraction, events: int) -> Bounds:
    """Return the bounds of the double of a sum, from its exact value and the number of events.

    `magnitude` is the sum of amounts; of an average both are divided by the count. Bounds beyond
    the largest double are infinite.
    """
    lost = magnitude * events * Fraction(LOST_AT_EACH_EVENT)
    return nearest_double(exact - lost), nearest_double(exact + lost)


def within(found: float, bounds: Bounds) -> bool:
    """Return whether a double is within bounds; NaN is where they are NaN."""
    low, high = bounds
    return low <= found <= high or (found != found and low != low)


def nearest_double(value: int | float | Fraction) -> float:
    """The nearest double; beyond the largest it is infinite. Zero has no sign."""
    try:
        return float(value) + 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf


# ---- rows

#: A group value or an aggregate; instants are `Instant`, lengths of time `Length`, NULL is None.
Value = int | float | str | bool | Instant | Length | None


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
        bounds: for each value, its bounds by rounding, None if it is exact; only rows of the
            reference have them. Comparisons of rows ignore them.
        step: the number of the step from 1, if the query returns steps.
    """

    query: str
    group: tuple[tuple[str, Value], ...]
    window_start: int
    window_end: int
    values: tuple[tuple[str, Value], ...]
    bounds: tuple[Bounds | None, ...] = field(default=(), compare=False)
    step: int | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Return the key of the row; sorts by query, group, window and step, NULL first."""
        group = tuple(_sortable(value) for _, value in self.group)
        return self.query, group, self.window_start, self.window_end, self.step or 0


def _sortable(value: Value) -> tuple[int, str, Any]:
    if value is None:
        return (0, "", 0)
    if isinstance(value, float) and value != value:
        return (2, "", 0)
    if isinstance(value, str):
        return (1, "text", value)
    return (1, "number", value)


def sorted_rows(rows: Iterable[ResultRow]) -> list[ResultRow]:
    """Rows in canonical order: by query, group, window and step."""
    return sorted(rows, key=lambda row: row.key)


# ---- JSON lines, the output of `elsinore run`


def encode_row(row: ResultRow) -> str:
    """One row as a line of strict JSON, without the line end.

    Integers are written in full, however long; instants as ISO 8601; doubles that JSON lacks as
    the strings "NaN", "Infinity" and "-Infinity".
    """
    step = {} if row.step is None else {"step": row.step}
    return to_json(
        {
            "query": row.query,
            "group": {label: plain_value(value) for label, value in row.group},
            **step,
            "window_start": plain_value(row.window_start),
            "window_end": plain_value(row.window_end),
            "values": {label: plain_value(value) for label, value in row.values},
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def plain_value(value: Any) -> Any:
    """A value as JSON holds it, also inside of others: instants, numbers not finite as text.

    >>> plain_value({"x": float("nan"), "trends": [({"y": float("-inf")}, Instant(0))]})
    {'x': 'NaN', 'trends': [[{'y': '-Infinity'}, '1970-01-01T00:00:00.000000Z']]}
    """
    match value:
        case Instant():
            return str(value)
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
        case dict():
            return {name: plain_value(each) for name, each in value.items()}
        case list() | tuple():
            return list(map(plain_value, value))
    return value
