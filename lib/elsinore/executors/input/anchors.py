"""Find the windows of queries with a span, part by part, because each timestamp can have one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsinore.executors.input.entries import StateEntries
from elsinore.executors.input.kernels.anchors import Anchor, Rule, fill_anchors
from elsinore.executors.input.periods import period_table
from elsinore.executors.input.slots import spans_of
from elsinore.executors.row_bound import require_few_windows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: Number of entries whose windows are found at a time, and maximum number of these windows if they
#: are of several timestamps.
_ENTRIES, _WINDOWS = 1 << 16, 1 << 18


def anchored(
    query: BoundQuery, template: Template, placed: StateEntries, owned: Interval | None
) -> Iterator[np.ndarray]:
    """Yield the windows of the trends of a query with a span as int64[*, 8].

    See `input.kernels.anchors`. Several windows are of the same partition and period; each trend is
    in one of them.

    Args:
        query: the query.
        template: one of its templates.
        placed: the events at its states.
        owned: only periods that end in this interval; None for every period.
    """
    rule = _rule(query, template, placed.times, owned)
    numbers = range(len(template.states))
    starts = np.array([_begins(template, number) for number in numbers], np.bool_)
    ends = np.array([_ends(template, number) for number in numbers], np.bool_)
    may_start, may_end = starts[placed.states], ends[placed.states]
    first, step, size = 0, _ENTRIES, placed.times.size
    empty = np.empty((0, 8), np.int64)
    while first < size:
        after = min(first + step, size)
        given = placed.offsets, placed.times, may_start, may_end, rule, first, after
        count = fill_anchors(*given, empty)
        if count > _WINDOWS and step > 1:
            step //= 2
            continue
        if count:
            found = np.empty((count, 8), np.int64)
            fill_anchors(*given, found)
            yield found
        first = after


def windows_of(
    query: BoundQuery, template: Template, placed: StateEntries, owned: Interval | None
) -> np.ndarray:
    """Return all windows of a query, with a span or without, sorted by partition and number.

    The arguments are as in `anchored`.

    Returns:
        int64[*, 4], see `slots.spans_of`, or int64[*, 8], see `anchored`.

    Raises:
        QueryError: there are more than `row_bound.MOST_WINDOWS`.
    """
    if query.window.span is None:
        return spans_of(query, placed.offsets, placed.times, owned)
    parts, size = [np.empty((0, 8), np.int64)], 0
    for part in anchored(query, template, placed, owned):
        size += part.shape[0]
        require_few_windows(query, size)
        parts.append(part)
    windows = np.concatenate(parts)
    return windows[np.lexsort((windows[:, 3], windows[:, 2]))]


def _begins(template: Template, number: int) -> bool:
    return number in template.starts and number in template.trend_states


def _ends(template: Template, number: int) -> bool:
    return number in template.ends and number in template.trend_states


def _rule(query: BoundQuery, template: Template, times: np.ndarray, owned: Interval | None) -> Rule:
    window = query.window
    assert window.span is not None
    # Also of states inside of NOT: a NOT there can reach to a bound of the window, too.
    before, after = (
        any(floor is not None for floors in each for floor in floors.values())
        for each in ((template.starts, template.bars), (template.ends,))
    )
    if before and after:
        anchor = Anchor.BOTH
    elif after or (window.span.by_first and not before):
        anchor = Anchor.FIRST
    else:
        anchor = Anchor.LAST
    limits = window.owned(owned)
    periods = period_table(window, times)
    return Rule(window.span.length, periods, int(anchor), window.span.by_first, *limits)
