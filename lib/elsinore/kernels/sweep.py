"""Sweeps the events of windows once for all queries: the kernel of collapsed queries.

The events of a window are taken burst by burst (Hamlet Definition 4.1): a run of events that may
stand at the same states, at rising times. Events of one time bear on the cells as they were before.
"""

from __future__ import annotations

import math

import numpy as np

from elsinore.kernels.compiled import inlined, outlined, unlocked
from elsinore.kernels.sweep_bursts import burst_at, doublings_of, factor_of, single
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
    CLOSED,
    COUNT,
    DOUBLE,
    LONG,
    RANK,
    SIDES,
    SLOTS,
    STEPWISE,
    WEIGHTED,
    End,
    Size,
    State,
    Stretch,
    Total,
    Weights,
)
from elsinore.kernels.sweep_weights import weigh


@unlocked
def sweep(program, events, stretches, within, slide, work, no_rank, found):
    """Write the rows of all windows of some stretches, as far as there is room.

    Args:
        program: see `sweep_program`, also for `events`, `work` and `found`.
        events: all entries.
        stretches: int64[*, 5], see `sweep_program.Stretch`.
        within: length of a window.
        slide: distance of the windows.
        work: scratch.
        no_rank: the rank of "no value".
        found: what is written.

    Returns:
        Whether all stretches are done; if not, go on with rows to spare.
    """
    queries = program.totals.shape[0]
    n, low, number = found.state[State.STRETCH], found.state[State.ENTRY], found.state[State.NUMBER]
    begun, rows, outgrown = found.state[State.BEGUN], np.int64(0), np.int64(0)
    while n < stretches.shape[0]:
        stretch = stretches[n]
        if not begun:
            low, number, begun = stretch[Stretch.FIRST], stretch[Stretch.NUMBER], np.int64(1)
        while low < stretch[Stretch.END]:
            number = max(number, (events.times[low] - within) // slide + 1)
            start = number * slide
            if number > stretch[Stretch.LAST]:
                break
            if events.times[low] < start:
                while low < stretch[Stretch.END] and events.times[low] < start:
                    low += 1
                continue
            if rows + queries > found.keys.shape[0] or outgrown == found.outgrown.shape[0]:
                stop_at(found, n, low, number, 1, rows, outgrown)
                return False
            _clear(program, work, no_rank)
            high = sweep_events(
                program, events, low, stretch[Stretch.END], start + within, work, no_rank
            )
            if _totals_fit(program, work):
                rows = _write_rows(program, work, found, rows, stretch, number)
            else:
                put_off(found, outgrown, low, stretch, number)
                outgrown += 1
            number += 1
            if slide >= within:
                low = high
        n += 1
        begun = np.int64(0)
    stop_at(found, n, low, number, 0, rows, outgrown)
    return True


@inlined
def stop_at(found, stretch, entry, number, begun, rows, outgrown):
    """Note where to go on, and how much is written."""
    found.state[State.STRETCH], found.state[State.ENTRY] = stretch, entry
    found.state[State.NUMBER], found.state[State.BEGUN] = number, begun
    found.state[State.ROWS], found.state[State.OUTGROWN] = rows, outgrown


@inlined
def put_off(found, place, entry, stretch, number):
    """Leave the window of a stretch that begins with an entry to wider numbers."""
    window = found.outgrown[place]
    window[Stretch.FIRST], window[Stretch.END] = entry, stretch[Stretch.END]
    window[Stretch.PARTITION], window[Stretch.NUMBER] = stretch[Stretch.PARTITION], number


@inlined
def _clear(program, work, no_rank):
    """Begin a window without any trend."""
    work.cells[program.sizes[Size.ONES] : program.sizes[Size.LONGS_END]] = 0
    work.cells[program.sizes[Size.LONGS_END] :] = no_rank
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
        burst = burst_at(events, i, after, end)
        if burst.length == 0:
            _mix(program, events, burst, work, no_rank)
        else:
            p = program.symbols[symbol, CLOSED]
            if p >= 0 and not program.heads[p, WEIGHTED]:
                work.outgrown[0] = not run_ops(program, p, work, burst)
            elif p >= 0 and _has_room(program, p, work, burst):
                _carry(program, events, p, burst, work, work.cells, work.sums, no_rank)
            p = program.symbols[symbol, STEPWISE]
            if p >= 0:
                _step(program, events, p, burst, work, no_rank)
        if work.outgrown[0]:
            return i
        i = burst.after
    return i


@outlined
def _step(program, events, p, burst, work, no_rank):
    """Take the events of a burst one by one: they may precede each other at several states."""
    code = events.codes[burst.first]
    for i in range(burst.first, burst.after if burst.rising else burst.first + 1):
        if events.codes[i] != code:
            continue
        part = single(i) if burst.rising else burst
        if not _has_room(program, p, work, part):
            return
        _carry(program, events, p, part, work, work.cells, work.sums, no_rank)


@outlined
def _mix(program, events, burst, work, no_rank):
    """Let events of one time bear on the cells as they were before any of them."""
    for n in range(work.cells.size):
        work.before[n] = work.cells[n]
    for n in range(work.sums.size):
        work.sums_before[n] = work.sums[n]
    for i in range(burst.first, burst.after):
        symbol = events.symbol_of[events.codes[i]]
        if symbol < 0:
            continue
        for column in range(2):
            p = program.symbols[symbol, column]
            if p >= 0:
                if not _has_room(program, p, work, single(i)):
                    return
                _carry(program, events, p, single(i), work, work.before, work.sums_before, no_rank)


@inlined
def _has_room(program, p, work, burst):
    """See to it that counts have room for a burst; else the window is outgrown."""
    if make_room(program, p, work, burst):
        return True
    work.outgrown[0] = True
    return False


@outlined
def _carry(program, events, p, burst, work, read, read_sums, no_rank):
    """Let counts, and all else that rides along, gain what reaches them from `read`."""
    heads, rows = program.heads, program.rows
    weights = Weights(work.weights, work.sum_weights, work.heavy)
    factor, flat = factor_of(burst), burst.length
    reach(heads, rows, p, SIDES[COUNT], read, work.reached)
    if heads[p, WEIGHTED]:
        weigh(events, burst, doublings_of(burst), weights, no_rank)
        if heads[p, SIDES[LONG] + SLOTS]:
            reach(heads, rows, p, SIDES[LONG], read, work.others)
            room = add_longs(
                heads, rows, p, work.cells, work.others, work.reached, factor, flat, weights,
                LARGEST_SUM / program.sizes[Size.MOST_ADDED],
            )  # fmt: skip
            if not room:
                work.outgrown[0] = True
        if heads[p, SIDES[DOUBLE] + SLOTS]:
            reach(heads, rows, p, SIDES[DOUBLE], read_sums, work.others_sums)
            add_doubles(
                heads, rows, p, work.sums, work.others_sums, work.reached, factor, flat, weights
            )
        if heads[p, SIDES[RANK] + SLOTS]:
            lower_ranks(
                heads, rows, p, read, work.cells, work.others, work.reached, weights,
                events.longs.shape[0] + 1, no_rank,
            )  # fmt: skip
    add_counts(heads, rows, p, work.cells, work.reached, factor, flat)


@inlined
def _totals_fit(program, work):
    """Whether nothing outgrew 64 bits, nor will the sums over END states; nor a sum of doubles."""
    largest, size = 0.0, 0.0
    for block in range(work.bounds.size):
        largest = max(largest, work.bounds[block])
    for n in range(work.sums.size):
        size += abs(work.sums[n])
    fits = largest * program.sizes[Size.MOST_ENDS] < 2.0**62 and math.isfinite(size)
    return fits and not work.outgrown[0]


@inlined
def _write_rows(program, work, found, rows, stretch, number):
    """Write a row for every query that has a trend; the number of rows then."""
    for query in range(program.totals.shape[0]):
        total, trends = program.totals[query], np.int64(0)
        for n in range(total[Total.BEGIN], total[Total.END]):
            trends += work.cells[program.ends[n, End.CELL]]
        if trends == 0:
            continue
        key, longs = found.keys[rows], found.longs[rows]
        key[0], key[1], key[2] = stretch[Stretch.PARTITION], number, query
        longs[0] = trends
        for n in range(total[Total.NEXT_BEGIN], total[Total.NEXT_END]):
            cell, column = program.ends[n, End.CELL], program.ends[n, End.COLUMN]
            if program.ends[n, End.KIND] == LONG:
                longs[column] += work.cells[cell]
            elif program.ends[n, End.KIND] == DOUBLE:
                found.doubles[rows, column] += work.sums[cell]
            else:
                longs[column] = min(longs[column], work.cells[cell])
        rows += 1
    return rows
