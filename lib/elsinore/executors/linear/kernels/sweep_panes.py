"""Compute windows as products of panes, so that overlapping windows share all work.

A pane's effect on the counts of a query is a matrix: from each state, and from START, to each. The
sweep computes it with a copy of the query per row. A window is the product of its panes. As windows
slide, the products are kept on two stacks: each older pane has the product of it and all later ones
up to a border, and the newer panes have one product. A pane is part of two products of matrices,
and a window is one product of a vector and a matrix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.linear.kernels.sweep import (
    LARGEST_SUM,
    measure,
    put_off,
    stop_at,
    sweep_events,
)
from elsinore.executors.linear.kernels.sweep_program import State, Total, WindowRun
from elsinore.numbers.compiled import inlined, outlined, unlocked


class Products(NamedTuple):
    """How matrices multiply, as operations on runs of cells; C cells of all queries.

    Attributes:
        unit: int64[C], the matrix of a pane without events.
        terms: int64[*, 4], `(cell of the product, cell of the left, of the right, length)`.
        kept: int64[*, 3], `(cell of the product, cell of the right, length)`: trends that start in
            the right matrix.
        totals: int64[Q, 4], the ranges of a query in `last` and in `own`.
        largest: float64[1], the limit of a product of two numbers, so that the sum of all terms of
            a cell fits in 64 bits.
        last: int64[*, 2], `(cell of the left, cell of the right)`, the products that make up a
            query's count; own: int64[*], cells of the right that are added to them.
    """

    unit: np.ndarray
    terms: np.ndarray
    kept: np.ndarray
    largest: np.ndarray
    totals: np.ndarray
    last: np.ndarray
    own: np.ndarray


class Panes(NamedTuple):
    """The N panes that contain events, of one partition after another.

    Attributes:
        numbers: int64[N], the pane's number; firsts: int64[N], its first entry.
        cells: int64[N, C]; outgrown: bool[N], whether a number does not fit in 64 bits.
    """

    numbers: np.ndarray
    firsts: np.ndarray
    cells: np.ndarray
    outgrown: np.ndarray


class Stacks(NamedTuple):
    """Products of the panes of a window, as windows slide.

    Attributes:
        suffixes: int64[*, C], the product of each older pane and all later older ones, with a row
            for each pane of a window.
        fits: bool[*], whether each of them fits in 64 bits.
        newer: int64[C], the product of the newer panes; spare: int64[C].
    """

    suffixes: np.ndarray
    fits: np.ndarray
    newer: np.ndarray
    spare: np.ndarray


@unlocked
def find_panes(times, low, high, length, numbers, firsts):
    """Write the number and the first entry of each pane of some entries; return how many there are.

    The search for a pane's end begins at the length of the pane before.
    """
    count, i, expected = 0, low, 1
    while i < high:
        number = times[i] // length
        end = (number + 1) * length
        numbers[count], firsts[count] = number, i
        count += 1
        begin, after, step = i, min(i + expected, high), expected  # times[begin] < end
        while after < high and times[after] < end:
            begin, step = after, 2 * step
            after = min(after + step, high)
        while after - begin > 1:
            middle = (begin + after) // 2
            if times[middle] < end:
                begin = middle
            else:
                after = middle
        expected = max(after - i, 1)
        i = after
    return count


@unlocked
def sweep_panes(program, events, products, panes, high, work, no_rank):
    """Write the matrix of each pane; the last pane ends before entry `high`."""
    for n in range(panes.numbers.size):
        after = panes.firsts[n + 1] if n + 1 < panes.numbers.size else high
        for cell in range(products.unit.size):
            work.cells[cell] = products.unit[cell]
        measure(program.blocks, work.cells, work.bounds)
        work.outgrown[0] = False
        end = events.times[after - 1] + 1
        sweep_events(program, events, panes.firsts[n], after, end, work, no_rank)
        panes.outgrown[n] = work.outgrown[0]
        for cell in range(products.unit.size):
            panes.cells[n, cell] = work.cells[cell]


@outlined
def multiply(products, left, right, out):
    """Write the product of two matrices; return False if a number may not fit in 64 bits."""
    size = 0.0
    out[:] = 0
    for n in range(products.kept.shape[0]):
        cell, other, length = products.kept[n, 0], products.kept[n, 1], products.kept[n, 2]
        target, more = out[cell : cell + length], right[other : other + length]
        for i in range(length):
            target[i] += more[i]
    for n in range(products.terms.shape[0]):
        cell, a, b = products.terms[n, 0], products.terms[n, 1], products.terms[n, 2]
        length = products.terms[n, 3]
        if length == 1:
            size = max(size, np.float64(left[a]) * np.float64(right[b]))
            out[cell] += left[a] * right[b]
            continue
        target = out[cell : cell + length]
        one, two = left[a : a + length], right[b : b + length]
        for i in range(length):
            size = max(size, np.float64(one[i]) * np.float64(two[i]))
            target[i] += one[i] * two[i]
    return size < products.largest[0]


@unlocked
def slide_panes(products, panes, run, spread, step, stacks, found):
    """Write the rows of all windows of one partition; return whether all are done.

    `run` is int64[5], its entries and windows, see `sweep_program.WindowRun`. A window has `spread`
    panes, and the next one begins `step` panes later. `found.state` records where to continue.
    """
    queries, high = products.totals.shape[0], panes.numbers.size
    suffixes, fits, newer, spare = stacks
    rows, outgrown = found.state[State.ROWS], found.state[State.OUTGROWN]
    begin, number = np.int64(0), run[WindowRun.NUMBER]
    if found.state[State.BEGUN]:
        begin, number = found.state[State.ENTRY], found.state[State.NUMBER]
    base = border = done = begin  # older panes are base..border, newer ones border..done
    room = True
    _copy(newer, products.unit)
    while begin < high:
        number = max(number, -((spread - 1 - panes.numbers[begin]) // step))
        end = number * step + spread
        if number > run[WindowRun.LAST]:
            break
        begin = _skip(panes, begin, number * step)
        if begin == high or panes.numbers[begin] >= end:
            continue
        if rows + queries > found.keys.shape[0] or outgrown == found.outgrown.shape[0]:
            stop_at(found, 0, begin, number, 1, rows, outgrown)
            return False
        if begin >= border:  # everything from here to `done` becomes older
            base, border, room = begin, _skip(panes, max(done, begin), end), True
            done = border
            _stack(products, panes, begin, border, suffixes, fits)
            _copy(newer, products.unit)
        while done < high and panes.numbers[done] < end:
            room = room and not panes.outgrown[done]
            if room:
                room = multiply(products, newer, panes.cells[done], spare)
                newer, spare = spare, newer
            done += 1
        older, written = begin - base, -1
        if room and fits[older]:
            key = run[WindowRun.PARTITION], number
            written = _write(products, suffixes[older], newer, found, rows, key)
        if written >= 0:
            rows += written
        else:
            put_off(found, outgrown, panes.firsts[begin], run, number)
            outgrown += 1
        number += 1
    stop_at(found, 0, begin, number, 0, rows, outgrown)
    return True


@inlined
def _skip(panes, first, number):
    """Return the first pane, from pane `first` on, whose number is at least `number`."""
    while first < panes.numbers.size and panes.numbers[first] < number:
        first += 1
    return first


@inlined
def _copy(target, source):
    for i in range(source.size):
        target[i] = source[i]


@outlined
def _stack(products, panes, begin, border, suffixes, fits):
    """Write the product of each pane and all later ones up to the border to `suffixes`."""
    _copy(suffixes[border - 1 - begin], panes.cells[border - 1])
    fits[border - 1 - begin] = not panes.outgrown[border - 1]
    for n in range(border - 2, begin - 1, -1):
        place = n - begin
        fits[place] = fits[place + 1] and not panes.outgrown[n]
        if fits[place]:
            fits[place] = multiply(products, panes.cells[n], suffixes[place + 1], suffixes[place])


@outlined
def _write(products, older, newer, found, rows, key):
    """Write a window's rows; return how many, or -1 if a count may be too large."""
    written = 0
    for query in range(products.totals.shape[0]):
        total, trends, size = products.totals[query], np.int64(0), 0.0
        for n in range(total[Total.BEGIN], total[Total.END]):
            a, b = older[products.last[n, 0]], newer[products.last[n, 1]]
            size += np.float64(a) * np.float64(b)
            trends += a * b
        for n in range(total[Total.NEXT_BEGIN], total[Total.NEXT_END]):
            size += np.float64(newer[products.own[n]])
            trends += newer[products.own[n]]
        if size > LARGEST_SUM:
            return -1
        if trends:
            place = rows + written
            found.keys[place, 0], found.keys[place, 1] = key
            found.keys[place, 2] = query
            found.longs[place, 0] = trends
            written += 1
    return written
