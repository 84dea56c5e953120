"""The sweep with numbers of any size: a burst is one shift and one addition a query.

It follows `sweep` step by step, with the same tables. Cells are rows of digits (`sweep_digits`), so
that all that a burst of b events does to a count is `count += (t << b) - t`. What is swept here is
known to be wide, so that nothing is ever worked out again.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined, unlocked
from elsinore.kernels.sweep_bursts import burst_at, doublings_of, single
from elsinore.kernels.sweep_digits import (
    SMALL,
    add_digits,
    add_multiple,
    add_shifted,
    copy_digits,
    double_digits,
    forget,
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
    ONCE,
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
    Link,
    Operation,
    Own,
    Run,
    Size,
    Stretch,
)
from elsinore.kernels.sweep_weights import weigh
from elsinore.kernels.sweep_wide_rows import write_wide
from elsinore.kernels.sweep_wide_sums import add_sums, own_sums

#: Sums of weights of this size may not fit 64 bits.
_LARGEST = 2.0**62


@unlocked
def sweep_wide(program, events, windows, within, slide, work, ranks, found):
    """Write the rows of windows, as far as there is room; how many windows are done.

    Args:
        program: see `sweep_program`, also for the events.
        events: all entries.
        windows: int64[W, 4], see `sweep_program.Stretch`.
        within: length of a window.
        slide: distance of the windows.
        work: scratch, see `sweep_wide_rows`.
        ranks: the first column of ranks in `program.ends`, and the rank of "no value".
        found: what is written.
    """
    first_rank, no_rank = ranks
    for w in range(windows.shape[0]):
        if found.keys.shape[0] - found.state[0] < program.totals.shape[0]:
            return w
        end = windows[w, Stretch.NUMBER] * slide + within
        _clear(program, work, no_rank)
        _sweep(program, events, windows[w], end, work, no_rank)
        write_wide(program, work, windows[w], first_rank, found)
    return windows.shape[0]


@outlined
def _sweep(program, events, window, end, work, no_rank):
    """Let the events of a window, up to a time, bear on the cells."""
    i, after = window[Stretch.FIRST], window[Stretch.END]
    while i < after and events.times[i] < end:
        symbol = events.symbol_of[events.codes[i]]
        if symbol < 0:
            i += 1
            continue
        burst = burst_at(events, i, after, end)
        mixed = burst.length == 0
        if mixed:
            _remember(program, work)
        for n in range(i, burst.after):
            symbol = events.symbol_of[events.codes[n]]
            if symbol < 0:
                continue
            for column in range(2):
                p, stepwise = program.symbols[symbol, column], column == STEPWISE
                alone = mixed or (burst.rising and stepwise)
                if p < 0 or (n > i and not alone):
                    continue
                part = single(n) if alone else burst
                _bear(program, events, p, stepwise, part, mixed, work, no_rank)
            if not mixed and (not burst.rising or program.symbols[symbol, STEPWISE] < 0):
                break
        i = burst.after


@inlined
def _clear(program, work, no_rank):
    """Begin a window without any trend."""
    for cell in range(program.sizes[Size.ONES], program.sizes[Size.LONGS_END]):
        forget(work.cells, cell)
    work.ranks[:] = no_rank
    work.sums[:] = 0.0


@outlined
def _remember(program, work):
    """Keep the cells as they are before the events of one time."""
    for cell in range(program.sizes[Size.LONGS_END]):
        copy_digits(work.before, cell, work.cells, cell)
    for n in range(work.ranks.size):
        work.ranks_before[n] = work.ranks[n]
    for n in range(work.sums.shape[0]):
        work.sums_before[n, 0], work.sums_before[n, 1] = work.sums[n, 0], work.sums[n, 1]


@inlined
def _bear(program, events, p, stepwise, burst, mixed, work, no_rank):
    """Let a burst, or equal events of one time, bear on the cells."""
    heads, rows, cells, reached = program.heads, program.rows, work.cells, work.reached
    if not (mixed or heads[p, WEIGHTED] or burst.length > SMALL or stepwise):
        _run_ops(heads, rows, p, burst, cells, reached, work.line, work.spare)
        return
    read = work.before if mixed else cells
    _reach(heads, rows, p, SIDES[COUNT], read, reached, work.line)
    if heads[p, WEIGHTED]:
        weigh(events, burst, 0, work.weights, no_rank)
        if heads[p, SIDES[LONG] + SLOTS]:
            _reach(heads, rows, p, SIDES[LONG], read, work.others, work.line)
            _gain(heads, rows, p, SIDES[LONG], cells, work.others, burst, work.line)
            _own_longs(heads, rows, p, events, burst, cells, reached, work.weights, work.line)
        if heads[p, SIDES[DOUBLE] + SLOTS]:
            read_sums = work.sums_before if mixed else work.sums
            add_sums(heads, rows, p, read_sums, work.sums, work.reached_sums, burst)
            own_sums(heads, rows, p, events, burst, work.sums, work.weights.doubles, reached)
        if heads[p, SIDES[RANK] + SLOTS]:
            for slot in range(heads[p, SIDES[COUNT] + SLOTS]):
                work.counted[slot] = reached.sizes[slot]
            lower_ranks(
                heads, rows, p, work.ranks_before if mixed else work.ranks, work.ranks,
                work.reached_ranks, work.counted, work.weights, events.longs.shape[0] + 1, no_rank,
            )  # fmt: skip
    _gain(heads, rows, p, SIDES[COUNT], cells, reached, burst, work.line)


@outlined
def _run_ops(heads, rows, p, burst, cells, reached, line, spare):
    """Let a burst, or equal events of one time, bear on counts alone, cell by cell."""
    length = burst.length
    for o in range(heads[p, OP_START], heads[p, OP_END]):
        kind, first = rows[o, Operation.KIND], rows[o, Operation.CELL]
        loops = kind in (LOOP, LOOP_OF_MANY)
        for i in range(rows[o, Operation.LENGTH]):
            cell = first + i
            if kind in (LOOP, FLAT):
                more, row = cells, rows[o, Operation.SOURCE] + i
            else:
                more, row = reached, np.int64(0)
                forget(reached, 0)
                for n in range(rows[o, Operation.FIRST_LINK], rows[o, Operation.END_LINK]):
                    place = i - rows[n, Link.SLOT]
                    if 0 <= place < rows[n, Link.LENGTH]:
                        add_digits(reached, 0, cells, rows[n, Link.CELL] + place, 1, line)
            if loops and burst.rising:
                double_digits(cells, cell, more, row, length, line, spare)
            else:
                if loops:  # m events of one time: count + m * (count + f)
                    add_digits(cells, cell, cells, cell, length, line)
                add_digits(cells, cell, more, row, length, line)


@outlined
def _reach(heads, rows, p, side, read, reached, line):
    """What reaches each slot: the sum of its sources, and its own cell where it loops."""
    for slot in range(heads[p, side + SLOTS]):
        forget(reached, slot)
    for n in range(heads[p, side + LINK_START], heads[p, side + RUN_START]):
        slot, source = rows[n, Link.SLOT], rows[n, Link.CELL]
        for i in range(rows[n, Link.LENGTH]):
            add_digits(reached, slot + i, read, source + i, 1, line)
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell = rows[n, Run.SLOT], rows[n, Run.CELL]
        if rows[n, Run.LOOPS]:
            for i in range(rows[n, Run.LENGTH]):
                add_digits(reached, slot + i, read, cell + i, 1, line)


@outlined
def _gain(heads, rows, p, side, cells, reached, burst, line):
    """Let integers gain multiples of what reaches them; the last one is to work in."""
    for n in range(heads[p, side + RUN_START], heads[p, side + OWN_START]):
        slot, cell = rows[n, Run.SLOT], rows[n, Run.CELL]
        for i in range(rows[n, Run.LENGTH]):
            if burst.rising and rows[n, Run.LOOPS]:
                add_shifted(cells, cell + i, reached, slot + i, burst.length, 1, line)
            elif burst.length <= SMALL:
                add_digits(cells, cell + i, reached, slot + i, burst.length, line)
            else:
                spare = cells.sizes.size - 1
                add_multiple(cells, cell + i, reached, slot + i, burst.length, 0, spare, line)


@outlined
def _own_longs(heads, rows, p, events, burst, cells, reached, weights, line):
    """Add what events weigh themselves for each trend that reaches them."""
    own, spare = SIDES[LONG], cells.sizes.size - 1
    for n in range(heads[p, own + OWN_START], heads[p, own + OWN_END]):
        slot, cell, column = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.COLUMN]
        shift = doublings_of(burst) if rows[n, Own.LOOPS] else 0
        together = weights.heavy[column] < _LARGEST
        for event in range(burst.first, burst.first + 1 if together else burst.after):
            if events.codes[event] != events.codes[burst.first]:
                continue
            # The sum of the events' weights, unless it may not fit 64 bits.
            weight = weights.longs[column, ONCE] if together else events.longs[column - 1, event]
            for i in range(rows[n, Own.LENGTH]):
                add_multiple(cells, cell + i, reached, slot + i, weight, shift, spare, line)
