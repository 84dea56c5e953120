"""The arrays that the sweep kernels read: collapsed queries side by side, symbol by symbol.

A **symbol** is a set of states, of all queries, at which one event may stand. What an event does is
given by the programs of its symbol: one for queries whose states of the symbol do not feed each
other, so that a burst has a closed form, and one for the others, which is run event by event.

A program updates **slots**; a slot stands for a cell, which is one number of one state of one
query. Neighbours among slots are neighbours among cells as far as possible, so that what a program
does is a few operations on runs of cells.

Tables are few and plain, since each array that a kernel hands on to another is seven machine words
to compile and to pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: Kinds of operations on counts: whether the cells loop, and whether each has one cell as its only
#: source.
LOOP, FLAT, LOOP_OF_MANY, FLAT_OF_MANY = range(4)

#: Kinds of cells: counts of trends, other integers, sums of doubles, extremes.
COUNT, LONG, DOUBLE, RANK = range(4)

#: Columns of `Program.heads`: whether a program has other cells than counts; its operations.
WEIGHTED, OP_START, OP_END = range(3)
#: Columns of a kind, from `side(kind)` on: slots, then where its links, runs and own additions
#: begin, and where the latter end.
SLOTS, LINK_START, RUN_START, OWN_START, OWN_END = range(5)

HEAD = 23
#: Columns of `Program.rows`.
ROW = 8


class Program(NamedTuple):
    """Queries as tables; P programs, Q queries.

    Counts, other integers and ranks are numbered together as cells; sums of doubles by themselves.

    Attributes:
        symbols: int64[Y, 2], a symbol's program with a closed form, and that without; -1 for none.
        heads: int64[P, HEAD], see above.
        rows: int64[*, ROW]. Operations, what a program does to counts in one go: `(kind, cell,
            length, source cell, first link, end of links, block, source block)`, slots of these
            links counted from the operation's first. Links, what may precede a slot's events:
            `(slot, source cell, length, source block)`. Runs, in which each slot is once: `(slot,
            cell, length, whether they loop)`. Own additions of events: `(cell, slot of counts,
            length, column, whether they loop)`.
        sizes: int64[7]: ones; the ends of counts, of other integers, and of ranks; sums of doubles;
            the most END states of a query; the most cells that are added up at once. The first
            counts are one throughout: starts of trends are links from them.
        blocks: int64[B + 1], where each block of counts begins; the first is that of the ones. What
            is known of the size of counts is known block by block.
        totals: int64[Q, 4], where the END cells of a query's counts begin and end in `ends`, then
            those of its other carriers.
        ends: int64[*, 3], `(cell, kind, column of the row)`.
    """

    symbols: np.ndarray
    heads: np.ndarray
    rows: np.ndarray
    sizes: np.ndarray
    blocks: np.ndarray
    totals: np.ndarray
    ends: np.ndarray


class Events(NamedTuple):
    """N events by partition, then time.

    Attributes:
        times: int64[N]; codes: int32[N]; symbol_of: int64[C], the symbol of a code, -1 for none.
        longs, doubles, ranks: int64[*, N], float64[*, N], int64[*, N], the columns of weights.
            Column 0 of long weights is 1 for every event, and is not here: column k is row k - 1.
    """

    times: np.ndarray
    codes: np.ndarray
    symbol_of: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class Found(NamedTuple):
    """Rows that a kernel writes, and what it could not do.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        longs: int64[R, *], counts, then ranks; doubles: float64[R, *].
        outgrown: int64[*, 4], windows that need wider numbers: first entry, end, partition, number.
        state: int64[8], where to go on: stretch, entry, window number (if `state[3]`); then the
            numbers of rows and of outgrown windows.
    """

    keys: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    outgrown: np.ndarray
    state: np.ndarray


class Work(NamedTuple):
    """Scratch of the narrow sweep.

    Attributes:
        cells, sums: int64[*] and float64[*], the live window's.
        before, sums_before: as they were before an instant.
        reached, others, others_sums: by slot, what reaches counts, and what reaches other cells.
        weights: int64[columns, 2], D of `sweep_weights` for slots that do not loop, and that do;
            long columns, then ranks. sum_weights: float64[columns, 2], the same for doubles.
        heavy: float64[columns], an upper bound of D's size.
        bounds: float64[B], an upper bound of the counts of each block.
        outgrown: bool[1], whether the window outgrew 64 bits.
    """

    cells: np.ndarray
    sums: np.ndarray
    before: np.ndarray
    sums_before: np.ndarray
    reached: np.ndarray
    others: np.ndarray
    others_sums: np.ndarray
    weights: np.ndarray
    sum_weights: np.ndarray
    heavy: np.ndarray
    bounds: np.ndarray
    outgrown: np.ndarray


def side(kind: int) -> int:
    """The first column of a kind of cells in `Program.heads`."""
    return 3 + 5 * kind


def make_work(program: Program, events: Events) -> Work:
    """Scratch for a program."""
    ones, _, _, cells, sums, _, _ = program.sizes.tolist()
    slots = [int(program.heads[:, side(kind)].max(initial=0)) + 1 for kind in range(4)]
    longs = events.longs.shape[0] + 1 + events.ranks.shape[0]
    found = np.zeros(cells, np.int64)
    found[:ones] = 1
    return Work(
        found,
        np.zeros(sums),
        np.zeros(cells, np.int64),
        np.zeros(sums),
        np.zeros(slots[COUNT], np.int64),
        np.zeros(max(slots), np.int64),
        np.zeros(slots[DOUBLE]),
        np.zeros((longs, 2), np.int64),
        np.zeros((events.doubles.shape[0], 2)),
        np.zeros(longs),
        np.zeros(program.blocks.size - 1),
        np.zeros(1, np.bool_),
    )
