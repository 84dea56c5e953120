"""The sweep kernel: one pass over the events of a window for all queries.

It runs queries without edge predicates and NOT. The events of a window are taken burst by burst
(Hamlet, Definition 4.1): a burst is a run of events of one class at rising times. Events at one
timestamp all read the cells as they were before it.

Let `t` be the value that reaches a slot: the counts of everything that can come right before, plus
the slot's own count if its state loops. Then m events that do not precede each other add `m * t`.
A burst of b events of a state that loops adds `(2^b - 1) * t` (Hamlet, Table 3).

Weighted counts are updated together with counts. If `u` reaches a weighted count, it gains the same
multiple of u, plus `D * t` for the weights of the events. Let W be the sum of the weights of a
burst. 2^j times the value before the burst reaches its j-th event (from 0), and each later event
doubles the addition. So D is `2^(b-1) * W` if the state loops and times rise, otherwise W.

If the states of a class form a chain, as in `A{2,}`, an event of a burst also adds what earlier
events of the burst passed on to later states (`sweep_program.chain_multiples`).

The code is the same for numbers of 64 bits and of any size (`digits`). With 64 bits, a bound
per block of counts is stored in doubles. A window that could exceed it is left to wider numbers,
whose width is known to be enough beforehand.
"""

from __future__ import annotations

import math

import numpy as np

from elsinore.executors.linear.kernels.digits import (
    add,
    add_loop,
    add_run,
    add_sum,
    add_weighed,
    add_weight,
    clear,
    clear_sums,
    copy_numbers,
    copy_sums,
    gain,
    is_zero,
)
from elsinore.executors.linear.kernels.sweep_program import (
    CHAIN,
    CHAINED,
    CLOSED,
    COUNT,
    DOUBLE,
    FLAT,
    IS_WEIGHTED,
    LINK_START,
    LONG,
    LOOP,
    LOOP_OF_MANY,
    NOT_WEIGHTED,
    OP_END,
    OP_START,
    OWN_END,
    OWN_START,
    RANK,
    RUN_START,
    SIDES,
    SLOTS,
    STEPWISE,
    WEIGHTED,
    Cells,
    End,
    Link,
    Operation,
    Own,
    Run,
    Size,
    State,
    Total,
    Weighed,
    WindowRun,
    burst_at,
    doublings_of,
    factor_of,
    single,
    weigh,
)
from elsinore.numbers.compiled import inlined, kernel, outlined, unlocked

#: Counts stay below this, so the sum of a few still fits in 64 bits.
LARGEST_COUNT = 2.0**60
#: Other integers stay below this, divided by the number of cells that are added up at once.
LARGEST_SUM = 2.0**62


@unlocked
def sweep(program, events, runs, within, slide, work, no_rank, found):
    """Write the rows of all windows of some runs of windows until the output is full.

    `runs` are int64[*, 5], see `sweep_program.WindowRun`. The dimensions of the numbers in `work`
    determine their width. Return whether all runs are done. If not, call again with rows to spare;
    `found.state` records where to continue.
    """
    queries = program.totals.shape[0]
    n, low, number = found.state[State.RUN], found.state[State.ENTRY], found.state[State.NUMBER]
    begun, rows, outgrown = found.state[State.BEGUN], np.int64(0), np.int64(0)
    while n < runs.shape[0]:
        run = runs[n]
        if not begun:
            low, number, begun = run[WindowRun.FIRST], run[WindowRun.NUMBER], np.int64(1)
        while low < run[WindowRun.END]:
            number = max(number, (events.times[low] - within) // slide + 1)
            start = number * slide
            if number > run[WindowRun.LAST]:
                break
            if events.times[low] < start:
                while low < run[WindowRun.END] and events.times[low] < start:
                    low += 1
                continue
            if rows + queries > found.keys.shape[0] or outgrown == found.outgrown.shape[0]:
                stop_at(found, n, low, number, 1, rows, outgrown)
                return False
            _begin_window(program, work, no_rank)
            high = sweep_events(
                program, events, low, run[WindowRun.END], start + within, work, no_rank
            )
            if _totals_fit(work.cells, program, work):
                rows = _write_rows(program, work, found, rows, run, number)
            else:
                put_off(found, outgrown, low, run, number)
                outgrown += 1
            number += 1
            if slide >= within:
                low = high
        n += 1
        begun = np.int64(0)
    stop_at(found, n, low, number, 0, rows, outgrown)
    return True


@inlined
def stop_at(found, run, entry, number, begun, rows, outgrown):
    """Record where to continue, and how much is written."""
    found.state[State.RUN], found.state[State.ENTRY] = run, entry
    found.state[State.NUMBER], found.state[State.BEGUN] = number, begun
    found.state[State.ROWS], found.state[State.OUTGROWN] = rows, outgrown


@inlined
def put_off(found, place, entry, run, number):
    """Leave the window of a run that begins with an entry to wider numbers."""
    window = found.outgrown[place]
    window[WindowRun.FIRST], window[WindowRun.END] = entry, run[WindowRun.END]
    window[WindowRun.PARTITION] = run[WindowRun.PARTITION]
    window[WindowRun.NUMBER] = window[WindowRun.LAST] = number


@inlined
def _begin_window(program, work, no_rank):
    """Start a window without any trend."""
    ones = program.sizes[Size.ONES]
    clear(work.cells[ones:], program.sizes[Size.CELLS] - ones)
    clear_sums(work.sums, work.sums.shape[0])
    for n in range(work.ranks.size):
        work.ranks[n] = no_rank
    work.bounds[:] = 0.0
    work.bounds[0] = 1.0
    work.outgrown[0] = False


@inlined
def sweep_events(program, events, first, after, end, work, no_rank):
    """Apply the events before `end` to the cells; return the first entry at or after `end`.

    Stop earlier if the window outgrows 64 bits.
    """
    i = first
    now = Cells(work.cells, work.sums, work.ranks)
    while i < after and events.times[i] < end:
        number = events.class_of[events.codes[i]]
        if number < 0:
            i += 1
            continue
        burst = burst_at(events, i, after, end)
        if burst.length == 0:
            _mix(program, events, burst, work, no_rank)
        else:
            p = program.classes[number, CLOSED]
            if p >= 0:
                if _is_simple(work.cells, burst) and not program.heads[p, WEIGHTED]:
                    _run_operations(program, p, work, burst)
                else:
                    _carry(program, events, p, burst, work, now, no_rank)
            p = program.classes[number, STEPWISE]
            if p >= 0:
                once = burst.length == 1
                if burst.rising and not once and program.classes[number, CHAINED] >= 0:
                    p, once = program.classes[number, CHAINED], True
                in_order = program.heads[p, WEIGHTED] == NOT_WEIGHTED
                if in_order and once and _is_simple(work.cells, burst):
                    _run_operations(program, p, work, burst)
                else:
                    _step(program, events, p, burst, work, no_rank)
        if work.outgrown[0]:
            return i
        i = burst.after
    return i


@inlined
def _is_simple(cells, burst):
    """Return whether operations can update the counts: digits double only at rising times."""
    if cells.ndim == 1:
        return True
    return burst.rising


@outlined
def _step(program, events, p, burst, work, no_rank):
    """Apply a burst event by event, because its events can precede each other in several states."""
    code = events.codes[burst.first]
    in_order = program.heads[p, WEIGHTED] == NOT_WEIGHTED
    now = Cells(work.cells, work.sums, work.ranks)
    for i in range(burst.first, burst.after if burst.rising else burst.first + 1):
        if events.codes[i] == code:
            part = single(i) if burst.rising else burst
            if in_order and _is_simple(work.cells, part):
                _run_operations(program, p, work, part)
            else:
                _carry(program, events, p, part, work, now, no_rank)


@outlined
def _mix(program, events, burst, work, no_rank):
    """Apply the events of one timestamp to the cells as they were before it."""
    before = Cells(work.before, work.sums_before, work.ranks_before)
    copy_numbers(work.before, work.cells)
    copy_sums(work.sums_before, work.sums)
    for n in range(work.ranks.size):
        work.ranks_before[n] = work.ranks[n]
    for i in range(burst.first, burst.after):
        number = events.class_of[events.codes[i]]
        for column in range(2 if number >= 0 else 0):
            p = program.classes[number, column]
            if p >= 0:
                _carry(program, events, p, single(i), work, before, no_rank)


# ---- counts only


@inlined
def _run_operations(program, p, work, burst):
    """Apply a burst to counts; no operation of a program feeds a later one."""
    rows, cells, spare = program.rows, work.cells, work.spare
    factor, flat = factor_of(burst), burst.length
    for o in range(program.heads[p, OP_START], program.heads[p, OP_END]):
        if not _fits(cells, program, o, work, factor, flat):
            work.outgrown[0] = True
            return
        kind, source = rows[o, Operation.KIND], rows[o, Operation.SOURCE]
        cell, length = rows[o, Operation.CELL], rows[o, Operation.LENGTH]
        if kind == FLAT and length == 1:
            add(cells, cell, cells, source, flat, spare)
            continue
        target = cells[cell : cell + length]
        if kind == LOOP:
            add_loop(target, cells[source : source + length], length, factor, flat, spare)
        elif kind == FLAT:
            add_run(target, cells[source : source + length], length, flat, spare)
        elif kind == CHAIN:
            multiple = _chain_multiple(rows, o, flat)
            if multiple:
                add_run(target, cells[source : source + length], length, multiple, spare)
        else:
            reaching = work.reached[:length]
            clear(reaching, length)
            for n in range(rows[o, Operation.FIRST_LINK], rows[o, Operation.END_LINK]):
                slot, other, size = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
                add_run(reaching[slot : slot + size], cells[other : other + size], size, 1, spare)
            if kind == LOOP_OF_MANY:
                add_loop(target, reaching, length, factor, flat, spare)
            else:
                add_run(target, reaching, length, flat, spare)


@inlined
def _fits(cells, program, o, work, factor, flat):
    """Return whether all counts of an operation stay within 64 bits.

    If so, raise the bound of its block.
    """
    if cells.ndim == 1:
        grown = _bound_after(program.rows, o, work.bounds, factor, flat)
        if grown >= LARGEST_COUNT:
            measure(program.blocks, cells, work.bounds)
            grown = _bound_after(program.rows, o, work.bounds, factor, flat)
            if grown >= LARGEST_COUNT:
                return False
        work.bounds[program.rows[o, Operation.BLOCK]] = grown
    return True


@inlined
def _chain_multiple(rows, o, length):
    """Return the multiple that an operation of the kind `CHAIN` adds for a burst."""
    return rows[rows[o, Operation.FIRST_LINK] + length, rows[o, Operation.END_LINK]]


@inlined
def _bound_after(rows, o, bounds, factor, flat):
    """Return the bound of an operation's block after the operation."""
    kind, own = rows[o, Operation.KIND], bounds[rows[o, Operation.BLOCK]]
    if kind in (LOOP, FLAT, CHAIN):
        reaching = bounds[rows[o, Operation.SOURCE_BLOCK]]
    else:
        reaching = 0.0
        for n in range(rows[o, Operation.FIRST_LINK], rows[o, Operation.END_LINK]):
            reaching += bounds[rows[n, Link.BLOCK]]
    if kind in (LOOP, LOOP_OF_MANY):
        return own + np.float64(factor) * (own + reaching)
    if kind == CHAIN:
        return own + np.float64(_chain_multiple(rows, o, flat)) * reaching
    return own + np.float64(flat) * reaching


@outlined
def measure(blocks, cells, bounds):
    """Set the bounds to the largest count of each block."""
    for block in range(bounds.size):
        found = np.int64(0)
        for i in range(blocks[block], blocks[block + 1]):
            found = max(found, cells[i])
        bounds[block] = np.float64(found)


# ---- counts and all other accumulators


@outlined
def _carry(program, events, p, burst, work, read, no_rank):
    """Apply a burst to counts and all other accumulators; `read`, a `Cells`, has the sources."""
    heads, rows, spare = program.heads, program.rows, work.spare
    if not _has_room(work.cells, program, p, work, burst):
        work.outgrown[0] = True
        return
    _reach(heads, rows, p, SIDES[COUNT], read.numbers, work.reached, spare)
    if heads[p, WEIGHTED] == IS_WEIGHTED:
        weigh(events, burst, Weighed(work.weights, work.sum_weights, work.heavy), no_rank)
        if heads[p, SIDES[LONG] + SLOTS]:
            _reach(heads, rows, p, SIDES[LONG], read.numbers, work.others, spare)
            _add_longs(program, events, p, burst, work)
        if heads[p, SIDES[DOUBLE] + SLOTS]:
            _add_doubles(program, events, p, burst, work, read.sums)
        if heads[p, SIDES[RANK] + SLOTS]:
            _lower_ranks(heads, rows, p, events, work, read.ranks, no_rank)
    _gain_all(heads, rows, p, SIDES[COUNT], burst, work.cells, work.reached, LARGEST_SUM, spare)


@inlined
def _has_room(cells, program, p, work, burst):
    """Return whether counts have room for a burst, and raise their bounds."""
    if cells.ndim == 1:
        factor, flat = factor_of(burst), burst.length
        for attempt in range(2):
            room = True
            for o in range(program.heads[p, OP_START], program.heads[p, OP_END]):
                grown = _bound_after(program.rows, o, work.bounds, factor, flat)
                work.bounds[program.rows[o, Operation.BLOCK]] = grown
                room &= grown < LARGEST_COUNT
            if room:
                return True
            if attempt == 0:
                measure(program.blocks, cells, work.bounds)
        return False
    return True


@outlined
def _reach(heads, rows, p, side, cells, reached, spare):
    """Write the sum that reaches each slot: its sources, and its own cell if it loops."""
    clear(reached, heads[p, side + SLOTS])
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source, length = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
        for i in range(length):
            add(reached, slot + i, cells, source + i, 1, spare)
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        if rows[n, Run.LOOPS]:
            for i in range(length):
                add(reached, slot + i, cells, cell + i, 1, spare)


@inlined
def _gain_all(heads, rows, p, side, burst, cells, reached, limit, spare):
    """Add multiples of what reaches them to integers; return whether all are below the limit."""
    room: bool | np.bool_ = True
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        loops = rows[n, Run.LOOPS] != 0
        for i in range(length):
            room &= gain(cells, cell + i, reached, slot + i, burst, loops, limit, spare)
    return room


@outlined
def _add_longs(program, events, p, burst, work):
    """Apply a burst to weighted counts."""
    heads, rows, side = program.heads, program.rows, SIDES[LONG]
    limit = LARGEST_SUM / program.sizes[Size.MOST_ADDED]
    room = _gain_all(heads, rows, p, side, burst, work.cells, work.others, limit, work.spare)
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell, column = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.COLUMN]
        shift = doublings_of(burst) if rows[n, Own.LOOPS] else 0
        together = work.heavy[column] < LARGEST_SUM  # else the sum of weights may not fit 64 bits
        size = work.heavy[column] * np.float64(np.int64(1) << shift)
        for event in range(burst.first, burst.first + 1 if together else burst.after):
            if events.codes[event] != events.codes[burst.first]:
                continue
            weight = work.weights[column] if together else events.longs[column - 1, event]
            for i in range(rows[n, Own.LENGTH]):
                room &= add_weighed(
                    work.cells, cell + i, weight, shift, work.reached, slot + i, size, limit,
                    work.spare,
                )  # fmt: skip
    if not room:
        work.outgrown[0] = True


@outlined
def _add_doubles(program, events, p, burst, work, read):
    """Apply a burst to sums of doubles."""
    heads, rows, side, reached = program.heads, program.rows, SIDES[DOUBLE], work.others_sums
    clear_sums(reached, heads[p, side + SLOTS])
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source = rows[n, Link.SLOT], rows[n, Link.CELL]
        for i in range(rows[n, Link.LENGTH]):
            add_sum(reached, slot + i, read, source + i, 1.0)
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell = rows[n, Run.SLOT], rows[n, Run.CELL]
        for i in range(rows[n, Run.LENGTH] if rows[n, Run.LOOPS] else 0):
            add_sum(reached, slot + i, read, cell + i, 1.0)
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell = rows[n, Run.SLOT], rows[n, Run.CELL]
        times = np.float64(factor_of(burst) if rows[n, Run.LOOPS] else burst.length)
        for i in range(rows[n, Run.LENGTH]):
            add_sum(work.sums, cell + i, reached, slot + i, times)
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell, column = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.COLUMN]
        shift = doublings_of(burst) if rows[n, Own.LOOPS] else 0
        together = math.isfinite(work.sum_weights[column])
        for event in range(burst.first, burst.first + 1 if together else burst.after):
            if events.codes[event] != events.codes[burst.first]:
                continue
            weight = work.sum_weights[column] if together else events.doubles[column, event]
            for i in range(rows[n, Own.LENGTH] if weight != 0.0 else 0):
                if not is_zero(work.reached, slot + i):  # 0 * inf is NaN
                    add_weight(work.sums, cell + i, weight, shift, work.reached, slot + i)


@outlined
def _lower_ranks(heads, rows, p, events, work, read, no_rank):
    """Apply a burst to extremes."""
    side, reached, first = SIDES[RANK], work.others_ranks, events.longs.shape[0] + 1
    reached[: heads[p, side + SLOTS]] = no_rank
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source = rows[n, Link.SLOT], rows[n, Link.CELL]
        for i in range(rows[n, Link.LENGTH]):
            reached[slot + i] = min(reached[slot + i], read[source + i])
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell = rows[n, Run.SLOT], rows[n, Run.CELL]
        for i in range(rows[n, Run.LENGTH]):
            work.ranks[cell + i] = min(work.ranks[cell + i], reached[slot + i])
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell = rows[n, Own.SLOT], rows[n, Own.CELL]
        rank = work.weights[first + rows[n, Own.COLUMN]]
        for i in range(rows[n, Own.LENGTH]):
            if not is_zero(work.reached, slot + i):
                work.ranks[cell + i] = min(work.ranks[cell + i], rank)


# ---- output rows


@inlined
def _totals_fit(cells, program, work):
    """Return whether all numbers, the sums over END states and sums of doubles fit in 64 bits."""
    if cells.ndim == 1:
        largest, size = 0.0, 0.0
        for block in range(work.bounds.size):
            largest = max(largest, work.bounds[block])
        for n in range(work.sums.size):
            size += abs(work.sums[n])
        fits = largest * program.sizes[Size.MOST_ENDS] < LARGEST_SUM and math.isfinite(size)
        return fits and not work.outgrown[0]
    return True


@inlined
def _write_rows(program, work, found, rows, run, number):
    """Write a row for every query that has a trend; return the number of rows."""
    for query in range(program.totals.shape[0]):
        total, trends = program.totals[query], False
        for n in range(total[Total.BEGIN], total[Total.END]):
            trends |= not is_zero(work.cells, program.ends[n, End.CELL])
        if not trends:
            continue
        key, longs, ranks = found.keys[rows], found.longs[rows], found.ranks
        key[0], key[1], key[2] = run[WindowRun.PARTITION], number, query
        for n in range(total[Total.BEGIN], total[Total.END]):
            add(longs, 0, work.cells, program.ends[n, End.CELL], 1, work.spare)
        for n in range(total[Total.NEXT_BEGIN], total[Total.NEXT_END]):
            cell, column = program.ends[n, End.CELL], program.ends[n, End.COLUMN]
            if program.ends[n, End.KIND] == LONG:
                add(longs, column, work.cells, cell, 1, work.spare)
            elif program.ends[n, End.KIND] == DOUBLE:
                add_sum(found.sums[rows], column, work.sums, cell, 1.0)
            else:
                ranks[rows, column] = min(ranks[rows, column], work.ranks[cell])
        rows += 1
    return rows


@kernel
def count_classes(events, windows, within, slide, counts):
    """Add the number of events of each class to `counts`, int64[W, Y].

    `windows` are int64[W, 5] of one window per row, see `sweep_program.WindowRun`.
    """
    for w in range(windows.shape[0]):
        end = windows[w, WindowRun.NUMBER] * slide + within
        i = windows[w, WindowRun.FIRST]
        while i < windows[w, WindowRun.END] and events.times[i] < end:
            number = events.class_of[events.codes[i]]
            if number >= 0:
                counts[w, number] += 1
            i += 1
