"""Find the participating events of a template without conditions on pairs of events, with a span.

See `kernels.span_members`. Trends whose first event decides on their period are read in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsinore.executors.graph.kernels.span_members import (
    SpanEntries,
    SpanWork,
    find_latest_starts,
    find_span_members,
    widest_period,
)
from elsinore.executors.graph.kernels.span_products import Periods
from elsinore.executors.graph.layout import Layout
from elsinore.executors.input.entries import StateEntries
from elsinore.executors.input.periods import period_table
from elsinore.executors.output.kernels.members import Asked, Weights
from elsinore.executors.output.participation import Found, Pass, take
from elsinore.timeline import Interval


def members_in_spans(
    of: Pass,
    layout: Layout,
    placed: StateEntries,
    asked: Asked,
    read_row: np.ndarray,
    owned: Interval | None,
) -> Iterator[Found]:
    """Yield the periods with a trend; see `Pass.found`.

    Args:
        of: the pass over the template of one query.
        layout: the arrays of the template.
        placed: the events at its states.
        asked: the accumulators.
        read_row: see `reach.ReachWork`.
        owned: only periods that end in this interval; None for every period.
    """
    [query], window = of.sought.queries, of.sought.queries[0].window
    assert window.span is not None
    sign = -1 if window.span.by_first else 1
    table = period_table(window, placed.times)
    periods = Periods(window.span.length, table, sign, *window.owned(owned))
    entries = _entries(layout, placed, reverse=window.span.by_first)
    size, states = entries.times.size, entries.starts.size
    work = SpanWork(
        np.empty(size, np.int64),
        np.empty(states, np.int64),
        np.empty(widest_period(entries, periods), np.int64),
        read_row,
        np.zeros((int(read_row.max(initial=-1)) + 1, of.sought.columns.times.size), np.int64),
        np.zeros(1, np.int64),
    )
    find_latest_starts(entries, work.latest, work.bounds)
    members = of.buffer(work.own.size * int(asked.listed[0]))
    weights = of.sought.weights
    weighed = Weights(weights.longs, weights.doubles, weights.ranks)
    done = False
    while not done:
        done = bool(find_span_members(entries, periods, asked, weighed, work, members))
        found = take(query, members, done=done)
        if sign < 0:
            found.rows.keys[:, 0] = placed.offsets.size - 2 - found.rows.keys[:, 0]
        yield found


def _entries(layout: Layout, placed: StateEntries, *, reverse: bool) -> SpanEntries:
    """Return entries in the order of time, or from the last to the first with negated times."""
    arrays = layout.arrays
    starts, ends, before = arrays["starts"], arrays["ends"], arrays["transition_from"]
    if not reverse:
        return SpanEntries(
            placed.times, placed.states, placed.rows, placed.offsets, starts, ends,
            arrays["transition_start"], before,
        )  # fmt: skip
    later = np.repeat(np.arange(starts.size), np.diff(arrays["transition_start"]))
    order = np.argsort(before, kind="stable")
    begins = np.searchsorted(before[order], np.arange(starts.size + 1))
    return SpanEntries(
        -placed.times[::-1],
        placed.states[::-1].copy(),
        placed.rows[::-1].copy(),
        placed.times.size - placed.offsets[::-1],
        ends,
        starts,
        begins.astype(np.int64),
        later[order],
    )
