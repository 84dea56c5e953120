"""What a burst, or the events of one instant, do to cells of 64 bits.

Let `t` be what reaches a slot: the counts of all that may come right before, with the slot's own
count where its state loops. Then events that do not precede each other add `m * t` together, and a
burst of b events of a state that loops adds `(2^b - 1) * t` (Hamlet Table 3). A weighted count
rides along: where `u` reaches it, it gains the same multiple of u, and `D * t` for what the events
weigh themselves (`sweep_weights`).
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.sweep_bursts import factor_of
from elsinore.kernels.sweep_program import (
    COUNT,
    DOUBLE,
    FLAT,
    LINK_START,
    LONG,
    LOOP,
    LOOP_OF_MANY,
    ONCE,
    OP_END,
    OP_START,
    OWN_END,
    OWN_START,
    RANK,
    RUN_START,
    SIDES,
    SLOTS,
    Link,
    Operation,
    Own,
    Run,
)

#: Counts stay below this, so that the sum of a few still fits 64 bits.
LARGEST_COUNT = 2.0**60
#: Other integers stay below this, over the number of cells that are added up at once.
LARGEST_SUM = 2.0**62


@inlined
def _add_run(target, source, length, factor):
    if factor == 1:  # products of 64 bits take three times as long as sums
        for i in range(length):
            target[i] += source[i]
    else:
        for i in range(length):
            target[i] += factor * source[i]


@inlined
def _add_loop(target, source, length, factor):
    if factor == 1:
        for i in range(length):
            target[i] += target[i] + source[i]
    else:
        for i in range(length):
            target[i] += factor * (target[i] + source[i])


@inlined
def run_ops(program, p, work, burst):
    """Let a burst bear on counts: slots that loop gain a multiple of what reaches them.

    Operations of a program do not feed each other, so each is looked at by itself: False if a count
    may outgrow its width.
    """
    rows, cells, bounds = program.rows, work.cells, work.bounds
    factor, flat = factor_of(burst), burst.length
    for o in range(program.heads[p, OP_START], program.heads[p, OP_END]):
        grown = _bound_after(rows, o, bounds, factor, flat)
        if grown >= LARGEST_COUNT:
            measure(program.blocks, cells, bounds)
            grown = _bound_after(rows, o, bounds, factor, flat)
            if grown >= LARGEST_COUNT:
                return False
        bounds[rows[o, Operation.BLOCK]] = grown
        kind, source = rows[o, Operation.KIND], rows[o, Operation.SOURCE]
        cell, length = rows[o, Operation.CELL], rows[o, Operation.LENGTH]
        if kind == FLAT and length == 1:
            cells[cell] += flat * cells[source]
            continue
        target = cells[cell : cell + length]
        if kind == LOOP:
            _add_loop(target, cells[source : source + length], length, factor)
        elif kind == FLAT:
            _add_run(target, cells[source : source + length], length, flat)
        else:
            reaching = work.others[:length]
            reaching[:] = 0
            for n in range(rows[o, Operation.FIRST_LINK], rows[o, Operation.END_LINK]):
                slot, other, size = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
                _add_run(reaching[slot : slot + size], cells[other : other + size], size, 1)
            if kind == LOOP_OF_MANY:
                _add_loop(target, reaching, length, factor)
            else:
                _add_run(target, reaching, length, flat)
    return True


@inlined
def _bound_after(rows, o, bounds, factor, flat):
    """The bound of an operation's block after it."""
    kind, own = rows[o, Operation.KIND], bounds[rows[o, Operation.BLOCK]]
    if kind in (LOOP, FLAT):
        reaching = bounds[rows[o, Operation.SOURCE_BLOCK]]
    else:
        reaching = 0.0
        for n in range(rows[o, Operation.FIRST_LINK], rows[o, Operation.END_LINK]):
            reaching += bounds[rows[n, Link.BLOCK]]
    if kind in (LOOP, LOOP_OF_MANY):
        return own + np.float64(factor) * (own + reaching)
    return own + np.float64(flat) * reaching


@inlined
def make_room(program, p, work, burst):
    """Whether counts have room for a burst; the bounds are then those after it."""
    if _grow(program, p, work.bounds, burst):
        return True
    measure(program.blocks, work.cells, work.bounds)
    return _grow(program, p, work.bounds, burst)


@inlined
def _grow(program, p, bounds, burst):
    """Let a burst bear on the bounds; False if a count may outgrow its width."""
    room, rows = True, program.rows
    factor, flat = np.float64(factor_of(burst)), np.float64(burst.length)
    for o in range(program.heads[p, OP_START], program.heads[p, OP_END]):
        bounds[rows[o, Operation.BLOCK]] = _bound_after(rows, o, bounds, factor, flat)
        room &= bounds[rows[o, Operation.BLOCK]] < LARGEST_COUNT
    return room


@outlined
def measure(blocks, cells, bounds):
    """Set the bounds to the largest count of each block."""
    for block in range(bounds.size):
        found = np.int64(0)
        for i in range(blocks[block], blocks[block + 1]):
            found = max(found, cells[i])
        bounds[block] = np.float64(found)


@outlined
def reach(heads, rows, p, side, cells, reached):
    """What reaches each slot: the sum of its sources, and its own cell where it loops."""
    reached[: heads[p, side + SLOTS]] = 0
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source, length = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
        for i in range(length):
            reached[slot + i] += cells[source + i]
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        if rows[n, Run.LOOPS]:
            for i in range(length):
                reached[slot + i] += cells[cell + i]


@outlined
def add_counts(heads, rows, p, write, reached, factor, flat):
    """Let counts gain multiples of what reaches them."""
    side = SIDES[COUNT]
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        times = factor if rows[n, Run.LOOPS] else flat
        for i in range(length):
            write[cell + i] += times * reached[slot + i]


@outlined
def add_longs(heads, rows, p, write, reached, counted, factor, flat, weights, limit):
    """Let weighted counts gain what a burst comes to; False if one is not below the limit."""
    side = SIDES[LONG]
    room: bool | np.bool_ = True
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        times = factor if rows[n, Run.LOOPS] else flat
        for i in range(length):
            more = np.float64(times) * np.float64(reached[slot + i])
            room &= abs(more) + abs(np.float64(write[cell + i])) < limit
            write[cell + i] += times * reached[slot + i]
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell, length = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.LENGTH]
        column = rows[n, Own.COLUMN]
        weight = weights.longs[column, rows[n, Own.LOOPS]]
        for i in range(length):
            room &= weights.heavy[column] * np.float64(counted[slot + i]) < limit
            write[cell + i] += weight * counted[slot + i]
            room &= abs(np.float64(write[cell + i])) < limit
    return room


@outlined
def add_doubles(heads, rows, p, write, reached, counted, factor, flat, weights):
    """Let sums of doubles gain what a burst comes to."""
    side = SIDES[DOUBLE]
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        times = np.float64(factor if rows[n, Run.LOOPS] else flat)
        for i in range(length):
            write[cell + i] += times * reached[slot + i]
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell, length = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.LENGTH]
        weight = weights.doubles[rows[n, Own.COLUMN], rows[n, Own.LOOPS]]
        for i in range(length):
            if counted[slot + i] != 0 and weight != 0.0:  # 0 * inf has no answer
                write[cell + i] += weight * np.float64(counted[slot + i])


@outlined
def lower_ranks(heads, rows, p, read, write, reached, counted, weights, first, no_rank):
    """Let extremes become the most extreme of what a burst brings: columns from `first` on."""
    side = SIDES[RANK]
    reached[: heads[p, side + SLOTS]] = no_rank
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source, length = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
        for i in range(length):
            reached[slot + i] = min(reached[slot + i], read[source + i])
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        for i in range(length):
            write[cell + i] = min(write[cell + i], reached[slot + i])
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        slot, cell, length = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.LENGTH]
        rank = weights.longs[first + rows[n, Own.COLUMN], ONCE]
        for i in range(length):
            if counted[slot + i] != 0:
                write[cell + i] = min(write[cell + i], rank)
