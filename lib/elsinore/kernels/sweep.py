"""Sweeps the events of windows once for all queries: the kernel of collapsed queries.

The events of a window are taken burst by burst (Hamlet Definition 4.1): a run of events that may
stand at the same states, at rising times. Events of one time bear on the cells as they were before.
"""

from __future__ import annotations

import math

import numpy as np

from elsinore.kernels.compiled import inlined, outlined, unlocked
from elsinore.kernels.sweep_bursts import burst_at, instant_at
from elsinore.kernels.sweep_narrow import (
    LARGEST_SUM,
    add_counts,
    add_doubles,
    add_longs,
    lower_ranks,
    make_room,
    reach,
    run_ops,
)
from elsinore.kernels.sweep_program import (
    COUNT,
    DOUBLE,
    LONG,
    RANK,
    SLOTS,
    WEIGHTED,
    side,
)
from elsinore.kernels.sweep_weights import weigh

#: Where each kind's columns begin in the heads of programs.
_SIDES = tuple(side(kind) for kind in range(4))


@unlocked
def sweep(program, events, stretches, within, slide, work, no_rank, found):
    """Write the rows of all windows of some stretches, as far as there is room.

    Args:
        program: see `sweep_program`, also for `events`, `work` and `found`.
        events: all entries.
        stretches: int64[*, 5], `(first entry, end, partition, first window, last window)`.
        within: length of a window.
        slide: distance of the windows.
        work: scratch.
        no_rank: the rank of "no value".
        found: what is written.

    Returns:
        Whether all stretches are done; if not, go on with rows to spare.
    """
    queries = program.totals.shape[0]
    stretch, low, number, begun = found.state[0], found.state[1], found.state[2], found.state[3]
    rows, outgrown = np.int64(0), np.int64(0)
    while stretch < stretches.shape[0]:
        end_of_stretch, last = stretches[stretch, 1], stretches[stretch, 4]
        if not begun:
            low, begun = stretches[stretch, 0], np.int64(1)
            number = stretches[stretch, 3]
        while low < end_of_stretch:
            number = max(number, (events.times[low] - within) // slide + 1)
            start = number * slide
            if number > last:
                break
            if events.times[low] < start:
                while low < end_of_stretch and events.times[low] < start:
                    low += 1
                continue
            if rows + queries > found.keys.shape[0] or outgrown == found.outgrown.shape[0]:
                found.state[0], found.state[1], found.state[2] = stretch, low, number
                found.state[3], found.state[4], found.state[5] = 1, rows, outgrown
                return False
            _clear(program, work, no_rank)
            high = sweep_events(program, events, low, end_of_stretch, start + within, work, no_rank)
            if _totals_fit(program, work):
                rows = _write_rows(program, work, found, rows, stretches[stretch, 2], number)
            else:
                found.outgrown[outgrown, 0], found.outgrown[outgrown, 1] = low, end_of_stretch
                found.outgrown[outgrown, 2] = stretches[stretch, 2]
                found.outgrown[outgrown, 3] = number
                outgrown += 1
            number += 1
            if slide >= within:
                low = high
        stretch += 1
        begun = np.int64(0)
    found.state[0], found.state[3], found.state[4], found.state[5] = stretch, 0, rows, outgrown
    return True


@inlined
def _clear(program, work, no_rank):
    """Begin a window without any trend."""
    work.cells[program.sizes[0] : program.sizes[2]] = 0
    work.cells[program.sizes[2] :] = no_rank
    work.sums[:] = 0.0
    work.bounds[:] = 0.0
    work.bounds[0] = 1.0
    work.outgrown[0] = False


@outlined
def sweep_events(program, events, first, after, end, work, no_rank):
    """Let the events before `end` bear on the cells; the first entry at or after `end`."""
    i = first
    while i < after and events.times[i] < end:
        symbol = events.symbol_of[events.codes[i]]
        if symbol < 0:
            i += 1
            continue
        onward, length = burst_at(events, i, after, end)
        burst = length > 0
        if not burst:
            onward, length = instant_at(events, i, after)
        if length == 0:
            _mix(program, events, i, onward, work, no_rank)
        else:
            factor = (np.int64(1) << length) - 1 if burst else length
            p = program.symbols[symbol, 0]
            if p >= 0 and not program.heads[p, WEIGHTED]:
                work.outgrown[0] = not run_ops(
                    program, p, work.cells, work.others, work.bounds, factor, length
                )
            elif p >= 0 and _has_room(program, p, work, factor, length):
                doublings = length - 1 if burst else 0
                _carry(
                    program, events, p, i, onward, doublings, work, work.cells, work.sums,
                    factor, length, no_rank,
                )  # fmt: skip
            p = program.symbols[symbol, 1]
            if p >= 0:
                _step(program, events, p, i, onward, length, burst, work, no_rank)
        if work.outgrown[0]:
            return i
        i = onward
    return i


@outlined
def _step(program, events, p, first, after, length, burst, work, no_rank):
    """Take the events of a burst one by one: they may precede each other at several states."""
    code = events.codes[first]
    for i in range(first, after if burst else first + 1):
        if events.codes[i] != code:
            continue
        times = np.int64(1) if burst else length
        if not _has_room(program, p, work, times, times):
            return
        _carry(
            program, events, p, i, i + 1 if burst else after, 0, work, work.cells, work.sums,
            times, times, no_rank,
        )  # fmt: skip


@outlined
def _mix(program, events, first, after, work, no_rank):
    """Let events of one time bear on the cells as they were before any of them."""
    for n in range(work.cells.size):
        work.before[n] = work.cells[n]
    for n in range(work.sums.size):
        work.sums_before[n] = work.sums[n]
    one = np.int64(1)
    for i in range(first, after):
        symbol = events.symbol_of[events.codes[i]]
        if symbol < 0:
            continue
        for column in range(2):
            p = program.symbols[symbol, column]
            if p >= 0:
                if not _has_room(program, p, work, one, one):
                    return
                _carry(
                    program, events, p, i, i + 1, 0, work, work.before, work.sums_before,
                    one, one, no_rank,
                )  # fmt: skip


@inlined
def _has_room(program, p, work, factor, flat):
    """See to it that counts have room for a burst; else the window is outgrown."""
    if make_room(program, p, work.cells, work.bounds, np.float64(factor), np.float64(flat)):
        return True
    work.outgrown[0] = True
    return False


@outlined
def _carry(
    program, events, p, first, after, doublings, work, read, read_sums, factor, flat, no_rank
):
    """Let counts, and all else that rides along, gain what reaches them from `read`."""
    heads, rows = program.heads, program.rows
    reach(heads, rows, p, _SIDES[COUNT], read, work.reached)
    if heads[p, WEIGHTED]:
        weigh(events, first, after, doublings, work.weights, work.sum_weights, work.heavy, no_rank)
        if heads[p, _SIDES[LONG] + SLOTS]:
            reach(heads, rows, p, _SIDES[LONG], read, work.others)
            room = add_longs(
                heads, rows, p, _SIDES[LONG], work.cells, work.others, work.reached, factor, flat,
                work.weights, work.heavy, LARGEST_SUM / program.sizes[6],
            )  # fmt: skip
            if not room:
                work.outgrown[0] = True
        if heads[p, _SIDES[DOUBLE] + SLOTS]:
            reach(heads, rows, p, _SIDES[DOUBLE], read_sums, work.others_sums)
            add_doubles(
                heads, rows, p, _SIDES[DOUBLE], work.sums, work.others_sums, work.reached, factor,
                flat, work.sum_weights,
            )  # fmt: skip
        if heads[p, _SIDES[RANK] + SLOTS]:
            lower_ranks(
                heads, rows, p, _SIDES[RANK], read, work.cells, work.others, work.reached,
                work.weights, events.longs.shape[0] + 1, no_rank,
            )  # fmt: skip
    add_counts(heads, rows, p, _SIDES[COUNT], work.cells, work.reached, factor, flat)


@inlined
def _totals_fit(program, work):
    """Whether nothing outgrew 64 bits, nor will the sums over END states; nor a sum of doubles."""
    largest, size = 0.0, 0.0
    for block in range(work.bounds.size):
        largest = max(largest, work.bounds[block])
    for n in range(work.sums.size):
        size += abs(work.sums[n])
    fits = largest * program.sizes[5] < 2.0**62 and math.isfinite(size)
    return fits and not work.outgrown[0]


@inlined
def _write_rows(program, work, found, rows, partition, number):
    """Write a row for every query that has a trend; the number of rows then."""
    for query in range(program.totals.shape[0]):
        trends = np.int64(0)
        for n in range(program.totals[query, 0], program.totals[query, 1]):
            trends += work.cells[program.ends[n, 0]]
        if trends == 0:
            continue
        found.keys[rows, 0], found.keys[rows, 1], found.keys[rows, 2] = partition, number, query
        found.longs[rows, 0] = trends
        for n in range(program.totals[query, 2], program.totals[query, 3]):
            cell, kind, column = program.ends[n, 0], program.ends[n, 1], program.ends[n, 2]
            if kind == LONG:
                found.longs[rows, column] += work.cells[cell]
            elif kind == DOUBLE:
                found.doubles[rows, column] += work.sums[cell]
            else:
                found.longs[rows, column] = min(found.longs[rows, column], work.cells[cell])
        rows += 1
    return rows
