"""Count trends with a span like `span_products`, if at most two states are followed by another.

States that no state follows have no part in products. So all numbers are in registers, and masks
take the place of branches. Events need no entries.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.graph.kernels.span_products import begin_rows, first_since, row_at
from elsinore.numbers.compiled import brief, inlined

#: Products from this on need more bits, and so do numbers with this bit or a higher one: the sum of
#: three smaller numbers does not overflow.
_LIMIT, _HIGHEST = 2.0**61, 61
#: Bits of numbers whose products are surely below the limit.
_NARROW = 28


@brief
def count_spans(masks, times, codes, offsets, periods, front, rows, counts, outgrown):
    """Count the trends of each partition and period.

    Args:
        masks: int64[*, 9], for each event class the masks from the beginning of trends and from two
            states to both of these states (0 or -1), then the number of ways to end a trend after
            the beginning and after these states.
        times: int64[N], the time of each event.
        codes: int32[N], the event class of each event.
        offsets: int64[P + 1], the first event of each partition.
        periods: a `Periods`.
        front: int64[W, 2], scratch for the events of a span.
        rows: `PeriodRows` of R rows to write to.
        counts: int64[R, 1] to add to.
        outgrown: bool[R], set if a count needs more bits.

    Returns:
        0, or W if `front` is too small for W events.
    """
    needed = np.int64(0)
    for partition in range(offsets.size - 1):
        if needed == 0:
            needed = _count(
                masks, times, codes, offsets, partition, periods, front, rows, counts, outgrown
            )
    return needed


@inlined
def _count(masks, times, codes, offsets, partition, periods, front, rows, counts, outgrown):
    """Count the trends of a partition; return as `count_spans`."""
    i, end = offsets[partition], offsets[partition + 1]
    head = split = base = i  # the front stack has the events from `head` to before `split`
    begin_rows(rows)
    back_bits = front_bits = np.int64(0)  # bits of all numbers of a stack
    a0, a1, a2, b0, b1, b2 = _identity()  # from the three places to the first and second state
    while i < end:
        time = times[i]
        oldest = time - periods.span
        head = first_since(times, head, split, oldest)
        if head == split and times[head] < oldest:
            head = first_since(times, head, i, oldest)
            if i - head > front.shape[0]:
                return i - head
            split, base = i, head
            front_bits, back_bits = _flip(masks, times, codes, front, head, i), np.int64(0)
            a0, a1, a2, b0, b1, b2 = _identity()
        f1, f2, bits = np.int64(0), np.int64(0), back_bits
        if head < split:
            f1, f2 = front[head - base, 0], front[head - base, 1]
            bits |= front_bits
        at_a, at_b = a0 + f1 * a1 + f2 * a2, b0 + f1 * b1 + f2 * b2
        if bits >> _NARROW != 0:
            bits |= _bits_of_products(f1, f2, a1, a2) | _bits_of_products(f1, f2, b1, b2)
        i, ended, more, a0, a1, a2, b0, b1, b2 = _arrive(
            masks, times, codes, i, end, at_a, at_b, (a0, a1, a2, b0, b1, b2)
        )
        back_bits |= more
        over = (bits | more | at_a | at_b) >> _HIGHEST != 0
        if ended != 0 or over:
            row = row_at(rows, periods, partition, time)
            if row >= 0:
                counts[row, 0] += ended
                outgrown[row] |= over or counts[row, 0] >> _HIGHEST != 0
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
        front[i + 1 - first, 0], front[i + 1 - first, 1] = z1, z2
    return bits
