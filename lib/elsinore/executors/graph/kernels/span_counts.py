"""Count trends with a span like `span_products`, if at most two states are followed by another.

States that no state follows have no part in products. So all numbers are in registers, and masks
take the place of branches. Events need no entries. Queries that read the same events run in one
call, one after another, each over only the events that it can use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.span_products import first_since
from elsinore.executors.input.kernels.periods import PeriodTable, period_at
from elsinore.numbers.compiled import brief, inlined, kernel

#: Products from this on need more bits, and so do numbers with this bit or a higher one: the sum of
#: three smaller numbers does not overflow.
_LIMIT, _HIGHEST = 2.0**61, 61
#: Bits of numbers whose products are surely below the limit.
_NARROW = 28


class SpanClauses(NamedTuple):
    """The spans and the periods of Q queries; all count by the last event, or all by the first.

    Attributes:
        limits: int64[Q, 4], the span, the length of a period, and the lowest and the highest number
            of a period to aggregate.
        tables: int64[2, *], the starts and the numbers of the `PeriodTable` of all queries.
        firsts: int64[Q + 1], where the table of each query begins.
        sign: -1 if the events are in reverse and their times are negated; else 1.
        single: whether at most one state of each query is followed by another.
    """

    limits: np.ndarray
    tables: np.ndarray
    firsts: np.ndarray
    sign: int
    single: bool


class SpanScratch(NamedTuple):
    """Scratch.

    Attributes:
        front: int64[2 * W + 2], for the events of a span.
        times, codes: int64[N] and int32[N], for the events of a partition that a query can use.
    """

    front: np.ndarray
    times: np.ndarray
    codes: np.ndarray


class SpanTotals(NamedTuple):
    """R rows for periods, and a last one for periods that are not aggregated.

    Attributes:
        keys: int64[R + 1, 3], partition, number of the period, number of the query.
        counts: int64[R + 1].
        outgrown: bool[R + 1], whether a count needs more bits.
        size: int64[1], the number of rows so far.
    """

    keys: np.ndarray
    counts: np.ndarray
    outgrown: np.ndarray
    size: np.ndarray


def make_span_totals(rows: int) -> SpanTotals:
    """Return room for some rows."""
    return SpanTotals(
        np.empty((rows + 1, 3), np.int64),
        np.zeros(rows + 1, np.int64),
        np.zeros(rows + 1, np.bool_),
        np.zeros(1, np.int64),
    )


@kernel
def keep_events(meant, times, codes, offsets, kept):
    """Copy the events that some query can use.

    Args:
        meant: int64[*], 1 for each event class that some query can use, else 0.
        times: int64[N], the time of each event.
        codes: int32[N], the event class of each event.
        offsets: int64[P + 1], the first event of each partition.
        kept: the times, the classes and the offsets to write to.
    """
    kept_times, kept_codes, kept_offsets = kept
    size = 0
    for partition in range(offsets.size - 1):
        kept_offsets[partition] = size
        for i in range(offsets[partition], offsets[partition + 1]):
            kept_times[size], kept_codes[size] = times[i], codes[i]
            size += meant[codes[i]]
    kept_offsets[offsets.size - 1] = size


@brief
def count_spans(masks, meant, times, codes, offsets, clauses, scratch, found):
    """Count the trends of each query, partition and period.

    Args:
        masks: int64[Q, *, 9], for each event class the masks from the beginning of trends and from
            two states to both of these states (0 or -1), then the number of ways to end a trend
            after the beginning and after these states.
        meant: int64[Q, *], 1 for each event class that a query can use, else 0.
        times: int64[N], the time of each event.
        codes: int32[N], the event class of each event.
        offsets: int64[P + 1], the first event of each partition.
        clauses: a `SpanClauses`.
        scratch: a `SpanScratch`.
        found: a `SpanTotals` to add to.

    Returns:
        0, or W if `scratch.front` is too small for W events.
    """
    needed = np.int64(0)
    for query in range(masks.shape[0]):
        for partition in range(offsets.size - 1):
            if needed == 0:
                needed = _count_partition(
                    masks[query], meant[query], (times, codes, offsets), query, partition,
                    clauses, scratch, found,
                )  # fmt: skip
    return needed


@inlined
def _count_partition(masks, meant, events, query, partition, clauses, scratch, found):
    """Count the trends of a query in a partition; return as `count_spans`."""
    times, codes, offsets = events
    first, end = offsets[partition], offsets[partition + 1]
    size = np.int64(0)
    for i in range(first, end):
        size += meant[codes[i]]
    owner = partition, query
    if 2 * size > end - first:
        return _count(masks, times, codes, first, end, owner, clauses, scratch.front, found)
    size = np.int64(0)
    for i in range(first, end):
        scratch.times[size], scratch.codes[size] = times[i], codes[i]
        size += meant[codes[i]]
    given = masks, scratch.times, scratch.codes
    return _count(*given, np.int64(0), size, owner, clauses, scratch.front, found)


@inlined
def _count(masks, times, codes, i, end, owner, clauses, front, found):
    """Count the trends among some events; return as `count_spans`."""
    if clauses.single:
        return _count_single(masks, times, codes, i, end, owner, clauses, front, found)
    return _count_two(masks, times, codes, i, end, owner, clauses, front, found)


# ---- the rows


@inlined
def _begin_row(found, owner, clauses, time):
    """Begin a row for the period of a timestamp; return it, and the times of the period."""
    partition, query = owner
    first, after = clauses.firsts[query], clauses.firsts[query + 1]
    starts, numbers = clauses.tables[0, first:after], clauses.tables[1, first:after]
    table = PeriodTable(clauses.limits[query, 1], starts, numbers)
    number, start, stop = period_at(table, time * clauses.sign)
    low = start if clauses.sign > 0 else 1 - stop
    row = np.int64(found.counts.size - 1)
    if clauses.limits[query, 2] <= number <= clauses.limits[query, 3]:
        row = found.size[0]
        found.size[0] = row + 1
        found.keys[row, 0], found.keys[row, 1], found.keys[row, 2] = partition, number, query
    return row, low, low + stop - start


@inlined
def _end_row(found, row, total, bits):
    """Write the number of trends of a period, given the bits of all numbers."""
    if row >= 0:
        found.counts[row] = total
        found.outgrown[row] = bits >> _HIGHEST != 0


# ---- one state that is followed


@inlined
def _count_single(masks, times, codes, i, end, owner, clauses, front, found):
    """Count the trends among some events, if one state is followed; return as `count_spans`."""
    span = clauses.limits[owner[1], 0]
    head = split = base = i  # the front stack has the events from `head` to before `split`
    front[0] = 0
    row, low, high = np.int64(-1), np.int64(0), np.int64(0)
    total = seen = back_bits = front_bits = np.int64(0)
    a0, a1 = np.int64(0), np.int64(1)  # from the beginning, and from the state, to the state
    while i < end:
        time = times[i]
        if not low <= time < high:
            _end_row(found, row, total, seen)
            row, low, high = _begin_row(found, owner, clauses, time)
            total = seen = np.int64(0)
        oldest = time - span
        head = first_since(times, head, split, oldest)
        if head == split and times[head] < oldest:
            head = first_since(times, head, i, oldest)
            if 2 * (i - head) + 2 > front.size:
                return i - head
            split, base = i, head
            front_bits, back_bits = _flip_single(masks, times, codes, front, head, i), np.int64(0)
            a0, a1 = np.int64(0), np.int64(1)
        f = front[head - base]  # 0 after the last event
        at = a0 + f * a1
        bits = back_bits | front_bits
        if bits >> _NARROW != 0:
            bits |= _bits_of_products(f, np.int64(0), a1, np.int64(0))
        c0, c1 = a0, a1
        while True:
            m = masks[codes[i]]
            c0 += (m[2] & a0) - m[0]
            c1 += m[2] & a1
            total += m[6] + m[7] * at
            i += 1
            if i == end or times[i] != time:
                break
        a0, a1 = c0, c1
        back_bits |= c0 | c1
        seen |= bits | back_bits | at | total
    _end_row(found, row, total, seen)
    return np.int64(0)


@inlined
def _flip_single(masks, times, codes, front, first, after):
    """Fill the front stack with some events; return the bits of all numbers."""
    z = bits = np.int64(0)
    a = np.int64(1)
    i = after - 1
    front[after - first] = 0
    while i >= first:
        time, y, c = times[i], z, a
        while True:
            m = masks[codes[i]]
            y += m[0] & a
            c += m[2] & a
            i -= 1
            if i < first or times[i] != time:
                break
        z, a = y, c
        bits |= y | c
        front[i + 1 - first] = y
    return bits


# ---- two states that are followed


@inlined
def _count_two(masks, times, codes, i, end, owner, clauses, front, found):
    """Count the trends among some events; return as `count_spans`."""
    span = clauses.limits[owner[1], 0]
    head = split = base = i  # the front stack has the events from `head` to before `split`
    front[0] = front[1] = 0
    row, low, high = np.int64(-1), np.int64(0), np.int64(0)
    total = seen = back_bits = front_bits = np.int64(0)
    a0, a1, a2, b0, b1, b2 = _identity()  # from the three places to the first and second state
    while i < end:
        time = times[i]
        if not low <= time < high:
            _end_row(found, row, total, seen)
            row, low, high = _begin_row(found, owner, clauses, time)
            total = seen = np.int64(0)
        oldest = time - span
        head = first_since(times, head, split, oldest)
        if head == split and times[head] < oldest:
            head = first_since(times, head, i, oldest)
            if 2 * (i - head) + 2 > front.size:
                return i - head
            split, base = i, head
            front_bits, back_bits = _flip(masks, times, codes, front, head, i), np.int64(0)
            a0, a1, a2, b0, b1, b2 = _identity()
        f1, f2 = front[2 * (head - base)], front[2 * (head - base) + 1]
        at_a, at_b = a0 + f1 * a1 + f2 * a2, b0 + f1 * b1 + f2 * b2
        bits = back_bits | front_bits
        if bits >> _NARROW != 0:
            bits |= _bits_of_products(f1, f2, a1, a2) | _bits_of_products(f1, f2, b1, b2)
        i, ended, more, a0, a1, a2, b0, b1, b2 = _arrive(
            masks, times, codes, i, end, at_a, at_b, (a0, a1, a2, b0, b1, b2)
        )
        back_bits |= more
        total += ended
        seen |= bits | more | at_a | at_b | ended | total
    _end_row(found, row, total, seen)
    return np.int64(0)


@inlined
def _identity():
    zero, one = np.int64(0), np.int64(1)
    return zero, one, zero, zero, zero, one


@inlined
def _arrive(masks, times, codes, i, end, at_a, at_b, back):
    """Multiply the back stack by the matrix of the events of a timestamp.

    Args:
        masks: see `count_spans`.
        times: see `count_spans`.
        codes: see `count_spans`.
        i: the first event of the timestamp.
        end: the end of the partition.
        at_a: the number of trends at the first state before the timestamp.
        at_b: the number of trends at the second state.
        back: the back stack.

    Returns:
        The end of the events, the number of trends that end at them, the bits of all numbers, and
        the back stack.
    """
    a0, a1, a2, b0, b1, b2 = back
    c0, c1, c2, d0, d1, d2 = back
    time, ended, bits = times[i], np.int64(0), np.int64(0)
    while True:
        m = masks[codes[i]]
        c0 += (m[2] & a0) + (m[4] & b0) - m[0]
        c1 += (m[2] & a1) + (m[4] & b1)
        c2 += (m[2] & a2) + (m[4] & b2)
        d0 += (m[3] & a0) + (m[5] & b0) - m[1]
        d1 += (m[3] & a1) + (m[5] & b1)
        d2 += (m[3] & a2) + (m[5] & b2)
        ended += m[6] + m[7] * at_a + m[8] * at_b
        bits |= ended | c0 | c1 | c2 | d0 | d1 | d2
        i += 1
        if i == end or times[i] != time:
            break
    return i, ended, bits, c0, c1, c2, d0, d1, d2


@inlined
def _bits_of_products(f1, f2, one, other):
    """Return the highest bit of integers if a sum of products needs more bits; else 0."""
    highest = np.float64(f1) * np.float64(one) + np.float64(f2) * np.float64(other)
    return np.int64(1) << _HIGHEST if highest >= _LIMIT else np.int64(0)


@inlined
def _flip(masks, times, codes, front, first, after):
    """Fill the front stack with some events; return the bits of all numbers."""
    z1 = z2 = bits = np.int64(0)
    a1, a2 = np.int64(1), np.int64(0)  # from the first state to both
    b1, b2 = np.int64(0), np.int64(1)
    i = after - 1
    front[2 * (after - first)], front[2 * (after - first) + 1] = 0, 0
    while i >= first:
        time = times[i]
        y1, y2, c1, c2, d1, d2 = z1, z2, a1, a2, b1, b2
        while True:
            m = masks[codes[i]]
            y1 += (m[0] & a1) + (m[1] & b1)
            y2 += (m[0] & a2) + (m[1] & b2)
            c1 += (m[2] & a1) + (m[3] & b1)
            c2 += (m[2] & a2) + (m[3] & b2)
            d1 += (m[4] & a1) + (m[5] & b1)
            d2 += (m[4] & a2) + (m[5] & b2)
            bits |= y1 | y2 | c1 | c2 | d1 | d2
            i -= 1
            if i < first or times[i] != time:
                break
        z1, z2, a1, a2, b1, b2 = y1, y2, c1, c2, d1, d2
        front[2 * (i + 1 - first)], front[2 * (i + 1 - first) + 1] = z1, z2
    return bits
