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
from elsinore.kernels.sweep_program import (
    FLAT,
    LINK_START,
    LOOP,
    LOOP_OF_MANY,
    OP_END,
    OP_START,
    OWN_END,
    OWN_START,
    RUN_START,
    SLOTS,
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
def run_ops(program, p, cells, scratch, bounds, factor, flat):
    """Let a burst bear on counts: slots that loop gain `factor` times what reaches them.

    Operations of a program do not feed each other, so each is looked at by itself: False if a count
    may outgrow its width.
    """
    rows = program.rows
    for o in range(program.heads[p, OP_START], program.heads[p, OP_END]):
        grown = _bound_after(rows, o, bounds, factor, flat)
        if grown >= LARGEST_COUNT:
            measure(program.blocks, cells, bounds)
            grown = _bound_after(rows, o, bounds, factor, flat)
            if grown >= LARGEST_COUNT:
                return False
        bounds[rows[o, 6]] = grown
        kind, cell, length, source = rows[o, 0], rows[o, 1], rows[o, 2], rows[o, 3]
        if kind == FLAT and length == 1:
            cells[cell] += flat * cells[source]
            continue
        target = cells[cell : cell + length]
        if kind == LOOP:
            _add_loop(target, cells[source : source + length], length, factor)
        elif kind == FLAT:
            _add_run(target, cells[source : source + length], length, flat)
        else:
            reaching = scratch[:length]
            reaching[:] = 0
            for n in range(rows[o, 4], rows[o, 5]):
                slot, other, size = rows[n, 0], rows[n, 1], rows[n, 2]
                _add_run(reaching[slot : slot + size], cells[other : other + size], size, 1)
            if kind == LOOP_OF_MANY:
                _add_loop(target, reaching, length, factor)
            else:
                _add_run(target, reaching, length, flat)
    return True


@inlined
def _bound_after(rows, o, bounds, factor, flat):
    """The bound of an operation's block after it."""
    kind, own = rows[o, 0], bounds[rows[o, 6]]
    if kind in (LOOP, FLAT):
        reaching = bounds[rows[o, 7]]
    else:
        reaching = 0.0
        for n in range(rows[o, 4], rows[o, 5]):
            reaching += bounds[rows[n, 3]]
    if kind in (LOOP, LOOP_OF_MANY):
        return own + np.float64(factor) * (own + reaching)
    return own + np.float64(flat) * reaching


@inlined
def make_room(program, p, cells, bounds, factor, flat):
    """Whether counts have room for a burst; the bounds are then those after it."""
    if _grow(program.heads, program.rows, p, bounds, factor, flat):
        return True
    measure(program.blocks, cells, bounds)
    return _grow(program.heads, program.rows, p, bounds, factor, flat)


@inlined
def _grow(heads, rows, p, bounds, factor, flat):
    """Let a burst bear on the bounds; False if a count may outgrow its width."""
    room = True
    for o in range(heads[p, OP_START], heads[p, OP_END]):
        bounds[rows[o, 6]] = _bound_after(rows, o, bounds, factor, flat)
        room &= bounds[rows[o, 6]] < LARGEST_COUNT
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
        slot, source, length = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(length):
            reached[slot + i] += cells[source + i]
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        if rows[n, 3]:
            for i in range(length):
                reached[slot + i] += cells[cell + i]


@outlined
def add_counts(heads, rows, p, side, write, reached, factor, flat):
    """Let counts gain multiples of what reaches them."""
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        times = factor if rows[n, 3] else flat
        for i in range(length):
            write[cell + i] += times * reached[slot + i]


@outlined
def add_longs(heads, rows, p, side, write, reached, counted, factor, flat, weights, heavy, limit):
    """Let weighted counts gain what a burst comes to; False if one is not below the limit."""
    room: bool | np.bool_ = True
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        times = factor if rows[n, 3] else flat
        for i in range(length):
            more = np.float64(times) * np.float64(reached[slot + i])
            room &= abs(more) + abs(np.float64(write[cell + i])) < limit
            write[cell + i] += times * reached[slot + i]
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        cell, source, length, column = rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3]
        weight = weights[column, rows[n, 4]]
        for i in range(length):
            room &= heavy[column] * np.float64(counted[source + i]) < limit
            write[cell + i] += weight * counted[source + i]
            room &= abs(np.float64(write[cell + i])) < limit
    return room


@outlined
def add_doubles(heads, rows, p, side, write, reached, counted, factor, flat, weights):
    """Let sums of doubles gain what a burst comes to."""
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        times = np.float64(factor if rows[n, 3] else flat)
        for i in range(length):
            write[cell + i] += times * reached[slot + i]
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        cell, source, length = rows[n, 0], rows[n, 1], rows[n, 2]
        weight = weights[rows[n, 3], rows[n, 4]]
        for i in range(length):
            if counted[source + i] != 0 and weight != 0.0:  # 0 * inf has no answer
                write[cell + i] += weight * np.float64(counted[source + i])


@outlined
def lower_ranks(heads, rows, p, side, read, write, reached, counted, weights, first, no_rank):
    """Let extremes become the most extreme of what a burst brings: columns from `first` on."""
    reached[: heads[p, side + SLOTS]] = no_rank
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source, length = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(length):
            reached[slot + i] = min(reached[slot + i], read[source + i])
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(length):
            write[cell + i] = min(write[cell + i], reached[slot + i])
    for n in range(heads[p, side + OWN_START], heads[p, side + OWN_END]):
        cell, source, length = rows[n, 0], rows[n, 1], rows[n, 2]
        rank = weights[first + rows[n, 3], 0]
        for i in range(length):
            if counted[source + i] != 0:
                write[cell + i] = min(write[cell + i], rank)
