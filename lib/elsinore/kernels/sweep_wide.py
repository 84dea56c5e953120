"""The sweep with numbers of any size: a burst is one shift and one addition a query.

It follows `sweep` step by step, with the same tables. Cells are rows of digits (`sweep_digits`), so
that all that a burst of b events does to a count is `count += (t << b) - t`. What is swept here is
known to be wide, so that nothing is ever worked out again.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined, unlocked
from elsinore.kernels.sweep_bursts import burst_at, instant_at
from elsinore.kernels.sweep_digits import (
    SMALL,
    add_digits,
    add_multiple,
    add_shifted,
    copy_digits,
    double_digits,
)
from elsinore.kernels.sweep_narrow import lower_ranks
from elsinore.kernels.sweep_program import (
    COUNT,
    DOUBLE,
    FLAT,
    LINK_START,
    LONG,
    LOOP,
    LOOP_OF_MANY,
    OP_END,
    OP_START,
    OWN_END,
    OWN_START,
    RANK,
    RUN_START,
    SLOTS,
    WEIGHTED,
    side,
)
from elsinore.kernels.sweep_weights import weigh
from elsinore.kernels.sweep_wide_sums import add_sums, own_sums

#: Sums of weights of this size may not fit 64 bits.
_LARGEST = 2.0**62

_SIDES = tuple(side(kind) for kind in range(4))


@unlocked
def sweep_wide(program, events, low, after, end, work, no_rank):
    """Let the events of one window, from entry `low` up to time `end`, bear on clear cells."""
    _clear(program, work, no_rank)
    i = low
    while i < after and events.times[i] < end:
        symbol = events.symbol_of[events.codes[i]]
        if symbol < 0:
            i += 1
            continue
        onward, length = burst_at(events, i, after, end)
        burst = length > 0
        if not burst:
            onward, length = instant_at(events, i, after)
        mixed = length == 0
        if mixed:
            _remember(program, work)
        for n in range(i, onward):
            symbol = events.symbol_of[events.codes[n]]
            if symbol < 0:
                continue
            for column in range(2):
                p = program.symbols[symbol, column]
                single = mixed or (burst and column == 1)
                if p < 0 or (n > i and not single):
                    continue
                after_these, many = (n + 1, 1) if single else (onward, length)
                together = burst and not single
                _bear(
                    program, events, p, column == 1, n, after_these, many, together, mixed, work,
                    no_rank,
                )  # fmt: skip
            if not mixed and (not burst or program.symbols[symbol, 1] < 0):
                break
        i = onward


@inlined
def _clear(program, work, no_rank):
    """Begin a window without any trend."""
    for cell in range(program.sizes[0], program.sizes[2]):
        work.digits[cell, : work.sizes[cell]] = 0
        work.sizes[cell] = 0
    work.ranks[:] = no_rank
    work.sums[:] = 0.0


@outlined
def _remember(program, work):
    """Keep the cells as they are before the events of one time."""
    for cell in range(program.sizes[2]):
        copy_digits(work.before, work.sizes_before, cell, work.digits, work.sizes, cell)
    for n in range(work.ranks.size):
        work.ranks_before[n] = work.ranks[n]
    for n in range(work.sums.shape[0]):
        work.sums_before[n, 0], work.sums_before[n, 1] = work.sums[n, 0], work.sums[n, 1]


@inlined
def _bear(program, events, p, tangled, first, after, length, burst, mixed, work, no_rank):
    """Let a burst, or equal events of one time, bear on the cells."""
    heads, rows = program.heads, program.rows
    if not (mixed or heads[p, WEIGHTED] or length > SMALL or tangled):
        _run_ops(
            heads, rows, p, length, burst, work.digits, work.sizes, work.reached,
            work.reached_sizes, work.line, work.spare,
        )  # fmt: skip
        return
    read = work.before if mixed else work.digits
    read_sizes = work.sizes_before if mixed else work.sizes
    _reach(heads, rows, p, _SIDES[COUNT], read, read_sizes, work.reached, work.reached_sizes,
           work.line)  # fmt: skip
    if heads[p, WEIGHTED]:
        weigh(events, first, after, 0, work.weights, work.sum_weights, work.heavy, no_rank)
        doublings = length - 1 if burst else 0
        if heads[p, _SIDES[LONG] + SLOTS]:
            _reach(heads, rows, p, _SIDES[LONG], read, read_sizes, work.others, work.other_sizes,
                   work.line)  # fmt: skip
            _gain(
                heads, rows, p, _SIDES[LONG], work.digits, work.sizes, work.others,
                work.other_sizes, length, burst, work.line,
            )  # fmt: skip
            _own_longs(
                heads, rows, p, doublings, events, first, after, work.digits, work.sizes,
                work.reached, work.reached_sizes, work.weights, work.heavy, work.line,
            )  # fmt: skip
        if heads[p, _SIDES[DOUBLE] + SLOTS]:
            add_sums(
                heads, rows, p, work.sums_before if mixed else work.sums, work.sums,
                work.reached_sums, length, burst,
            )  # fmt: skip
            own_sums(
                heads, rows, p, doublings, events, first, after, work.sums, work.sum_weights,
                work.reached, work.reached_sizes,
            )  # fmt: skip
        if heads[p, _SIDES[RANK] + SLOTS]:
            for slot in range(heads[p, _SIDES[COUNT] + SLOTS]):
                work.counted[slot] = work.reached_sizes[slot]
            lower_ranks(
                heads, rows, p, _SIDES[RANK], work.ranks_before if mixed else work.ranks,
                work.ranks, work.reached_ranks, work.counted, work.weights,
                events.longs.shape[0] + 1, no_rank,
            )  # fmt: skip
    _gain(
        heads, rows, p, _SIDES[COUNT], work.digits, work.sizes, work.reached, work.reached_sizes,
        length, burst, work.line,
    )  # fmt: skip


@outlined
def _run_ops(heads, rows, p, length, burst, digits, sizes, reached, reached_sizes, line, spare):
    """Let a burst, or equal events of one time, bear on counts alone, cell by cell."""
    for o in range(heads[p, OP_START], heads[p, OP_END]):
        kind, cell, source = rows[o, 0], rows[o, 1], rows[o, 3]
        loops = kind in (LOOP, LOOP_OF_MANY)
        for i in range(rows[o, 2]):
            if kind in (LOOP, FLAT):
                more, more_sizes, row = digits, sizes, source + i
            else:
                more, more_sizes, row = reached, reached_sizes, np.int64(0)
                reached[0, : reached_sizes[0]] = 0
                reached_sizes[0] = 0
                for n in range(rows[o, 4], rows[o, 5]):
                    place = i - rows[n, 0]
                    if 0 <= place < rows[n, 2]:
                        add_digits(
                            reached, reached_sizes, 0, digits, sizes, rows[n, 1] + place, 1, line
                        )
            if loops and burst:
                double_digits(digits, sizes, cell + i, more, more_sizes, row, length, line, spare)
            else:
                if loops:  # m events of one time: count + m * (count + f)
                    add_digits(digits, sizes, cell + i, digits, sizes, cell + i, length, line)
                add_digits(digits, sizes, cell + i, more, more_sizes, row, length, line)


@outlined
def _reach(heads, rows, p, side, read, read_sizes, reached, reached_sizes, line):
    """What reaches each slot: the sum of its sources, and its own cell where it loops."""
    for slot in range(heads[p, side + SLOTS]):
        reached[slot, : reached_sizes[slot]] = 0
        reached_sizes[slot] = 0
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source, length = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(length):
            add_digits(reached, reached_sizes, slot + i, read, read_sizes, source + i, 1, line)
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell, length = rows[n, 0], rows[n, 1], rows[n, 2]
        if rows[n, 3]:
            for i in range(length):
                add_digits(reached, reached_sizes, slot + i, read, read_sizes, cell + i, 1, line)


@outlined
def _gain(heads, rows, p, side_of, digits, sizes, reached, reached_sizes, length, burst, line):
    """Let integers gain multiples of what reaches them; the last row is to work in."""
    for n in range(heads[p, side_of + RUN_START], heads[p, side_of + OWN_START]):
        slot, cell, size = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(size):
            if burst and rows[n, 3]:
                add_shifted(
                    digits, sizes, cell + i, reached, reached_sizes, slot + i, length, 1, line
                )
            elif length <= SMALL:
                add_digits(digits, sizes, cell + i, reached, reached_sizes, slot + i, length, line)
            else:
                add_multiple(
                    digits, sizes, cell + i, reached, reached_sizes, slot + i, length, 0,
                    sizes.size - 1, line,
                )  # fmt: skip


@outlined
def _own_longs(
    heads, rows, p, doublings, events, first, after, digits, sizes, reached, reached_sizes,
    weights, heavy, line,
):  # fmt: skip
    """Add what events weigh themselves for each trend that reaches them."""
    own = _SIDES[LONG]
    for n in range(heads[p, own + OWN_START], heads[p, own + OWN_END]):
        cell, source, length, column = rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3]
        shift, together = doublings if rows[n, 4] else 0, heavy[column] < _LARGEST
        for event in range(first, first + 1 if together else after):
            if events.codes[event] != events.codes[first]:
                continue
            # The sum of the events' weights, unless it may not fit 64 bits.
            weight = weights[column, 0] if together else events.longs[column - 1, event]
            for i in range(length):
                add_multiple(
                    digits, sizes, cell + i, reached, reached_sizes, source + i, weight, shift,
                    sizes.size - 1, line,
                )  # fmt: skip
