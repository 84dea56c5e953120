"""Compute MIN and MAX of LENGTH and DURATION for the queries of a sweep set.

All queries read the same entries. A query with other measures, or with conditions on pairs of
events, runs separately (`executors.graph.best`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import Entries, key_codes, latest_entries
from elsinore.executors.input.slots import spans_of
from elsinore.executors.joined_lists import joined_lists
from elsinore.executors.kinds import Kind
from elsinore.executors.linear.kernels.longest import Cells, Longest, find_longest
from elsinore.executors.linear.sweep_sets import Place, SweepSet
from elsinore.executors.output.best_sums import extremes_of_sums, rows_of_extremes
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.window_rows import Groups
from elsinore.executors.row_bound import RowBound
from elsinore.numbers.two_parts import NARROW
from elsinore.query.bound import BoundQuery, MeasureKind
from elsinore.template.template import Template
from elsinore.timeline import Interval


def needs_only_times(query: BoundQuery) -> bool:
    """Return whether a query of measures for MIN and MAX reads only LENGTH and DURATION.

    Differences of positions must be differences of times for DURATION.
    """
    kinds = {term.kind for item in query.aggregates if item.measure for term in item.measure.terms}
    if query.order is None and query.window.keeps_lengths:
        return kinds <= {MeasureKind.LENGTH, MeasureKind.DURATION}
    return kinds <= {MeasureKind.LENGTH}


def aggregate_longest(
    found: SweepSet, columns: EventColumns, *, owned: Interval | None = None
) -> tuple[list[PartialRows], list[BoundQuery]]:
    """Compute MIN and MAX of LENGTH and DURATION.

    Args:
        found: queries of `measure_queries` for which `needs_only_times` is true.
        columns: the events, in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.

    Returns:
        Partial rows, none for windows without a trend; and the queries whose values may not fit 64
        bits, which have no rows.
    """
    first = found.queries[0]
    codes = key_codes(first, columns)
    entries = latest_entries(found.placements, codes, columns, first.window)
    groups = Groups.of(entries.group_texts(first, codes))
    parts, too_large = list[PartialRows](), list[BoundQuery]()
    for window in dict.fromkeys(query.window for query in found.queries):
        chosen = [n for n, query in enumerate(found.queries) if query.window == window]
        spans = spans_of(found.queries[chosen[0]], entries.offsets, entries.times, owned)
        longest = int((spans[:, 1] - spans[:, 0]).max(initial=0))
        pairs = _Columns(found, chosen, longest)
        too_large += pairs.too_large
        sums = pairs.run(entries, spans)
        for query, numbers in pairs.of_queries:
            rows = np.flatnonzero(sums.known[:, numbers[0]])
            RowBound([query]).add(np.zeros(rows.size, np.int64))
            known = np.ones(rows.size, np.bool_)
            extremes = [
                extremes_of_sums(sums.values[rows, n], known, largest=pairs.asked[n].largest)
                for n in numbers
            ]
            parts.append(rows_of_extremes(query, groups, spans[rows, 2:], extremes))
    return merge(parts), too_large


class _Columns:
    """The columns of some queries with one window clause: one per query and measure.

    Attributes:
        asked: the accumulator of each column.
        of_queries: the queries, each with its columns.
        too_large: queries whose values may not fit 64 bits.
    """

    def __init__(self, found: SweepSet, chosen: Sequence[int], longest: int) -> None:
        self._found = found
        self.asked: list[Accumulator] = []
        self.of_queries: list[tuple[BoundQuery, list[int]]] = []
        self.too_large: list[BoundQuery] = []
        self._numbers: dict[int, list[int]] = {}
        for number in chosen:
            query = found.queries[number]
            accumulators = accumulators_of(query).columns[Kind.RANK]
            if any(_highest(a, longest, query.window.within) >= NARROW for a in accumulators):
                self.too_large.append(query)
                continue
            begin = len(self.asked)
            self.asked += accumulators
            self._numbers[number] = [*range(begin, len(self.asked))]
            self.of_queries.append((query, self._numbers[number]))

    def run(self, entries: Entries[Place], spans: np.ndarray) -> Longest:
        """Return the greatest values of all columns in each window."""
        cells = self._cells(entries)
        size, shape = cells.column.size, (spans.shape[0], len(self.asked))
        best = [Longest(np.zeros(n, np.int64), np.zeros(n, np.bool_)) for n in (size, size, shape)]
        find_longest(cells, entries.times, entries.codes, spans, *best)
        return best[-1]

    def _cells(self, entries: Entries[Place]) -> Cells:
        places = [
            (number, state, column)
            for number, columns in self._numbers.items()
            for column in columns
            for state in self._template(number).trend_states
        ]
        index = {place: cell for cell, place in enumerate(places)}
        templates = [(self._template(number), state) for number, state, _ in places]
        befores = [
            [index[n, a.earlier, k] for a in self._template(n).transitions if a.later == s]
            for n, s, k in places
        ]
        classes = [
            [index[n, s, k] for n, s in sorted(held) for k in self._numbers.get(n, [])]
            for held in entries.classes
        ]
        most = int(entries.codes.max(initial=-1)) + 1
        classes += [[]] * (most - len(classes))
        rates = [_rates(accumulator) for accumulator in self.asked]
        columns = np.array([column for *_, column in places], np.int64)
        own, ticks = np.array(rates, np.int64).reshape(-1, 2)[columns].T.copy()
        return Cells(
            columns,
            np.array([state in template.starts for template, state in templates], np.bool_),
            np.array([state in template.ends for template, state in templates], np.bool_),
            own,
            ticks,
            *joined_lists(befores),
            *joined_lists(classes),
        )

    def _template(self, number: int) -> Template:
        return self._found.templates[number]


def _rates(accumulator: Accumulator) -> tuple[int, int]:
    """Return what an event and a unit of time add to the sums of an accumulator."""
    measure = accumulator.measure
    assert measure is not None
    factor = measure.scale * (1 if accumulator.largest else -1)
    totals = dict.fromkeys((MeasureKind.LENGTH, MeasureKind.DURATION), Fraction(0))
    for term in measure.terms:
        totals[term.kind] += term.factor * factor
    return int(totals[MeasureKind.LENGTH]), int(totals[MeasureKind.DURATION])


def _highest(accumulator: Accumulator, longest: int, within: int) -> int:
    """Return a bound of the absolute values of all sums."""
    per_event, per_tick = map(abs, _rates(accumulator))
    return per_event * longest + 2 * per_tick * within
