"""Order the events of queries by a field within equal times (`time.then` of a schema).

Kernels know one number per event, its position, and events at equal positions tie. So the positions
of such events hold both the time and the rank within it (`windows.OrderedWindow`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from elsinore.errors import DataError
from elsinore.executors.input.columns import EventColumns
from elsinore.query.bound import BoundQuery
from elsinore.timeline import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from elsinore.windows import OrderedWindow, Window

#: Lengths that may divide all times and lengths, longest first.
_TICKS = (DAY, HOUR, MINUTE, SECOND, MILLISECOND, 1)
#: Exclusive limit of positions and lengths: the kernels add a few of them.
_MOST = 2**61


def in_order(queries: Sequence[BoundQuery], columns: EventColumns) -> Sequence[BoundQuery]:
    """Return the queries that run for some queries on these events.

    Raises:
        DataError: the positions of the events need more than 64 bits.
    """
    # The positions of sessions are ranks, in the order of events.
    windows = {
        query.window
        for query in queries
        if query.order is not None and query.window.session is None
    }
    if not windows or not len(columns.events):
        return queries
    copies = 2 * (int(columns.ranks.max()) + 1)
    tick = _tick(windows, columns)
    _require_room(windows, columns, tick, copies)
    ordered = {window: OrderedWindow.of(window, tick, copies) for window in windows}
    return [replace(each, window=ordered.get(each.window, each.window)) for each in queries]


def _tick(windows: Iterable[Window], columns: EventColumns) -> int:
    """Return the longest tick that divides all positions of the events, and all lengths."""
    positions = [columns.positions(window) for window in windows]
    lengths = [length for window in windows for length in _lengths(window)]
    return next(
        tick
        for tick in _TICKS
        if not any(length % tick for length in lengths)
        and not any((each % tick).any() for each in positions)
    )


def _lengths(window: Window) -> tuple[int, ...]:
    span = () if window.span is None else (window.span.length,)
    return (window.within, window.slide, *span)


def _require_room(windows: Iterable[Window], columns: EventColumns, tick: int, copies: int) -> None:
    ends = [int(np.abs(columns.positions(window)).max()) for window in windows]
    most = max([*ends, *(length for window in windows for length in _lengths(window))])
    if most // tick * copies >= _MOST:
        told = f"{copies // 2:,} events have one time, too many to order next to these times"
        raise DataError(
            told,
            hint="round times to seconds, or give more events equal values of time.then",
        )
