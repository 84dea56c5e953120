"""The arrays that the sweep kernels read: tables of several queries, and bursts of events.

An **event class** is a set of states, of all queries, in which one event can be. The programs of
the class define the effect of an event. One is for queries whose states of the class do not feed
each other, so that a burst has a closed form. The other is for the remaining queries, and runs
event by event. If the states of these queries form short chains, as in `A{2,}`, a third program has
the closed form of their bursts.

A program updates **slots**. A slot represents a cell, which is one number of one state of one
query. Adjacent slots are adjacent cells as far as possible, so a program is a few operations on
runs of cells.

There are few, plain tables, because each array that a kernel passes to another costs seven machine
words to compile and to pass.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.kinds import Kind
from elsinore.numbers.compiled import inlined, outlined

#: Kinds of operations on counts: whether the cells loop, and whether each has only one source;
#: additions of the sources of an earlier state of a chain, see `chain_multiples`.
LOOP, FLAT, LOOP_OF_MANY, FLAT_OF_MANY, CHAIN = range(5)

#: Kinds of cells: counts of trends, other integers, sums of doubles, extremes.
COUNT = 0
LONG, DOUBLE, RANK = (1 + kind for kind in Kind)

#: Columns of `Program.heads`: what a program has, as below; the range of its operations.
WEIGHTED, OP_START, OP_END = range(3)
#: Only counts, whose operations are in an order in which none feeds a later one; other cells than
#: counts; only counts, of states that feed each other in a circle.
NOT_WEIGHTED, IS_WEIGHTED, IN_A_CIRCLE = range(3)
#: Columns per kind of cell, from `SIDES[kind]`: the number of slots, then where links, runs and own
#: additions begin, and where own additions end.
SLOTS, LINK_START, RUN_START, OWN_START, OWN_END = range(5)
SIDES = tuple(3 + 5 * kind for kind in range(4))
HEAD = 23

#: Columns of `Program.classes`: the program with a closed form, the program without, and the closed
#: form of the latter's bursts of two or more events at rising times.
CLOSED, STEPWISE, CHAINED = range(3)

#: Columns of `Program.rows`.
ROW = 8


class Operation(IntEnum):
    """One update of a run of counts; its links count slots from the first slot of the run.

    An operation of the kind `CHAIN` has no links. `FIRST_LINK` is then the first row of
    `chain_multiples`, and `END_LINK` their column.
    """

    KIND, CELL, LENGTH, SOURCE, FIRST_LINK, END_LINK, BLOCK, SOURCE_BLOCK = range(ROW)


class Link(IntEnum):
    """Cells that can precede the events of slots, and their block."""

    SLOT, CELL, LENGTH, BLOCK = range(4)


class Run(IntEnum):
    """Slots and their own cells, each once, and whether they loop."""

    SLOT, CELL, LENGTH, LOOPS = range(4)


class Own(IntEnum):
    """Additions of events' weights to cells, for each trend that the slots of counts contain."""

    SLOT, CELL, LENGTH, LOOPS, COLUMN = range(5)


class Total(IntEnum):
    """Columns of totals: the ranges of the two parts of a query's row."""

    BEGIN, END, NEXT_BEGIN, NEXT_END = range(4)


class End(IntEnum):
    """Columns of `Program.ends`; `COLUMN` is the column of the row."""

    CELL, KIND, COLUMN = range(3)


class WindowRun(IntEnum):
    """Columns of runs of windows: entries of a partition, the first and last of their windows."""

    FIRST, END, PARTITION, NUMBER, LAST = range(5)


class Size(IntEnum):
    """Indices of `Program.sizes`: numbers of cells.

    The first `ONES` counts are always 1: starts of trends are links from them. Then follow the ends
    of counts and of all integers, the numbers of sums of doubles and of ranks, the most END states
    of a query, and the most cells that are added up at once.
    """

    ONES, COUNTS_END, CELLS, SUMS, RANKS, MOST_ENDS, MOST_ADDED = range(7)


class Program(NamedTuple):
    """Tables of several queries; P programs, Q queries.

    Counts and other integers are numbered together, sums of doubles and ranks separately.

    Attributes:
        classes: int64[Y, 3], by event class, see above; -1 for none.
        heads: int64[P, HEAD], see above.
        rows: int64[*, ROW], each an `Operation`, a `Link`, a `Run`, an `Own` addition, or one of
            `chain_multiples`.
        sizes: int64[*], see `Size`.
        blocks: int64[B + 1], the first cell of each block of counts; the first block has the ones.
            Bounds of counts are known per block.
        totals: int64[Q, 4], the range in `ends` of the END cells of a query's counts, then the
            range of the END cells of its other accumulators.
        ends: int64[*, 3], see `End`.
    """

    classes: np.ndarray
    heads: np.ndarray
    rows: np.ndarray
    sizes: np.ndarray
    blocks: np.ndarray
    totals: np.ndarray
    ends: np.ndarray


class Events(NamedTuple):
    """N events by partition, then time.

    Attributes:
        times: int64[N]; codes: int32[N]; class_of: int64[C], the class of a code, -1 for none.
        longs, doubles, ranks: int64[*, N], float64[*, N], int64[*, N], the columns of weights.
            Column 0 of long weights is 1 for every event, and is not here: column k is row k - 1.
    """

    times: np.ndarray
    codes: np.ndarray
    class_of: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class State(IntEnum):
    """Indices of `Found.state`: where to continue, and how much is written.

    BEGUN shows whether a run has begun. A sweep continues at an entry, a product of panes at a
    pane.
    """

    RUN, ENTRY, NUMBER, BEGUN, ROWS, OUTGROWN = range(6)


class Found(NamedTuple):
    """Rows that a kernel writes, and windows that it could not compute.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        longs: int64[R, *] or int64[R, *, 1 + D], counts and other integers; see `digits`.
        sums: float64[R, *] or float64[R, *, 2].
        ranks: int64[R, *].
        outgrown: int64[*, 5], runs of one window that need wider numbers, see `WindowRun`.
        state: int64[*], see `State`.
    """

    keys: np.ndarray
    longs: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray
    outgrown: np.ndarray
    state: np.ndarray


class Work(NamedTuple):
    """Scratch, without nested tuples, because they are slow to pass to a kernel.

    Attributes:
        cells, sums, ranks: the numbers of the current window.
        before, sums_before, ranks_before: the numbers before a timestamp.
        reached, others, others_sums, others_ranks: by slot, the value that reaches counts, and the
            values that reach other cells.
        weights, sum_weights, heavy: the weights of a burst, see `Weighed`.
        bounds: float64[B], an upper bound of the counts of each block, in 64 bits.
        outgrown: bool[1], whether the window outgrew 64 bits.
        spare: see `digits`.
    """

    cells: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray
    before: np.ndarray
    sums_before: np.ndarray
    ranks_before: np.ndarray
    reached: np.ndarray
    others: np.ndarray
    others_sums: np.ndarray
    others_ranks: np.ndarray
    weights: np.ndarray
    sum_weights: np.ndarray
    heavy: np.ndarray
    bounds: np.ndarray
    outgrown: np.ndarray
    spare: np.ndarray


class Cells(NamedTuple):
    """All cells at one time: integers, sums of doubles, ranks."""

    numbers: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray


def make_numbers(shape: tuple[int, ...], digits: int) -> np.ndarray:
    """Return integers of `digits` digits, all 0; without digits they have 64 bits."""
    return np.zeros((*shape, 1 + digits) if digits else shape, np.int64)


def make_sums(shape: tuple[int, ...], digits: int) -> np.ndarray:
    """Return sums of doubles, all 0, in the layout that belongs to such integers."""
    return np.zeros((*shape, 2) if digits else shape)


def make_work(program: Program, events: Events, digits: int = 0) -> Work:
    """Return scratch for a program, with integers of `digits` digits."""
    ones, _, cells, sums, ranks, _, _ = program.sizes.tolist()
    slots = [int(program.heads[:, side + SLOTS].max(initial=0)) + 1 for side in SIDES]
    work = Work(
        make_numbers((cells,), digits),
        make_sums((sums,), digits),
        np.zeros(ranks, np.int64),
        make_numbers((cells,), digits),
        make_sums((sums,), digits),
        np.zeros(ranks, np.int64),
        make_numbers((slots[COUNT],), digits),
        make_numbers((slots[LONG],), digits),
        make_sums((slots[DOUBLE],), digits),
        np.zeros(slots[RANK], np.int64),
        *make_weighed(events),
        np.zeros(program.blocks.size - 1),
        np.zeros(1, np.bool_),
        np.zeros((3, 1 + digits), np.int64),
    )
    work.cells.reshape(cells, -1)[:ones, :2] = 1  # one digit is in use, and it is 1
    return work


# ---- bursts

#: The most events of a burst, so that its factor fits a double exactly.
LONGEST = 52


class Burst(NamedTuple):
    """Entries that are applied together: all that have the code of the first one.

    Attributes:
        first: the first one; the others are before `after`.
        after: see `first`.
        length: how many they are; 0 if events at one timestamp are not all alike.
        rising: whether they are at rising times; otherwise they are at one timestamp.
    """

    first: int
    after: int
    length: int
    rising: bool


@inlined
def burst_at(events, first, after, end):
    """Return the burst that begins at an entry."""
    onward, length = _run_at(events, first, after, end)
    if length > 0:
        return Burst(first, onward, length, True)
    return instant_at(events, first, after)


@inlined
def single(entry):
    """Return the burst of a single entry."""
    return Burst(entry, entry + 1, 1, False)


@inlined
def factor_of(burst):
    """Return the multiple of the reaching value that a burst adds to slots that loop."""
    return (np.int64(1) << burst.length) - 1 if burst.rising else burst.length


@inlined
def doublings_of(burst):
    """Return how many times the first event's addition doubles until the last event."""
    return burst.length - 1 if burst.rising else 0


#: The most states of a chain.
LONGEST_CHAIN = 1 + ROW // 2


def chain_multiples() -> list[tuple[int, ...]]:
    """Return a row per length b of a burst: the multiples of what reaches a state of a chain.

    In a **chain**, each state feeds the next one, and only the last one can loop. Let t be the
    value that reaches a state from outside of its chain, or its own count that it passes on. A
    burst adds t to the state d transitions later once for each choice of d + 1 of its events. If
    that state loops, it adds t once for each choice of more than d of them.

    Columns 0 to 3 are for d = 1 to 4, and columns 4 to 7 for these d and a state that loops.

    >>> chain_multiples()[3]
    (3, 1, 0, 0, 4, 1, 0, 0)
    """
    rows = []
    for length in range(LONGEST + 1):
        some = [math.comb(length, chosen) for chosen in range(LONGEST_CHAIN + 1)]
        more = [2**length - sum(some[: d + 1]) for d in range(1, LONGEST_CHAIN)]
        rows.append((*some[2:], *more))
    return rows


@outlined
def _run_at(events, first, after, end):
    """Return the end and the length of a run of alike events at rising times.

    The run ends before a timestamp with several events; the length is 0 if it begins with one.
    """
    code, last = events.codes[first], events.times[first]
    length, newest, i = 1, first, first + 1
    while True:
        while (
            i < after
            and events.codes[i] == code
            and events.times[i] > last
            and events.times[i] < end
            and length < LONGEST
        ):
            last = events.times[i]
            newest = i
            length += 1
            i += 1
        while i < after and events.class_of[events.codes[i]] < 0:
            i += 1
        if i == after:
            return i, length
        if events.times[i] == last:
            return newest, length - 1
        if events.codes[i] != code or events.times[i] >= end or length == LONGEST:
            return i, length
        last = events.times[i]
        newest = i
        length += 1
        i += 1


@outlined
def instant_at(events, first, after):
    """Return the events at one timestamp as a burst."""
    time, code = events.times[first], events.codes[first]
    i, length, alike = first, 0, True
    while i < after and events.times[i] == time:
        if events.class_of[events.codes[i]] >= 0:
            length += 1
            alike &= events.codes[i] == code
        i += 1
    return Burst(first, i, length if alike else 0, False)


# ---- weights


class Weighed(NamedTuple):
    """The combined weights of a burst's events.

    Attributes:
        weights: int64[*], the number of events, sums of weights by column of integers, and the
            smallest ranks.
        sums: float64[*], by column of doubles.
        heavy: float64[*], upper bounds of the magnitudes of `weights`.
    """

    weights: np.ndarray
    sums: np.ndarray
    heavy: np.ndarray


def make_weighed(events: Events) -> Weighed:
    """Return room for the weights of bursts."""
    columns = events.longs.shape[0] + 1 + events.ranks.shape[0]
    return Weighed(
        np.zeros(columns, np.int64), np.zeros(events.doubles.shape[0]), np.zeros(columns)
    )


@outlined
def weigh(events, burst, weighed, no_rank):
    """Combine the weights of a burst's events in `weighed`."""
    first, after, longs = burst.first, burst.after, events.longs.shape[0]
    code, taken = events.codes[first], 0
    for i in range(first, after):
        taken += events.codes[i] == code
    weighed.weights[0], weighed.heavy[0] = taken, np.float64(taken)
    for k in range(longs):
        weight, size = np.int64(0), 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                weight += events.longs[k, i]
                size += abs(np.float64(events.longs[k, i]))
        weighed.weights[k + 1], weighed.heavy[k + 1] = weight, size
    for k in range(events.doubles.shape[0]):
        total = 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                total += events.doubles[k, i]
        weighed.sums[k] = total
    for k in range(events.ranks.shape[0]):
        lowest = no_rank
        for i in range(first, after):
            if events.codes[i] == code:
                lowest = min(lowest, events.ranks[k, i])
        weighed.weights[longs + 1 + k] = lowest
