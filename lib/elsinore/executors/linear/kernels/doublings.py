"""Counts of trends that end in a state under `+`, stored by their number of doublings.

Let d be the trends that end in such a state, and t the trends that can come right before its
events. A burst of b events multiplies d + t by 2^b (Hamlet, Table 3: `d + (2^b - 1)(d + t)`, with t
added on both sides). A new trend before them adds 1. So d + t is `2^p` times a sum of `x * 2^-p'`,
if p is the number of doublings so far and p' the number when x was added. A burst only increases
p. Its cost depends neither on the width of counts nor on the number of queries of the state,
because they share p.

A sum is stored as digits of 32 bits, the highest first, with the binary point at `Sums.point`.
Carries are propagated at once, by one step on average.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.linear.kernels.sweep import put_off, stop_at
from elsinore.executors.linear.kernels.sweep_program import State, WindowRun, burst_at
from elsinore.numbers.compiled import inlined, outlined, unlocked

#: Bits of a digit.
DIGIT = 32
_MASK = (1 << DIGIT) - 1
_HALF = DIGIT - 1
_HALF_MASK = (1 << _HALF) - 1

#: Counts of states without `+` stay below this, so that the sum of a thousand fits in 64 bits.
_LARGEST = 2.0**52


class Class(IntEnum):
    """Columns of `Doublings.classes`: the ranges of its groups and of its steps."""

    GROUP, GROUP_END, STEP, STEP_END = range(4)


class Step(IntEnum):
    """Columns of `Doublings.steps`: a cell, and the ranges of its sources and of the sums after it.

    The sources are the cells that can come right before the cell's events.
    """

    CELL, SOURCE, SOURCE_END, SUM, SUM_END = range(5)


class Sum(IntEnum):
    """Columns of `Doublings.sums`: group, whether trends start here, range of its sources."""

    GROUP, STARTS, SOURCE, SOURCE_END = range(4)


class Ends(IntEnum):
    """Columns of `Doublings.totals`: the ranges of a query's END cells and END sums."""

    CELL, CELL_END, SUM, SUM_END = range(4)


class Doublings(NamedTuple):
    """Tables of queries: cells are states without `+`, sums are states with `+`.

    The sums of a group double with the same events. Cell 0 is always 1: the source of starts.

    Attributes:
        classes, steps, sums, totals: uint64[*, *], see above.
        groups: uint64[*], the groups that events of a class double.
        list: uint64[*], sources, sums and END states, to which the ranges refer.
        cells: the number of cells.
    """

    classes: np.ndarray
    steps: np.ndarray
    sums: np.ndarray
    totals: np.ndarray
    groups: np.ndarray
    list: np.ndarray
    cells: int


class Sums(NamedTuple):
    """Scratch for windows with a limited number of events.

    Attributes:
        digits: int64[S, D]; point: the index of the digit of `2^0`; highest: int64[S], the first
            digit in use.
        doubled: int64[G], doublings of each group in the window; met: int64[G], its events at the
            current timestamp.
        cells: int64[C]; gained: int64[C], the amount that a burst adds to each; touched: int64[C],
            the steps that add something.
        total: int64[D], a count, the lowest digit first.
    """

    digits: np.ndarray
    point: int
    highest: np.ndarray
    doubled: np.ndarray
    met: np.ndarray
    cells: np.ndarray
    gained: np.ndarray
    touched: np.ndarray
    total: np.ndarray


def make_scratch(program: Doublings, events: int) -> Sums:
    """Return scratch for windows of at most `events` events."""
    groups, sums = int(program.sums[:, Sum.GROUP].max()) + 1, program.sums.shape[0]
    side = events // DIGIT + 4  # each event doubles at most
    return Sums(
        np.zeros((sums, 2 * side), np.int64),
        side,
        np.full(sums, side),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(program.cells, np.int64),
        np.zeros(program.cells, np.int64),
        np.zeros(program.cells, np.int64),
        np.zeros(2 * side, np.int64),
    )


class Counts(NamedTuple):
    """Output: a row per count.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        limbs: uint64[R, D / 2], the lowest first; widest: int64[1], the most limbs of a count.
    """

    keys: np.ndarray
    limbs: np.ndarray
    widest: np.ndarray


@unlocked
def double_windows(program, events, windows, within, slide, work, counts, found):
    """Count the trends of windows until `counts` or `found.outgrown` is full.

    `windows` are int64[W, 5] of one window per row, see `sweep_program.WindowRun`. Windows in which
    a cell can outgrow 52 bits are added to `found.outgrown`. Return whether all windows are done.
    If not, call again with room to spare; `found.state` records where to continue.
    """
    queries, rows, outgrown = program.totals.shape[0], np.int64(0), np.int64(0)
    for w in range(found.state[State.RUN], windows.shape[0]):
        window = windows[w]
        if rows + queries > counts.keys.shape[0] or outgrown == found.outgrown.shape[0]:
            stop_at(found, w, 0, 0, 0, rows, outgrown)
            return False
        _begin(program, work)
        end = window[WindowRun.NUMBER] * slide + within
        first, after = window[WindowRun.FIRST], window[WindowRun.END]
        if not _take_events(program, events, first, after, end, work):
            put_off(found, outgrown, first, window, window[WindowRun.NUMBER])
            outgrown += 1
            continue
        for query in range(queries):
            size = _count(program, query, work)
            if size > 0:
                key = counts.keys[rows]
                key[0], key[1] = window[WindowRun.PARTITION], window[WindowRun.NUMBER]
                key[2] = query
                _write(work.total, size, counts, rows)
                rows += 1
    stop_at(found, windows.shape[0], 0, 0, 0, rows, outgrown)
    return True


@inlined
def _write(total, size, counts, row):
    """Write a count of `size` digits as limbs; set the other limbs to 0."""
    total[size : size + 2] = 0
    limbs, used = counts.limbs[row], (size + 1) // 2
    for i in range(used):
        limbs[i] = np.uint64(total[2 * i]) | np.uint64(total[2 * i + 1]) << np.uint64(DIGIT)
    limbs[used:] = np.uint64(0)
    counts.widest[0] = max(counts.widest[0], used)


@unlocked
def most_events(times, windows, within, slide):
    """Return the most events of any window; `windows` as in `double_windows`."""
    most = np.int64(0)
    for w in range(windows.shape[0]):
        end = windows[w, WindowRun.NUMBER] * slide + within
        low, high = windows[w, WindowRun.FIRST], windows[w, WindowRun.END]
        while low < high:
            middle = (low + high) // 2
            if times[middle] < end:
                low = middle + 1
            else:
                high = middle
        most = max(most, low - windows[w, WindowRun.FIRST])
    return most


@inlined
def _begin(program, work):
    """Start a window without trends, except for trends that can start."""
    for s in range(program.sums.shape[0]):
        last = work.point + _places(work.doubled[program.sums[s, Sum.GROUP]])
        work.digits[s, work.highest[s] : last + 1] = 0
        work.highest[s] = work.point
        work.digits[s, work.point] = program.sums[s, Sum.STARTS]
    work.doubled[:] = work.met[:] = 0
    work.gained[:] = work.cells[:] = 0
    work.cells[0] = 1


@inlined
def _places(doubled):
    """Return the number of digits after the binary point for a number of doublings."""
    return (doubled + DIGIT - 1) // DIGIT


@outlined
def _take_events(program, events, first, after, end, work):
    """Apply the events before `end`; return False if a cell can outgrow 52 bits."""
    i = first
    while i < after and events.times[i] < end:
        if events.class_of[events.codes[i]] < 0:
            i += 1
            continue
        burst = burst_at(events, i, after, end)
        touched = _meet(program, events, burst, work)
        if touched < 0:
            return False
        _settle(program, work, touched)
        i = burst.after
    return True


@inlined
def _meet(program, events, burst, work):
    """Multiply the sums of a burst's groups, and record what the burst adds to cells.

    Sums double with each event at a rising time. Events at one timestamp multiply them once, by
    the number of events plus 1. Additions to cells use the cells as they were before the burst.

    Returns:
        The number of steps that add something; -1 if it is too much for a cell.
    """
    alone, touched = burst.length > 0, 0  # if all are alike, the first event represents them
    often = burst.length if alone else np.int64(1)
    for i in range(burst.first, burst.first + 1 if alone else burst.after):
        number = events.class_of[events.codes[i]]
        if number < 0:
            continue
        own = program.classes[number]
        for n in range(own[Class.GROUP], own[Class.GROUP_END]):
            if burst.rising:
                work.doubled[program.groups[n]] += often
            else:
                work.met[program.groups[n]] += often
        for n in range(own[Class.STEP], own[Class.STEP_END]):
            cell = program.steps[n, Step.CELL]
            before = work.gained[cell]
            if not _gain(program, program.steps[n], often, work):
                return -1
            if before == 0 and work.gained[cell] > 0:
                work.touched[touched] = n
                touched += 1
    if not burst.rising:
        for group in range(work.met.size):
            if work.met[group]:
                _multiply(program, group, work.met[group] + 1, work)
                work.met[group] = 0
    return touched


@inlined
def _gain(program, step, often, work):
    """Record what `often` events add to a cell; return False if the cell can outgrow 52 bits."""
    cell, total = step[Step.CELL], np.int64(0)
    for k in range(step[Step.SOURCE], step[Step.SOURCE_END]):
        total += work.cells[program.list[k]]
    size = np.float64(often) * np.float64(total) + np.float64(work.gained[cell])
    work.gained[cell] += often * total
    return size + np.float64(work.cells[cell]) <= _LARGEST


@outlined
def _multiply(program, group, factor, work):
    """Multiply the sums of a group by `factor`; its powers of two become doublings."""
    doubled = work.doubled[group]
    while factor & 1 == 0:
        factor >>= 1
        doubled += 1
    for s in range(program.sums.shape[0] if factor > 1 else 0):
        if program.sums[s, Sum.GROUP] == group:
            digits, carry = work.digits[s], np.int64(0)
            place = work.point + _places(work.doubled[group])
            while place >= work.highest[s] or carry:
                carry += digits[place] * factor
                digits[place] = carry & _MASK
                carry >>= DIGIT
                place -= 1
            work.highest[s] = min(work.highest[s], place + 1)
    work.doubled[group] = doubled


@inlined
def _settle(program, work, touched):
    """Add the gains of the touched steps to their cells, and to the sums that follow the cells."""
    for n in range(touched):
        step = program.steps[work.touched[n]]
        gained = work.gained[step[Step.CELL]]
        work.gained[step[Step.CELL]] = 0
        work.cells[step[Step.CELL]] += gained
        for k in range(step[Step.SUM], step[Step.SUM_END]):
            _add(program, work, program.list[k], gained)


@inlined
def _add(program, work, s, gained):
    """Add a number to a sum, scaled by the doublings of the sum's group so far."""
    doubled = work.doubled[program.sums[s, Sum.GROUP]]
    place = work.point + _places(doubled)
    shift = DIGIT * _places(doubled) - doubled
    low, high = gained & _HALF_MASK, gained >> _HALF
    _carry(work, s, place, low << shift)
    if high and shift:
        _carry(work, s, place - 1, high << (shift - 1))
    elif high:
        _carry(work, s, place, high << _HALF)


@inlined
def _carry(work, s, place, carry):
    """Add to a digit of a sum, and propagate the carry."""
    digits = work.digits[s]
    while carry:
        carry += digits[place]
        digits[place] = carry & _MASK
        carry >>= DIGIT
        work.highest[s] = min(work.highest[s], place)
        place -= 1


@outlined
def _count(program, query, work):
    """Write a query's count to `work.total`; return its number of digits."""
    total, ends, size = work.total, program.totals[query], 0
    for n in range(ends[Ends.SUM], ends[Ends.SUM_END]):
        size = _add_sum(program, program.list[n], work, size)
    carry = np.int64(0)
    for n in range(ends[Ends.CELL], ends[Ends.CELL_END]):
        carry += work.cells[program.list[n]]
    for n in range(ends[Ends.SUM], ends[Ends.SUM_END]):  # the sums are d + t: subtract t
        own = program.sums[program.list[n]]
        carry -= np.int64(own[Sum.STARTS])
        for k in range(own[Sum.SOURCE], own[Sum.SOURCE_END]):
            carry -= work.cells[program.list[k]]
    place = 0
    while place < size or carry:
        carry += total[place] if place < size else 0
        total[place] = carry & _MASK
        carry >>= DIGIT
        place += 1
    while place > 0 and total[place - 1] == 0:
        place -= 1
    return place


@inlined
def _add_sum(program, s, work, size):
    """Add a sum to `work.total`, which has `size` digits; return its new number of digits."""
    total, digits = work.total, work.digits[s]
    doubled = work.doubled[program.sums[s, Sum.GROUP]]
    last = work.point + _places(doubled)
    shift, carry, place = DIGIT * _places(doubled) - doubled, np.int64(0), 0
    while last - place >= work.highest[s] or carry or place < size:
        at = last - place
        if at >= work.highest[s]:
            carry += digits[at] >> shift
            carry += (digits[at - 1] << (DIGIT - shift)) & _MASK if shift else 0
        if place < size:
            carry += total[place]
        total[place] = carry & _MASK
        carry >>= DIGIT
        place += 1
    return place
