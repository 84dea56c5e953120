"""Count the trends of queries with a span whose templates have at most two followed states.

The queries are partitioned alike, and run over the same events (`kernels.span_counts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from elsinore.executors.graph.kernels.span_counts import (
    SpanClauses,
    SpanScratch,
    SpanTotals,
    count_spans,
    keep_events,
    make_span_totals,
)
from elsinore.executors.input.entries import Entries
from elsinore.executors.input.kernels.periods import PeriodTable
from elsinore.executors.input.periods import period_numbers, period_table
from elsinore.executors.output.window_rows import WindowRows
from elsinore.executors.row_bound import require_few_windows
from elsinore.numbers.rows import make_rows
from elsinore.query.bound import BoundQuery
from elsinore.template.template import ALWAYS, Template
from elsinore.timeline import Interval

#: The number of a query, and a state of its template.
Place = tuple[int, int]

#: Maximum number of states with a successor of templates whose trends are counted so.
FEW = 2
#: Number of events of a span for which there is room at first.
ROOM = 1 << 16
#: Maximum number of rows of queries that are counted in one call.
_ROWS = 1 << 22


@dataclass(frozen=True)
class Counted:
    """A query with a span and its template, numbered as in the places of the entries."""

    query: BoundQuery
    template: Template
    number: int = 0

    @cached_property
    def directed(self) -> Template:
        """Return the template of trends that end at the event that decides on their period."""
        template = self.template
        if not by_first(self.query):
            return template
        turned = (replace(t, earlier=t.later, later=t.earlier) for t in template.transitions)
        return replace(
            template, transitions=tuple(turned), starts=template.ends, ends=template.starts
        )

    @cached_property
    def followed(self) -> list[int]:
        """Return the states that another state, or the same one, can follow."""
        return sorted({arrow.earlier for arrow in self.directed.transitions})

    def masks(self, classes: Sequence[frozenset[Place]], codes: int) -> np.ndarray:
        """Return the masks of event classes, int64[*, 9], for `codes` classes or more."""
        followed = self.followed
        before: dict[int, list[int]] = {n: [] for n in range(len(self.template.states))}
        for arrow in self.directed.transitions:
            before[arrow.later].append(followed.index(arrow.earlier) + 1)
        masks = np.zeros((max(codes, len(classes)), 9), np.int64)
        for row, places in zip(masks, classes, strict=False):
            for number, state in places:
                if number != self.number:
                    continue
                for place in [*before[state], *([0] if state in self.directed.starts else [])]:
                    if state in followed:
                        row[2 * place + followed.index(state)] = -1
                    row[6 + place] += state in self.directed.ends
        return masks


def by_first(query: BoundQuery) -> bool:
    """Return whether the first event of a trend decides on its period."""
    return query.window.span is not None and query.window.span.by_first


def is_linear(template: Template) -> bool:
    """Return whether a template has no conditions on pairs of events and no NOT."""
    return has_no_floors(template) and all(
        arrow.condition == ALWAYS for arrow in template.transitions
    )


def has_no_floors(template: Template) -> bool:
    """Return whether only conditions on pairs of events decide which events are adjacent."""
    floors = (*template.starts.values(), *template.bars.values(), *template.ends.values())
    return not (
        template.guards
        or template.ways_out
        or any(floor is not None for floor in floors)
        or any(arrow.closes for arrow in template.transitions)
    )


def bound_on_periods(query: BoundQuery, times: np.ndarray, offsets: np.ndarray) -> int:
    """Return a bound on the number of periods with an event, over all partitions.

    Args:
        query: a query with a span.
        times: int64[N], the times of its events, or of a part of them with all periods.
        offsets: int64[P + 1], the first event of each partition.

    Raises:
        QueryError: they are more than `row_bound.MOST_WINDOWS`.
    """
    window, sizes = query.window, np.diff(offsets)
    held = np.flatnonzero(sizes)
    first, last = times[offsets[held]], times[offsets[held + 1] - 1]
    # One more can exceed 64 bits.
    further = period_numbers(window, last) - period_numbers(window, first)
    size = int((np.minimum(further, sizes[held] - 1) + 1).sum())
    require_few_windows(query, size)
    return size


def count_trends(
    counted: Sequence[Counted], entries: Entries[Place], owned: Interval | None
) -> tuple[WindowRows, np.ndarray]:
    """Return the numbers of trends of all periods, and as bool[R] which of them need more bits.

    Args:
        counted: queries that all count by the last event, or all by the first. None has more than
            `FEW` followed states.
        entries: the events by partition.
        owned: only periods that end in this interval; None for every period.
    """
    codes = int(entries.codes.max(initial=-1)) + 1
    masks = np.array([each.masks(entries.classes, codes) for each in counted])
    meant = np.asarray(masks.any(axis=2), np.int64)
    times: np.ndarray = entries.times
    kinds, offsets = entries.codes, entries.offsets
    if len(counted) > 1:
        kept_times, kept_kinds = (
            np.empty(times.size + 1, np.int64),
            np.empty(times.size + 1, np.int32),
        )
        ends = np.empty_like(offsets)
        used: np.ndarray = meant.max(axis=0)
        keep_events(used, times, kinds, offsets, (kept_times, kept_kinds, ends))
        times, kinds, offsets = kept_times[: ends[-1]], kept_kinds[: ends[-1]], ends
    sizes = [bound_on_periods(each.query, times, offsets) for each in counted]
    tables = [period_table(each.query.window, times) for each in counted]
    reverse = by_first(counted[0].query)
    if reverse:
        times, kinds, offsets = -times[::-1], kinds[::-1].copy(), times.size - offsets[::-1]
    single = all(len(each.followed) < FEW for each in counted)
    parts = []
    for first, after in _parts(sizes):
        own = counted[first:after], tables[first:after]
        clauses = _clauses(*own, owned, -1 if reverse else 1, single=single)
        given = masks[first:after], meant[first:after], times, kinds, offsets, clauses
        parts.append(_counted(*given, sum(sizes[first:after])))
        parts[-1][0].keys[:, 2] += first
    rows = WindowRows.joined([rows for rows, _ in parts])
    if reverse:  # the partitions are in reverse, too
        rows.keys[:, 0] = offsets.size - 2 - rows.keys[:, 0]
    return rows, np.concatenate([outgrown for _, outgrown in parts])


def _parts(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return ranges of queries, given the number of rows of each query."""
    found, begin, rows = list[tuple[int, int]](), 0, 0
    for number, size in enumerate(sizes):
        if number > begin and rows + size > _ROWS:
            found.append((begin, number))
            begin, rows = number, 0
        rows += size
    return [*found, (begin, len(sizes))]


def _clauses(
    counted: Sequence[Counted],
    tables: Sequence[PeriodTable],
    owned: Interval | None,
    sign: int,
    *,
    single: bool,
) -> SpanClauses:
    limits = list[tuple[int, int, int, int]]()
    for window in (each.query.window for each in counted):
        assert window.span is not None
        limits.append((window.span.length, window.within, *window.owned(owned)))
    both = np.array([np.concatenate([table[side] for table in tables]) for side in (1, 2)])
    firsts = np.cumsum([0, *(table.starts.size for table in tables)])
    return SpanClauses(np.array(limits, np.int64), both, firsts.astype(np.int64), sign, single)


def _counted(
    masks: np.ndarray, meant: np.ndarray, times: np.ndarray, codes: np.ndarray,
    offsets: np.ndarray, clauses: SpanClauses, size: int,
) -> tuple[WindowRows, np.ndarray]:  # fmt: skip
    """Return the rows of some queries, and which of them need more bits."""
    room, found = ROOM, make_span_totals(size)
    while room:  # it is 0 when all events have found room
        found.size[0] = 0
        widest = int(np.diff(offsets).max(initial=0)) + 1
        scratch = SpanScratch(
            np.empty(2 * room + 2, np.int64),
            np.empty(widest, np.int64),
            np.empty(widest, np.int32),
        )
        needed = count_spans(masks, meant, times, codes, offsets, clauses, scratch, found)
        room = max(4 * room, int(needed)) if needed else 0
    return _rows(found)


def _rows(found: SpanTotals) -> tuple[WindowRows, np.ndarray]:
    count = int(found.size[0])
    totals = make_rows(count, 1, 0, 0, 1)
    rows = WindowRows(found.keys[:count].copy(), *totals)
    rows.counts[:, 0] = found.counts[:count]
    return rows, found.outgrown[:count].copy()
