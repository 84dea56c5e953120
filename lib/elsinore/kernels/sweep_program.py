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

from enum import IntEnum
from typing import NamedTuple

import numpy as np

#: Kinds of operations on counts: whether the cells loop, and whether each has one cell as its only
#: source.
LOOP, FLAT, LOOP_OF_MANY, FLAT_OF_MANY = range(4)

#: Kinds of cells: counts of trends, other integers, sums of doubles, extremes.
COUNT, LONG, DOUBLE, RANK = range(4)

#: Columns of `Program.heads`: whether a program has other cells than counts; its operations.
WEIGHTED, OP_START, OP_END = range(3)
#: Columns of a kind, from `SIDES[kind]` on: slots, then where its links, runs and own additions
#: begin, and where the latter end.
SLOTS, LINK_START, RUN_START, OWN_START, OWN_END = range(5)
SIDES = tuple(3 + 5 * kind for kind in range(4))
HEAD = 23

#: Columns of `Program.symbols`: the program with a closed form, and that without.
CLOSED, STEPWISE = range(2)

#: Columns of `Program.rows`.
ROW = 8


class Operation(IntEnum):
    """What a program does to counts in one go; its links count slots from its own first one."""

    KIND, CELL, LENGTH, SOURCE, FIRST_LINK, END_LINK, BLOCK, SOURCE_BLOCK = range(ROW)


class Link(IntEnum):
    """What may precede the events of a slot: a cell, and its block."""

    SLOT, CELL, LENGTH, BLOCK = range(4)


class Run(IntEnum):
    """Slots and their own cells, each once, and whether they loop."""

    SLOT, CELL, LENGTH, LOOPS = range(4)


class Own(IntEnum):
    """What events add themselves to cells, for each trend of slots of counts."""

    SLOT, CELL, LENGTH, LOOPS, COLUMN = range(5)


class Total(IntEnum):
    """Columns of totals: where the two parts of a query's row begin and end."""

    BEGIN, END, NEXT_BEGIN, NEXT_END = range(4)


class End(IntEnum):
    """Columns of `Program.ends`; the last is the column of the row."""

    CELL, KIND, COLUMN = range(3)


class Stretch(IntEnum):
    """Columns of stretches: entries of a partition, and the first and the last of their windows.

    A window by itself has all columns but the last.
    """

    FIRST, END, PARTITION, NUMBER, LAST = range(5)


#: Columns of weights: for slots that do not loop, and that do.
ONCE, DOUBLED = range(2)


class Size(IntEnum):
    """Places of `Program.sizes`: how many cells there are.

    The first counts are one throughout: starts of trends are links from them. Where counts, other
    integers and ranks end; sums of doubles; the most END states of a query; the most cells that are
    added up at once.
    """

    ONES, COUNTS_END, LONGS_END, CELLS, SUMS, MOST_ENDS, MOST_ADDED = range(7)


class Program(NamedTuple):
    """Queries as tables; P programs, Q queries.

    Counts, other integers and ranks are numbered together as cells; sums of doubles by themselves.

    Attributes:
        symbols: int64[Y, 2], see above; -1 for none.
        heads: int64[P, HEAD], see above.
        rows: int64[*, ROW], each an `Operation`, a `Link`, a `Run`, or an `Own` addition.
        sizes: int64[*], see `Size`.
        blocks: int64[B + 1], where each block of counts begins; the first is that of the ones. What
            is known of the size of counts is known block by block.
        totals: int64[Q, 4], where the END cells of a query's counts begin and end in `ends`, then
            those of its other carriers.
        ends: int64[*, 3].
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


class State(IntEnum):
    """Places of `Found.state`: where to go on, if a stretch is begun, and how much is written.

    A sweep goes on at an entry, a product of panes at a pane.
    """

    STRETCH, ENTRY, NUMBER, BEGUN, ROWS, OUTGROWN = range(6)


class Found(NamedTuple):
    """Rows that a kernel writes, and what it could not do.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        longs: int64[R, *], counts, then ranks; doubles: float64[R, *].
        outgrown: int64[*, 4], windows that need wider numbers.
        state: int64[*], see `State`.
    """

    keys: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    outgrown: np.ndarray
    state: np.ndarray


class Weights(NamedTuple):
    """What the events of a burst weigh together: D of `sweep_weights`.

    Attributes:
        longs: int64[columns, 2], long columns, then ranks.
        doubles: float64[columns, 2].
        heavy: float64[columns], an upper bound of D's size for `longs`.
    """

    longs: np.ndarray
    doubles: np.ndarray
    heavy: np.ndarray


class Work(NamedTuple):
    """Scratch of the narrow sweep, without tuples in it: they are slow to hand to a kernel.

    Attributes:
        cells, sums: int64[*] and float64[*], the live window's.
        before, sums_before: as they were before an instant.
        reached, others, others_sums: by slot, what reaches counts, and what reaches other cells.
        weights, sum_weights, heavy: see `Weights`.
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


def slots_of(program: Program) -> list[int]:
    """Room for the slots of any program, by kind of cells."""
    return [int(program.heads[:, side + SLOTS].max(initial=0)) + 1 for side in SIDES]


def make_weights(events: Events) -> Weights:
    """Room for what a burst weighs."""
    longs = events.longs.shape[0] + 1 + events.ranks.shape[0]
    return Weights(
        np.zeros((longs, 2), np.int64), np.zeros((events.doubles.shape[0], 2)), np.zeros(longs)
    )


def make_work(program: Program, events: Events) -> Work:
    """Scratch for a program."""
    sizes, slots = program.sizes, slots_of(program)
    cells = np.zeros(sizes[Size.CELLS], np.int64)
    cells[: sizes[Size.ONES]] = 1
    return Work(
        cells,
        np.zeros(sizes[Size.SUMS]),
        np.zeros_like(cells),
        np.zeros(sizes[Size.SUMS]),
        np.zeros(slots[COUNT], np.int64),
        np.zeros(max(slots), np.int64),
        np.zeros(slots[DOUBLE]),
        *make_weights(events),
        np.zeros(program.blocks.size - 1),
        np.zeros(1, np.bool_),
    )
