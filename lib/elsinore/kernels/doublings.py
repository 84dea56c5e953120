"""Counts of trends that end in a state under `+`, by how often they have doubled.

Let d be the trends that end at such a state, and t what may come right before its events. A burst
of b events makes d + t 2^b times as much, and an event before them makes it 1 more (Hamlet Table 3:
`d + (2^b - 1)(d + t)`, with t added on both sides). So nobody needs to write d + t anew for each
burst, however wide it is: it is `2^p` times a sum of `x * 2^-p'`, where x was added when there had
been p' doublings. What a burst costs does not depend on the width of counts, nor on the number of
queries whose state it is: they have p in common.

A sum is kept as digits of 32 bits, the highest first, the binary point at `Sums.point`. Digits are
carried on at once, which is one step on average.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined, unlocked
from elsinore.kernels.sweep import put_off, stop_at
from elsinore.kernels.sweep_program import State, WindowRun, burst_at

#: Bits of a digit.
DIGIT = 32
_MASK = (1 << DIGIT) - 1
_HALF = DIGIT - 1
_HALF_MASK = (1 << _HALF) - 1

#: Counts of states without `+` stay below this, so that a thousand of them add up in 64 bits.
_LARGEST = 2.0**52


class Class(IntEnum):
    """Columns of `Doublings.classes`: where its groups and its steps begin and end."""

    GROUP, GROUP_END, STEP, STEP_END = range(4)


class Step(IntEnum):
    """Columns of `Doublings.steps`: a cell, where its sources and the sums after it begin and end.

    The sources are what may come right before the cell's events.
    """

    CELL, SOURCE, SOURCE_END, SUM, SUM_END = range(5)


class Sum(IntEnum):
    """Columns of `Doublings.sums`: the group, whether trends start here, its sources."""

    GROUP, STARTS, SOURCE, SOURCE_END = range(4)


class Ends(IntEnum):
    """Columns of `Doublings.totals`: a query's END cells and END sums."""

    CELL, CELL_END, SUM, SUM_END = range(4)


class Doublings(NamedTuple):
    """Queries as tables: cells of states without `+`, sums of states with it, groups of sums.

    The sums of a group double with the same events. Cell 0 is the one that starts of trends add.

    Attributes:
        classes, steps, sums, totals: int64[*, *], see above.
        groups: int64[*], the groups that events of a class double.
        list: int64[*], sources, sums and END states, as the tables name them.
        cells: how many cells there are.
    """

    classes: np.ndarray
    steps: np.ndarray
    sums: np.ndarray
    totals: np.ndarray
    groups: np.ndarray
    list: np.ndarray
    cells: int


class Sums(NamedTuple):
    """Scratch for windows of so many events.

    Attributes:
        digits: int64[S, D]; point: where those of `2^0` stand; highest: int64[S], the first in use.
        doubled: int64[G], doublings of each group in the window; met: int64[G], events at an
            instant.
        cells: int64[C]; gained: int64[C], what an instant adds to each; touched: int64[C], steps
            that add anything then.
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
    """Scratch for windows of at most so many events."""
    groups, sums = int(program.sums[:, Sum.GROUP].max()) + 1, program.sums.shape[0]
    side = events // DIGIT + 4  # doubling, or being multiplied by the events of an instant
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
    """What is written: a row for each count.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        limbs: uint64[R, D / 2], the lowest first; widest: int64[1], how many a count has at most.
    """

    keys: np.ndarray
    limbs: np.ndarray
    widest: np.ndarray


@unlocked
def double_windows(program, events, windows, within, slide, work, counts, found):
    """Count the trends of some windows, as far as there is room.

    `windows` are int64[W, 5], each of one window, see `sweep_program.WindowRun`. `found` gets those
    in which a cell may outgrow 52 bits. Returns whether all windows are done; if not, go on with
    room to spare.
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
    """Write a count of so many digits as limbs; the others become 0."""
    total[size : size + 2] = 0
    limbs, used = counts.limbs[row], (size + 1) // 2
    for i in range(used):
        limbs[i] = np.uint64(total[2 * i]) | np.uint64(total[2 * i + 1]) << np.uint64(DIGIT)
    limbs[used:] = np.uint64(0)
    counts.widest[0] = max(counts.widest[0], used)


@unlocked
def most_events(times, windows, within, slide):
    """The most events that one of some windows holds; `windows` as above."""
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
    """Begin a window without any trend, but that which may start."""
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
    """Digits behind the point, where there were so many doublings."""
    return (doubled + DIGIT - 1) // DIGIT


@outlined
def _take_events(program, events, first, after, end, work):
    """Take the events before an instant; False if a cell may outgrow 52 bits."""
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
    """Let sums double with a burst, or be multiplied by the events of an instant.

    And note what the burst adds to cells, by what was there before it.

    Returns:
        How many steps add anything; -1 if that is too much for a cell.
    """
    alone, touched = burst.length > 0, 0  # then one event stands for all, which are alike
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
    """Note what so many events add to a cell; False if it may outgrow 52 bits."""
    cell, total = step[Step.CELL], np.int64(0)
    for k in range(step[Step.SOURCE], step[Step.SOURCE_END]):
        total += work.cells[program.list[k]]
    size = np.float64(often) * np.float64(total) + np.float64(work.gained[cell])
    work.gained[cell] += often * total
    return size + np.float64(work.cells[cell]) <= _LARGEST


@outlined
def _multiply(program, group, factor, work):
    """Multiply the sums of a group."""
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
    """Add what the touched steps have gained to their cells, and to the sums that follow them."""
    for n in range(touched):
        step = program.steps[work.touched[n]]
        gained = work.gained[step[Step.CELL]]
        work.gained[step[Step.CELL]] = 0
        work.cells[step[Step.CELL]] += gained
        for k in range(step[Step.SUM], step[Step.SUM_END]):
            _add(program, work, program.list[k], gained)


@inlined
def _add(program, work, s, gained):
    """Add a number to a sum, after so many doublings."""
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
    """Add to a digit of a sum, and carry on."""
    digits = work.digits[s]
    while carry:
        carry += digits[place]
        digits[place] = carry & _MASK
        carry >>= DIGIT
        work.highest[s] = min(work.highest[s], place)
        place -= 1


@outlined
def _count(program, query, work):
    """Write a query's count to `work.total`; the number of its digits."""
    total, ends, size = work.total, program.totals[query], 0
    for n in range(ends[Ends.SUM], ends[Ends.SUM_END]):
        size = _add_sum(program, program.list[n], work, size)
    carry = np.int64(0)
    for n in range(ends[Ends.CELL], ends[Ends.CELL_END]):
        carry += work.cells[program.list[n]]
    for n in range(ends[Ends.SUM], ends[Ends.SUM_END]):  # the sums are d + t
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
    """Add a sum to `work.total`, which has so many digits; how many it has then."""
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
