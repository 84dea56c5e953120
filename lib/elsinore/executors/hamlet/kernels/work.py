"""The scratch and the output of the Hamlet kernels."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.hamlet.kernels.extent import Extent
from elsinore.executors.hamlet.kernels.graph import MergedGraph, table
from elsinore.executors.input.kernels.pair_program import Stack, make_stack
from elsinore.numbers.rows import Rows, make_rows

#: The most snapshots of a burst; with more, events have values instead of coefficients.
MAX_SNAPSHOTS = 8

#: The most events of a burst; a longer run is split at the next timestamp.
LONGEST_BURST = 1024

#: Rows of `Work.coefficients`: the burst's sum, an event's predecessors, the first event.
SUM, PART, FIRST = range(3)

#: A query's next windows to open and to close, as indices of `MergedGraph.windows`, and the lane
#: of the window to close among the query's lanes.
CURSOR = table("opening", "closing", "lane")

#: Neighboring queries `low` to `high - 1` of a state that run a burst in one way. If they share,
#: they belong to one run.
PART_OF_PLAN = table("way", "run", "low", "high")

#: The state of a merged state.
#: Members: the first one in an open window, the end; the first row of lanes, the first index in
#: `Block.entries`, and the capacity. The plan of the last burst: its parts, how many queries share
#: in total and by snapshots, the burst lengths for which it holds. The pairs that programs compared
#: and found. The snapshots of the last burst with members before it.
STORE = table(
    *("head", "tail", "base", "start", "room"),
    *("part_start", "parts", "sharing", "by_snapshots", "low", "high"),
    *("looked", "found", "used"),
)

#: How many members a program has found, for the current event and for the burst's first event.
TALLY = table("found", "first_found")


class Block(NamedTuple):
    """Members of the states, and the members that programs find; the same at every precision level.

    Attributes:
        entries: int64[M], the entry of each member.
        alive: bool[M], whether any trend ends at it.
        sets: int64[programs + 1, room], indices of members found by each program, then by others.
        first_sets: int64[programs, room], the members found for a burst's first event.
        stack: the stack of pair programs.
    """

    entries: np.ndarray
    alive: np.ndarray
    sets: np.ndarray
    first_sets: np.ndarray
    stack: Stack


class Work(NamedTuple):
    """Scratch for one partition after another.

    Attributes:
        lanes: first a row for each state, the sum of its events so far; then the rows below.
        block: members.
        total: the row of END events so far.
        stage: the first row of entries that are not kept, and of trends that enter a burst.
        snapshots: the first row of snapshots' values.
        over: bool[V], integer lanes that outgrew the precision level.
        cursors, stores, tallies: `CURSOR`[k], `STORE`[S], `TALLY`[programs + 1].
        skips, waits: int64[S, 2], bursts to skip before coefficients are tried again, and the
            previous such number; without members before the burst, and with.
        ways: int8[S, k], how each query runs the current burst, see `ways`.
        parts: `PART_OF_PLAN`[*], the same by state, in runs.
        coefficients: int64[*, MAX_SNAPSHOTS]; weighted: int64[*, *, MAX_SNAPSHOTS], by column.
        long_sums, heavy, double_sums, lowest: int64[*, 2], float64[*], float64[*, 2], int64[*, 1]:
            by column, see `collapsed`.
        seen: int64[64], entries of a burst by class.
        limbs: uint64[L].
        ledger: int64[*], see `Ledger`.
        scan: address of `sets.scan`.
    """

    lanes: Rows
    block: Block
    total: int
    stage: int
    snapshots: int
    over: np.ndarray
    cursors: np.ndarray
    stores: np.ndarray
    tallies: np.ndarray
    skips: np.ndarray
    waits: np.ndarray
    ways: np.ndarray
    parts: np.ndarray
    coefficients: np.ndarray
    weighted: np.ndarray
    long_sums: np.ndarray
    heavy: np.ndarray
    double_sums: np.ndarray
    lowest: np.ndarray
    seen: np.ndarray
    limbs: np.ndarray
    ledger: np.ndarray
    scan: int


class Ledger(IntEnum):
    """Indices of `Work.ledger`: running numbers, and counts of the work done.

    GRAPHLET_STATE to LAST_SHARED describe the current graphlet: its state (-1 for none), its
    events, its snapshots, and how many queries shared its last burst. LOW is the first entry in an
    open window, and OPEN the number of queries with an open window.
    """

    BURSTS, SHARED, SPLIT, MERGED, EVENT_SNAPSHOTS = range(5)
    EVENTS, SHARED_EVENTS, SINGLE, PAIRS = range(5, 9)
    GRAPHLET_STATE, GRAPHLET_EVENTS, GRAPHLET_LIVE, LAST_SHARED, LOW, OPEN = range(9, 15)


class Output(NamedTuple):
    """A row for each window of `graph.windows`.

    Attributes:
        lanes: accumulators of the window's query, in order; the other columns are unused.
        outgrown: bool[R], windows whose row is invalid because a number did not fit.
    """

    lanes: Rows
    outgrown: np.ndarray


def widths_of(graph: MergedGraph) -> tuple[int, int, int]:
    """Return the number of lanes of a row by kind: integers, doubles, ranks."""
    last = graph.queries[-1]
    return int(last["long_start"]), int(last["double_start"]), int(last["rank_start"])


def _rooms(graph: MergedGraph, extent: Extent) -> np.ndarray:
    """Return the capacity for members of each state, int64[S].

    It has a reserve, so that members seldom move.
    """
    kinds = graph.kinds[:-1]
    kept = extent.live + extent.live // 2 + extent.instant
    passing = np.minimum(extent.live, min(extent.burst, LONGEST_BURST) + extent.instant)
    rooms: np.ndarray = np.where(kinds["kept"] != 0, kept, passing)
    return np.where(kinds["plain"] != 0, 0, rooms)


def bytes_of_members(graph: MergedGraph, extent: Extent, limbs: int) -> int:
    """Return the bytes that the lanes of members need."""
    longs, doubles, ranks = widths_of(graph)
    return int(_rooms(graph, extent).sum()) * 8 * (longs * limbs + 2 * doubles + ranks)


def make_work(graph: MergedGraph, extent: Extent, limbs: int) -> Work:
    """Return scratch for partitions of a given extent; the address of `scan` is 0."""
    states, queries = graph.kinds.size - 1, graph.queries.size - 1
    widths, rooms = widths_of(graph), _rooms(graph, extent)
    members = int(rooms.sum())
    columns = graph.long_weights.shape[0]
    deep = FIRST + min(extent.burst, LONGEST_BURST) + extent.instant if members else 0
    total, stage = states, states + 1
    snapshots = stage + max(extent.instant, 3)
    first = snapshots + MAX_SNAPSHOTS
    stores = np.zeros(states, STORE)
    stores["room"], stores["start"] = rooms, np.cumsum(rooms) - rooms
    stores["base"] = first + stores["start"]
    sizes = _members_of(graph)
    stores["part_start"] = np.cumsum(sizes) - sizes
    return Work(
        lanes=make_rows(first + members, *widths, limbs, graph.no_rank),
        block=_make_block(graph, members, int(rooms.max(initial=0))),
        total=total,
        stage=stage,
        snapshots=snapshots,
        over=np.zeros(widths[0], np.bool_),
        cursors=np.zeros(queries, CURSOR),
        stores=stores,
        tallies=np.zeros(graph.program_start.size, TALLY),
        skips=np.zeros((states, 2), np.int64),
        waits=np.zeros((states, 2), np.int64),
        ways=np.zeros((states, queries), np.int8),
        parts=np.zeros(int(sizes.sum()), PART_OF_PLAN),
        coefficients=np.zeros((deep, MAX_SNAPSHOTS), np.int64),
        weighted=np.zeros((columns, deep, MAX_SNAPSHOTS), np.int64),
        long_sums=np.zeros((columns, 2), np.int64),
        heavy=np.zeros(columns),
        double_sums=np.zeros((graph.double_weights.shape[0], 2)),
        lowest=np.zeros((graph.ranks.shape[0], 1), np.int64),
        seen=np.zeros(64, np.int64),
        limbs=np.empty(limbs, np.uint64),
        ledger=np.zeros(len(Ledger), np.int64),
        scan=0,
    )


def _members_of(graph: MergedGraph) -> np.ndarray:
    """Return int64[S], how many queries have each state."""
    sizes = np.concatenate([[0], np.cumsum(graph.runs["high"] - graph.runs["low"])])
    starts = graph.kinds["run_start"]
    found: np.ndarray = sizes[starts[1:]] - sizes[starts[:-1]]
    return found


def _make_block(graph: MergedGraph, members: int, room: int) -> Block:
    programs = graph.program_start.size - 1
    return Block(
        entries=np.zeros(members, np.int64),
        alive=np.zeros(members, np.bool_),
        sets=np.zeros((programs + 1, room), np.int64),
        first_sets=np.zeros((programs, room), np.int64),
        stack=make_stack(graph.program, graph.program_start, members),
    )
