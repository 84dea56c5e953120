"""The scratch of the Hamlet kernels, and what they write."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.hamlet_block import BLOCK
from elsinore.kernels.hamlet_graph import MergedGraph
from elsinore.kernels.hamlet_lanes import Lanes, make_lanes
from elsinore.kernels.pair_program import MAX_STACK

#: Snapshots that a burst propagates at most; with more, events keep values instead of coefficients.
MAX_SNAPSHOTS = 8

#: Numbers of a decision, see `Log`.
DECISION = 16


#: Rows of `Work.coefficients`: of the burst's sum, of what precedes an event, of the first event.
SUM, PART, FIRST = range(3)

#: A query's next window to open and to close in `MergedGraph.windows`; whether it shares a burst.
CURSOR = np.dtype([("opening", np.int64), ("closing", np.int64), ("chosen", np.bool_)])

#: A state's members: the first of an open window, the end, and the first row of lanes; bursts to
#: pass before coefficients are tried again.
STORE = np.dtype([(name, np.int64) for name in ("head", "tail", "base", "skips")])

#: How many members a program has found, and had for the burst's first event.
TALLY = np.dtype([(name, np.int64) for name in ("found", "first_found")])


class Work(NamedTuple):
    """Scratch for one partition after another.

    Attributes:
        lanes: first a row for each state: its events so far; then those below.
        total: the row of END events so far.
        stage: the first row of entries that are not kept, and of what enters a burst.
        snapshots: the first row of snapshots' values.
        over: bool[V], long lanes that outgrew the rung.
        cursors, stores, tallies: `CURSOR`[k], `STORE`[S], `TALLY`[programs + 1].
        entries: int64[S, room], the entry of each member.
        alive: bool[S, room], whether it ends any trend.
        hits: int64[room], members found last; sets: int64[*, room], members found by each program;
            first_sets: for the burst's first event.
        coefficients: int64[*, MAX_SNAPSHOTS]; weighted: int64[*, *, MAX_SNAPSHOTS], by column.
        long_sums, heavy, double_sums, lowest: int64[*, 2], float64[*], float64[*, 2], int64[*]: by
            column, see `hamlet_collapsed`.
        seen: int64[64], entries of a burst by class.
        longs, doubles, sure, one_long, one_double, one_sure: for pair programs, see `hamlet_block`.
        limbs: uint64[L].
        ledger: int64[16], see `Ledger`.
    """

    lanes: Lanes
    total: int
    stage: int
    snapshots: int
    over: np.ndarray
    cursors: np.ndarray
    stores: np.ndarray
    tallies: np.ndarray
    entries: np.ndarray
    alive: np.ndarray
    hits: np.ndarray
    sets: np.ndarray
    first_sets: np.ndarray
    coefficients: np.ndarray
    weighted: np.ndarray
    long_sums: np.ndarray
    heavy: np.ndarray
    double_sums: np.ndarray
    lowest: np.ndarray
    seen: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    sure: np.ndarray
    one_long: np.ndarray
    one_double: np.ndarray
    one_sure: np.ndarray
    limbs: np.ndarray
    ledger: np.ndarray


class Ledger:
    """Places of `Work.ledger`: running numbers, and counts of what was done."""

    BURSTS, SHARED, SPLIT, MERGED, GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS = range(6)
    EVENTS, SHARED_EVENTS, SINGLE, PAIRS = range(6, 10)
    GRAPHLET_STATE, GRAPHLET_EVENTS, GRAPHLET_LIVE, LAST_SHARED, LOW = range(10, 15)


class Output(NamedTuple):
    """A row for each window of `graph.windows`.

    Attributes:
        lanes: carriers of the window's query, in their order; what is beyond means nothing.
        outgrown: bool[R], windows whose row means nothing for want of width.
    """

    lanes: Lanes
    outgrown: np.ndarray


class Log(NamedTuple):
    """What an observer is told; arrays of no rows ask for nothing.

    Attributes:
        decisions: int64[*, DECISION]: burst, partition, state, first entry, b, n, s_p, s_c, k, g,
            t, whether any share, how many share, events of other queries' ..., see `hamlet_decide`.
        costs: float64[*, 2], shared and not.
        shares: bool[*, k], the queries that share.
        values: int64[*, 6]: burst, snapshot, entry (-1 at graphlet level), query, window, value.
        coefficients: int64[*, 4]: burst, entry (-1 for the sum), snapshot, coefficient.
        used: int64[3], rows wanted of `decisions`, `values` and `coefficients`.
    """

    decisions: np.ndarray
    costs: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    coefficients: np.ndarray
    used: np.ndarray


def make_log(queries: int, decisions: int, rows: int) -> Log:
    """A log with room for so many decisions, and values and coefficients."""
    return Log(
        np.zeros((decisions, DECISION), np.int64),
        np.zeros((decisions, 2)),
        np.zeros((decisions, queries), np.bool_),
        np.zeros((rows, 6), np.int64),
        np.zeros((rows, 4), np.int64),
        np.zeros(3, np.int64),
    )


def widths_of(graph: MergedGraph) -> tuple[int, int, int]:
    """Lanes of a row, by kind."""
    last = graph.queries[-1]
    return int(last["long_start"]), int(last["double_start"]), int(last["rank_start"])


def bytes_of_members(graph: MergedGraph, room: int, limbs: int) -> int:
    """What the lanes of members take."""
    longs, doubles, ranks = widths_of(graph)
    keeping = int((graph.kinds["plain"][:-1] == 0).sum())
    return keeping * room * 8 * (longs * limbs + 2 * doubles + ranks)


def make_work(graph: MergedGraph, room: int, burst: int, instant: int, limbs: int) -> Work:
    """Scratch for members of up to `room` entries a state, bursts and instants of given lengths."""
    states, queries = graph.kinds.size - 1, graph.queries.size - 1
    widths = widths_of(graph)
    keeping = graph.kinds["plain"][:states] == 0
    held = room if keeping.any() else 0
    programs, columns = graph.program_start.size, graph.long_weights.shape[0]
    deep = FIRST + burst if held else 0
    total, stage = states, states + 1
    snapshots = stage + max(instant, 3)
    first = snapshots + MAX_SNAPSHOTS
    stores = np.zeros(states, STORE)
    stores["base"] = first + (np.cumsum(keeping) - keeping) * held
    return Work(
        lanes=make_lanes(first + int(keeping.sum()) * held, widths, limbs, graph.no_rank),
        total=total,
        stage=stage,
        snapshots=snapshots,
        over=np.zeros(widths[0], np.bool_),
        cursors=np.zeros(queries, CURSOR),
        stores=stores,
        tallies=np.zeros(programs, TALLY),
        entries=np.zeros((states, held), np.int64),
        alive=np.zeros((states, held), np.bool_),
        hits=np.zeros(held, np.int64),
        sets=np.zeros((programs, held), np.int64),
        first_sets=np.zeros((programs, held), np.int64),
        coefficients=np.zeros((deep, MAX_SNAPSHOTS), np.int64),
        weighted=np.zeros((columns, deep, MAX_SNAPSHOTS), np.int64),
        long_sums=np.zeros((columns, 2), np.int64),
        heavy=np.zeros(columns),
        double_sums=np.zeros((graph.double_weights.shape[0], 2)),
        lowest=np.zeros(graph.ranks.shape[0], np.int64),
        seen=np.zeros(64, np.int64),
        longs=np.zeros((MAX_STACK, BLOCK), np.int64),
        doubles=np.zeros((MAX_STACK, BLOCK)),
        sure=np.zeros((MAX_STACK, BLOCK), np.bool_),
        one_long=np.zeros(2, np.int64),
        one_double=np.zeros(2),
        one_sure=np.zeros(2, np.bool_),
        limbs=np.empty(limbs, np.uint64),
        ledger=np.zeros(16, np.int64),
    )
