"""Aggregate trends with a span in linear time, without conditions on pairs of events.

The effect of an event on the numbers of trends per state is a matrix. The effect of consecutive
events is the product of their matrices. The trends that end at an event, and whose first event is
at most one span older, need the product over the events in between. A queue of two stacks has this
product at all times (Tangwongsan, Hirzel, Schneider: Low-Latency Sliding-Window Aggregation in
Worst-Case Constant Time, section 2). The back stack is one matrix, the product of the events since
the last **flip**. The front stack has a vector per timestamp before the flip: the numbers of trends
from this timestamp on, at each state. When all timestamps of the front stack are too old, the back
stack is flipped: its events are multiplied from the last to the first.

The matrix of an event at a state only adds the columns of earlier states to the column of the
state. So an event takes two such additions, and an END event a product of two vectors, whatever
the number of events of a span.

A number of trends, a sum of weights and an extreme are propagated alike, in three semirings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.input.kernels.periods import PeriodTable, period_at
from elsinore.numbers.compiled import brief, inlined, kernel

#: Numbers from this on, and products of this size, need more bits.
_LIMIT = 2.0**62


class Periods(NamedTuple):
    """The span and the periods of a query.

    Attributes:
        span: the longest time from the first to the last event of a trend.
        table: the periods.
        sign: -1 if the entries are in reverse and their times are negated; else 1.
        least, most: the lowest and the highest number of a period to aggregate.
    """

    span: int
    table: PeriodTable
    sign: int
    least: int
    most: int


class PeriodRows(NamedTuple):
    """R rows for periods.

    Attributes:
        keys: int64[R, 3], partition, period number, 0.
        place: int64[4], start and end of the current period, its row (-1 for none), and the number
            of rows so far.
    """

    keys: np.ndarray
    place: np.ndarray


def make_period_rows(rows: int) -> PeriodRows:
    """Return room for some rows."""
    return PeriodRows(np.zeros((rows, 3), np.int64), np.zeros(4, np.int64))


@inlined
def begin_rows(rows):
    """Begin a partition."""
    rows.place[0], rows.place[1], rows.place[2] = 0, 0, -1


@inlined
def row_at(rows, periods, partition, time):
    """Return the row of the period of a timestamp, which never goes back; -1 for no row."""
    place, real = rows.place, time * periods.sign
    if not place[0] <= real < place[1]:
        number, place[0], place[1] = period_at(periods.table, real)
        place[2] = -1
        if periods.least <= number <= periods.most:
            place[2] = place[3]
            rows.keys[place[3], 0], rows.keys[place[3], 1] = partition, number
            place[3] += 1
    return place[2]


@inlined
def first_since(times, first, after, oldest):
    """Return the first entry from `first` on that is not older than a timestamp; else `after`."""
    while first < after and times[first] < oldest:
        first += 1
    return first


class Products(NamedTuple):
    """Numbers of trends, and sums and extremes over them, between S + 1 places and S states.

    Place 0 is the beginning of trends, and place s + 1 is state s.

    Attributes:
        counts: int64[*, C, S + 1], the number of trends, then C - 1 sums of integer weights.
        sums: float64[*, M, S + 1], sums of weights that are doubles.
        ranks: int64[*, E, S + 1], the smallest ranks.
    """

    counts: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray


class SpanGraph(NamedTuple):
    """The parts of a `Graph` without conditions on pairs of events; see there."""

    times: np.ndarray
    states: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    transition_start: np.ndarray
    transition_from: np.ndarray
    count_weights: np.ndarray
    sum_weights: np.ndarray
    ranks: np.ndarray
    no_rank: int


class SpanWork(NamedTuple):
    """Scratch.

    Attributes:
        back: S rows, from each place to the state, for the events since the last flip.
        flipped: S + 1 rows, from the place to each state, while the back stack is flipped.
        front: a row for each entry of a span, from the beginning to each state.
        added: a row for each entry of a timestamp.
    """

    back: Products
    flipped: Products
    front: Products
    added: Products


def make_span_work(graph: SpanGraph, longest: int, instant: int) -> SpanWork:
    """Return scratch, given the most entries of a span and of a timestamp."""
    states = graph.starts.size
    return SpanWork(*(_products(graph, rows) for rows in (states, states + 1, longest, instant)))


def _products(graph: SpanGraph, rows: int) -> Products:
    places = graph.starts.size + 1
    return Products(
        np.zeros((rows, 1 + graph.count_weights.shape[0], places), np.int64),
        np.zeros((rows, graph.sum_weights.shape[0], places), np.float64),
        np.zeros((rows, graph.ranks.shape[0], places), np.int64),
    )


@kernel
def measure_spans(offsets, times, span, out):
    """Write the most entries of a span, and of a timestamp, to `out`, int64[2]."""
    longest = instant = 0
    for partition in range(offsets.size - 1):
        low = first = offsets[partition]
        for i in range(offsets[partition], offsets[partition + 1]):
            while times[low] < times[i] - span:
                low += 1
            if times[first] != times[i]:
                first = i
            longest = max(longest, i + 1 - low)
            instant = max(instant, i + 1 - first)
    out[0], out[1] = longest, instant


@brief
def aggregate_spans(graph, offsets, periods, work, rows, totals, outgrown):
    """Aggregate the trends of each partition and period.

    Args:
        graph: the graph.
        offsets: int64[P + 1], the first entry of each partition.
        periods: a `Periods`.
        work: scratch from `make_span_work`.
        rows: `PeriodRows` of R rows to write to.
        totals: `Rows` of R rows to write to.
        outgrown: bool[R], set if a count needs more bits; the totals of such a row are invalid.
    """
    for partition in range(offsets.size - 1):
        _aggregate(graph, offsets, partition, periods, work, rows, totals, outgrown)


@inlined
def _aggregate(graph, offsets, partition, periods, work, rows, totals, outgrown):
    """Aggregate the trends of a partition."""
    i, end, times = offsets[partition], offsets[partition + 1], graph.times
    head = split = base = i  # the front stack has the entries from `head` to before `split`
    begin_rows(rows)
    _reset(work.back, 0, graph.no_rank)
    back_bits = front_bits = np.int64(0)  # bits of all numbers of a stack
    while i < end:
        oldest, j = times[i] - periods.span, i + 1
        while j < end and times[j] == times[i]:
            j += 1
        head = first_since(times, head, split, oldest)
        if head == split and times[head] < oldest:
            head = first_since(times, head, i, oldest)
            split, base = i, head
            front_bits, back_bits = _flip(graph, work, head, i), np.int64(0)
            _reset(work.back, 0, graph.no_rank)
        at = head - base if head < split else np.int64(-1)
        for entry in range(i, j):
            back_bits |= _arrive(graph, entry, work.back, work.added, entry - i)
            over = (back_bits | (front_bits if at >= 0 else 0)) >> 62 != 0
            if graph.ends[graph.states[entry]] and (over or _any(work, entry - i, at)):
                row = row_at(rows, periods, partition, times[i])
                if row >= 0:
                    outgrown[row] |= over
                    outgrown[row] |= _end(work, entry - i, at, totals, row)
        for entry in range(i, j):
            back_bits |= _add_row(work.back, graph.states[entry], work.added, entry - i)
        i = j


@inlined
def _bits(value):
    """Return the bits of an integer's size."""
    return value ^ (value >> 63)


@inlined
def _reset(products, shift, no_rank):
    """Make rows the identity: row s has one trend, at place s + 1, if `shift` is 0; else s - 1."""
    counts, sums, ranks = products.counts, products.sums, products.ranks
    for s in range(counts.shape[0]):
        for r in range(counts.shape[2]):
            for k in range(counts.shape[1]):
                counts[s, k, r] = 0
            for k in range(sums.shape[1]):
                sums[s, k, r] = 0.0
            for k in range(ranks.shape[1]):
                ranks[s, k, r] = no_rank
        counts[s, 0, s + 1 - shift] = 1


@inlined
def _arrive(graph, entry, back, added, row):
    """Write what an entry adds to its state to a row; return the bits of all numbers."""
    state, counts = graph.states[entry], added.counts
    bits = np.int64(0)
    size = counts.shape[2]
    for k in range(counts.shape[1]):
        for r in range(size):
            counts[row, k, r] = 0
    for k in range(added.sums.shape[1]):
        for r in range(size):
            added.sums[row, k, r] = 0.0
    for k in range(added.ranks.shape[1]):
        for r in range(size):
            added.ranks[row, k, r] = graph.no_rank
    if graph.starts[state]:
        counts[row, 0, 0] = 1
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        bits |= _add_row(added, row, back, graph.transition_from[t])
    return bits | _weigh(graph, entry, added, row)


@inlined
def _add_row(target, row, source, other):
    """Add a row to another; return the bits of all numbers."""
    bits = np.int64(0)
    for k in range(target.counts.shape[1]):
        for r in range(target.counts.shape[2]):
            value = target.counts[row, k, r] + source.counts[other, k, r]
            target.counts[row, k, r] = value
            bits |= _bits(value)
    for k in range(target.sums.shape[1]):
        for r in range(target.sums.shape[2]):
            target.sums[row, k, r] += source.sums[other, k, r]
    for k in range(target.ranks.shape[1]):
        for r in range(target.ranks.shape[2]):
            rank = source.ranks[other, k, r]
            target.ranks[row, k, r] = min(target.ranks[row, k, r], rank)
    return bits


@inlined
def _weigh(graph, entry, added, row):
    """Add the weights of an entry for each trend of a row; return the bits of all numbers."""
    bits = np.int64(0)
    counts = added.counts
    for k in range(1, counts.shape[1]):
        weight = graph.count_weights[k - 1, entry]
        if weight != 0:
            for r in range(counts.shape[2]):
                if abs(np.float64(weight) * counts[row, 0, r]) >= _LIMIT:
                    bits = np.int64(-1) ^ (np.int64(1) << 63)
                value = counts[row, k, r] + weight * counts[row, 0, r]
                counts[row, k, r] = value
                bits |= _bits(value)
    for k in range(added.sums.shape[1]):
        weight = graph.sum_weights[k, entry]
        if weight != 0.0:
            for r in range(counts.shape[2]):
                if counts[row, 0, r] != 0:
                    added.sums[row, k, r] += weight * counts[row, 0, r]
    for k in range(added.ranks.shape[1]):
        rank = graph.ranks[k, entry]
        for r in range(counts.shape[2]):
            if counts[row, 0, r] != 0:
                added.ranks[row, k, r] = min(added.ranks[row, k, r], rank)
    return bits


@inlined
def _flip(graph, work, first, after):
    """Fill the front stack with some entries; return the bits of all numbers."""
    flipped, front, added, states = work.flipped, work.front, work.added, graph.states
    _reset(flipped, 1, graph.no_rank)
    bits = np.int64(0)
    end = after
    while end > first:
        i = end - 1
        while i > first and graph.times[i - 1] == graph.times[i]:
            i -= 1
        for entry in range(i, end):
            _copy_row(added, entry - i, flipped, states[entry] + 1)
            bits |= _weigh(graph, entry, added, entry - i)
        for entry in range(i, end):
            state = states[entry]
            if graph.starts[state]:
                bits |= _add_row(flipped, 0, added, entry - i)
            for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
                earlier = graph.transition_from[t]
                bits |= _add_row(flipped, earlier + 1, added, entry - i)
        _copy_row(front, i - first, flipped, 0)
        end = i
    return bits


@inlined
def _copy_row(target, row, source, other):
    for r in range(target.counts.shape[2]):
        for k in range(target.counts.shape[1]):
            target.counts[row, k, r] = source.counts[other, k, r]
        for k in range(target.sums.shape[1]):
            target.sums[row, k, r] = source.sums[other, k, r]
        for k in range(target.ranks.shape[1]):
            target.ranks[row, k, r] = source.ranks[other, k, r]


@inlined
def _any(work, row, at):
    """Return whether a trend ends at an entry."""
    added, front = work.added.counts, work.front.counts
    if added[row, 0, 0] != 0:
        return True
    if at >= 0:
        for r in range(1, added.shape[2]):
            if added[row, 0, r] != 0 and front[at, 0, r] != 0:
                return True
    return False


@inlined
def _end(work, row, at, totals, total):
    """Add the trends that end at an entry to a total; return whether it needs more bits.

    `at` is the row of the front stack with the events before the last flip; -1 for none.
    """
    added, front, counts = work.added, work.front, totals.counts
    over = False
    size = added.counts.shape[2] if at >= 0 else 1
    for k in range(counts.shape[1]):
        value, highest = added.counts[row, k, 0], 0.0
        for r in range(1, size):
            trends, more = front.counts[at, 0, r], added.counts[row, k, r]
            value += trends * more
            highest += abs(np.float64(trends) * np.float64(more))
            if k:
                trends, more = front.counts[at, k, r], added.counts[row, 0, r]
                value += trends * more
                highest += abs(np.float64(trends) * np.float64(more))
        counts[total, k] += value
        over |= highest >= _LIMIT or (_bits(value) | _bits(counts[total, k])) >> 62 != 0
    for k in range(totals.sums.shape[1]):
        value = added.sums[row, k, 0]
        for r in range(1, size):
            value += front.counts[at, 0, r] * added.sums[row, k, r]
            value += front.sums[at, k, r] * added.counts[row, 0, r]
        totals.sums[total, k] += value
    for k in range(totals.ranks.shape[1]):
        rank = min(totals.ranks[total, k], added.ranks[row, k, 0])
        for r in range(1, size):
            if front.counts[at, 0, r] != 0 and added.counts[row, 0, r] != 0:
                rank = min(rank, front.ranks[at, k, r], added.ranks[row, k, r])
        totals.ranks[total, k] = rank
    return over
