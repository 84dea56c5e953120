"""The scratch of the Hamlet kernels, and what they write."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import kernel
from elsinore.kernels.hamlet_block import BLOCK
from elsinore.kernels.hamlet_graph import MergedGraph, Weights, table
from elsinore.kernels.hamlet_lanes import Lanes, make_lanes
from elsinore.kernels.pair_program import MAX_STACK, Op, Stack
from elsinore.kernels.rows import Rows

#: Snapshots that a burst propagates at most; with more, events keep values instead of coefficients.
MAX_SNAPSHOTS = 8

#: Events of a burst at most; a longer run makes several.
LONGEST_BURST = 1024

#: Rows of `Work.coefficients`: of the burst's sum, of what precedes an event, of the first event.
SUM, PART, FIRST = range(3)

#: A query's next window to open and to close in `MergedGraph.windows`, and the lane of the latter
#: among those of the query.
CURSOR = table("opening", "closing", "lane")

#: Queries `low` to `high - 1`, neighbours at a state, do a burst in one way; where they share, they
#: are of one run.
PART_OF_PLAN = table("way", "run", "low", "high")

#: What is known of a state.
#: Members: the first of an open window, the end; the first row of lanes and the first place in
#: `Work.entries`, and how many there may be. The plan of the last burst: its parts, how many
#: queries share in all and by snapshots, for which lengths of bursts it holds. Pairs that programs
#: looked at and found, and the snapshots of the last burst behind other members.
STORE = table(
    *("head", "tail", "base", "start", "room"),
    *("part_start", "parts", "sharing", "by_snapshots", "low", "high"),
    *("looked", "found", "used"),
)

#: Bursts to pass before snapshots are tried again, and how many to pass next time.
PAUSE = table("left", "next")

#: How many members a program has found, and had for the burst's first event.
TALLY = table("found", "first_found")

#: A decision, by the letters of Equation 7, and both costs; `entry` is the burst's first event.
DECISION = np.dtype(
    [
        *((name, np.int64) for name in ("burst", "partition", "state", "entry")),
        *((name, np.int64) for name in ("b", "n", "s_p", "s_c", "k", "g", "t")),
        *((name, np.float64) for name in ("shared", "alone")),
    ]
)


class Extent(NamedTuple):
    """The most entries of any partition that are together.

    Attributes:
        live: int64[S], by state, within the reach before one of them.
        burst: in a run of one state.
        instant: at one time.
    """

    live: np.ndarray
    burst: int
    instant: int


@kernel
def _measure(offsets, times, states, reach, count, live, out):
    for p in range(offsets.size - 1):
        low = instant = burst = offsets[p]
        for s in range(count.size):
            count[s] = 0
        for entry in range(offsets[p], offsets[p + 1]):
            if times[entry] != times[instant]:
                instant = entry
            if states[entry] != states[burst]:
                burst = entry
            while times[low] <= times[entry] - reach:
                count[states[low]] -= 1
                low += 1
            s = states[entry]
            count[s] += 1
            live[s] = max(live[s], count[s])
            out[0] = max(out[0], entry - burst + 1)
            out[1] = max(out[1], entry - instant + 1)


def measure(graph: MergedGraph) -> Extent:
    """The extent of a graph's partitions; the reach is the length of the longest window."""
    size, reach = graph.kinds.size - 1, int(graph.queries["within"].max())
    live, found = np.zeros(size, np.int64), np.zeros(2, np.int64)
    count = np.zeros(size, np.int64)
    _measure(graph.offsets, graph.times, graph.states, reach, count, live, found)
    burst, instant = found.tolist()
    return Extent(live, burst, instant)


class Work(NamedTuple):
    """Scratch for one partition after another, the same on every rung.

    Rows of `Lanes`: first one for each state, its events so far; then those that are named here;
    then those of members, events that a program may ask for.

    Attributes:
        starts: the row that counts a trend in each open window.
        total: the row of END events so far.
        stage: the first row of entries that are not kept.
        snapshots: the first row of snapshots' values.
        cursors, stores, tallies: `CURSOR`[k], `STORE`[S], `TALLY`[programs + 1].
        pauses: `PAUSE`[S, 2], for bursts without and with members before them.
        entries: int64[M], the entry of each member.
        alive: bool[M], whether it ends any trend.
        sets: int64[programs + 1, room], places of members found by each program, then others.
        first_sets: int64[programs, room], those for a burst's first event.
        stack: of pair programs, each place for `BLOCK` pairs; one: of a single pair.
        scan: address of `hamlet_block.scan`.
        ways: int8[S, k], how each query does the present burst, see `hamlet_decide`.
        parts: `PART_OF_PLAN`[*], the same by state, in runs.
        coefficients: int64[*, MAX_SNAPSHOTS]; weighted: int64[*, *, MAX_SNAPSHOTS], by column.
        sums: of a burst and of an instant, see `hamlet_collapsed`; heavy: float64[*], by column.
        seen: int64[64], entries of a burst by class.
        ledger: int64[*], see `Ledger`.
        decisions: `DECISION`[*], the first ones, as many as there is room for.
        shares: bool[*, k], the queries that share.
    """

    starts: int
    total: int
    stage: int
    snapshots: int
    cursors: np.ndarray
    stores: np.ndarray
    tallies: np.ndarray
    pauses: np.ndarray
    entries: np.ndarray
    alive: np.ndarray
    sets: np.ndarray
    first_sets: np.ndarray
    stack: Stack
    one: Stack
    scan: int
    ways: np.ndarray
    parts: np.ndarray
    coefficients: np.ndarray
    weighted: np.ndarray
    sums: Weights
    heavy: np.ndarray
    seen: np.ndarray
    ledger: np.ndarray
    decisions: np.ndarray
    shares: np.ndarray


class Ledger(IntEnum):
    """Places of `Work.ledger`: running numbers, and counts of what was done.

    Then of the present graphlet: its state (-1 for none), its events, its snapshots and how many
    queries shared its last burst; then the first entry that a window holds which is open, and how
    many windows are; then how many decisions wanted to be noted.
    """

    BURSTS, SHARED, SPLIT, MERGED, GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS = range(6)
    EVENTS, SHARED_EVENTS, SINGLE, PAIRS = range(6, 10)
    GRAPHLET_STATE, GRAPHLET_EVENTS, GRAPHLET_LIVE, LAST_SHARED, LOW, OPEN = range(10, 16)
    DECISIONS = 16


class Output(NamedTuple):
    """A row for each window of `graph.windows`.

    Attributes:
        rows: carriers of the window's query, in their order; what is beyond means nothing.
        outgrown: bool[R], windows whose row means nothing for want of width.
    """

    rows: Rows
    outgrown: np.ndarray


def _widths_of(graph: MergedGraph) -> tuple[int, int, int]:
    """Lanes of a row, by kind."""
    last = graph.queries[-1]
    return int(last["long_start"]), int(last["double_start"]), int(last["rank_start"])


def _rooms(graph: MergedGraph, extent: Extent) -> np.ndarray:
    """int64[S], members of each state at once, with some more so that they seldom move."""
    kinds = graph.kinds[:-1]
    kept = extent.live + extent.live // 2 + extent.instant
    passing = np.minimum(extent.live, min(extent.burst, LONGEST_BURST) + extent.instant)
    rooms: np.ndarray = np.where(kinds["kept"] != 0, kept, passing)
    return np.where(kinds["plain"] != 0, 0, rooms)


def bytes_of_members(graph: MergedGraph, extent: Extent, limbs: int) -> int:
    """What the lanes of members take."""
    longs, doubles, ranks = _widths_of(graph)
    return int(_rooms(graph, extent).sum()) * 8 * (longs * limbs + 2 * doubles + ranks)


def make_lanes_for(graph: MergedGraph, work: Work, limbs: int) -> Lanes:
    """The lanes that go with a scratch, on the rung of so many limbs."""
    rows = work.snapshots + MAX_SNAPSHOTS + work.entries.size
    return make_lanes(rows, _widths_of(graph), limbs, graph.no_rank)


def make_work(graph: MergedGraph, extent: Extent, noted: int) -> Work:
    """Scratch for partitions of a given extent, without the address of `scan`.

    `noted` is how many decisions there is room for.
    """
    states, queries = graph.kinds.size - 1, graph.queries.size - 1
    rooms = _rooms(graph, extent)
    members, room = int(rooms.sum()), int(rooms.max(initial=0))
    deep = FIRST + min(extent.burst, LONGEST_BURST) + extent.instant if members else 0
    programs = graph.program_start.size - 1
    pushing = int((graph.program[:, 0] <= Op.OPEN).sum()) if members else 0
    stage = states + 2
    snapshots = stage + max(extent.instant, 2)
    stores = np.zeros(states, STORE)
    stores["room"], stores["start"] = rooms, np.cumsum(rooms) - rooms
    stores["base"] = snapshots + MAX_SNAPSHOTS + stores["start"]
    sizes = _members_of(graph)
    stores["part_start"] = np.cumsum(sizes) - sizes
    columns = tuple(len(each) for each in graph.weights)
    return Work(
        starts=states,
        total=states + 1,
        stage=stage,
        snapshots=snapshots,
        cursors=np.zeros(queries, CURSOR),
        stores=stores,
        tallies=np.zeros(programs + 1, TALLY),
        pauses=np.zeros((states, 2), PAUSE),
        entries=np.zeros(members, np.int64),
        alive=np.zeros(members, np.bool_),
        sets=np.zeros((programs + 1, room), np.int64),
        first_sets=np.zeros((programs, room), np.int64),
        stack=_make_stack(min(pushing, MAX_STACK), BLOCK),
        one=_make_stack(2),
        scan=0,
        ways=np.zeros((states, queries), np.int8),
        parts=np.zeros(int(sizes.sum()), PART_OF_PLAN),
        coefficients=np.zeros((deep, MAX_SNAPSHOTS), np.int64),
        weighted=np.zeros((columns[0], deep, MAX_SNAPSHOTS), np.int64),
        sums=Weights(
            np.zeros((columns[0], 2), np.int64),
            np.zeros((columns[1], 2)),
            np.zeros((columns[2], 2), np.int64),
        ),
        heavy=np.zeros(columns[0]),
        seen=np.zeros(64, np.int64),
        ledger=np.zeros(len(Ledger), np.int64),
        decisions=np.zeros(noted, DECISION),
        shares=np.zeros((noted, queries), np.bool_),
    )


def _members_of(graph: MergedGraph) -> np.ndarray:
    """int64[S], how many queries have each state."""
    sizes = np.concatenate([[0], np.cumsum(graph.runs["high"] - graph.runs["low"])])
    starts = graph.kinds["run_start"]
    found: np.ndarray = sizes[starts[1:]] - sizes[starts[:-1]]
    return found


def _make_stack(*shape: int) -> Stack:
    return Stack(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.bool_))
