"""Hamlet's executor: one pass over a partition's events for all queries of a sharable set.

Algorithm 1 runs over bursts instead of events. A burst is a maximal run of events of one type
between two window borders (Definition 4.1); Elsinore decides per burst which queries share it.
Events of several types at one timestamp belong to no burst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.hamlet.kernels.coefficients import share_coefficients
from elsinore.executors.hamlet.kernels.collapsed import share_collapsed, step_collapsed
from elsinore.executors.hamlet.kernels.decide import decide, plan_burst
from elsinore.executors.hamlet.kernels.extent import Extent
from elsinore.executors.hamlet.kernels.graph import MergedGraph
from elsinore.executors.hamlet.kernels.lanes import add_lanes, any_lane, clear_lanes
from elsinore.executors.hamlet.kernels.log import COEFFICIENTS, VALUES
from elsinore.executors.hamlet.kernels.sets import add_members, scan
from elsinore.executors.hamlet.kernels.steps import (
    enter,
    enter_burst,
    enter_event,
    own,
    repeat,
    settle,
)
from elsinore.executors.hamlet.kernels.ways import ALONE, BESIDE, SHARED
from elsinore.executors.hamlet.kernels.windows import begin_partition, close_all, pass_border
from elsinore.executors.hamlet.kernels.work import LONGEST_BURST, Ledger, Work, make_work
from elsinore.numbers.borrowed import INTEGER, address_of, borrow, borrowed_types, call
from elsinore.numbers.compiled import inlined, kernel

#: After too many snapshots, they are not tried again for this many bursts. The number doubles with
#: each failure, up to the second value.
_PATIENCE, _LONGEST_PATIENCE = 16, 1 << 12


class Addresses(NamedTuple):
    """Addresses of functions that are compiled separately."""

    plan_burst: int
    share_collapsed: int
    step_collapsed: int
    share_coefficients: int
    share_adjacency: int
    step_instant: int
    pass_border: int
    close_all: int


def prepare_work(graph: MergedGraph, extent: Extent, limbs: int) -> Work:
    """Return scratch for partitions of a given extent, with counts of `limbs` limbs."""
    found = make_work(graph, extent, limbs)
    kinds = borrowed_types(graph, found.block)
    return found._replace(scan=address_of(scan, *kinds, *[INTEGER] * 6))


def addresses_for(*tuples: NamedTuple) -> Addresses:
    """Return the separately compiled functions for arguments of these types.

    `tuples` are a graph, work, output, policy and log. The functions are compiled, or loaded from
    the cache, on the first call.
    """
    graph, work, output, policy, log = borrowed_types(*tuples)
    number, narrow = INTEGER, tuples[1].lanes.counts.ndim == 2  # type: ignore[attr-defined]
    return Addresses(
        plan_burst=address_of(plan_burst, graph, work, policy, log, *[number] * 4),
        share_collapsed=address_of(share_collapsed, graph, work, log, *[number] * 6),
        step_collapsed=address_of(step_collapsed, graph, work, *[number] * 5),
        share_coefficients=(  # expressions support only one limb
            address_of(share_coefficients, graph, work, log, *[number] * 3) if narrow else 0
        ),
        share_adjacency=address_of(share_adjacency, graph, work, *[number] * 5),
        step_instant=address_of(step_instant, graph, work, *[number] * 2),
        pass_border=address_of(pass_border, graph, work, output, *[number] * 2),
        close_all=address_of(close_all, graph, work, output),
    )


@inlined
def _end_of_instant(times, first, end):
    """Return the index after the entries at the timestamp of entry `first`."""
    after = first + 1
    while after < end and times[after] == times[first]:
        after += 1
    return after


@inlined
def _end_of_burst(graph, first, end, border):
    """Return the end of the burst that begins with an entry; `first` if there is none."""
    s, after = graph.states[first], first
    if not graph.kinds[s]["alone"]:
        return first
    while after < end and graph.states[after] == s and graph.times[after] < border:
        if after - first >= LONGEST_BURST and graph.times[after] != graph.times[after - 1]:
            break
        after += 1
    if after < end and graph.times[after] == graph.times[after - 1]:  # a tie across types
        time = graph.times[after]
        while after > first and graph.times[after - 1] == time:
            after -= 1
    return after


@kernel
def share_propagation(in_graph, in_work, in_output, in_policy, in_log, apart):
    """Aggregate the trends of each window of `graph.windows`.

    `in_work` is from `prepare_work`, `apart` from `addresses_for` with all other arguments.
    """
    graph, work, output = borrow(in_graph), borrow(in_work), borrow(in_output)
    policy, log = borrow(in_policy), borrow(in_log)
    queries = work.cursors.size
    for p in range(graph.offsets.size - 1):
        if graph.window_start[p * queries] == graph.window_start[(p + 1) * queries]:
            continue
        begin_partition(graph, work, p)
        first, end = graph.offsets[p], graph.offsets[p + 1]
        border = np.iinfo(np.int64).min
        while first < end:
            if graph.times[first] >= border:
                border = call(apart.pass_border, (graph, work, output, p, graph.times[first]))
                if work.ledger[Ledger.OPEN] == 0:  # no window is open: skip to the next one
                    while first < end and graph.times[first] < border:
                        first += 1
                    continue
            after = _end_of_burst(graph, first, end, border)
            if after > first:
                s = np.int64(graph.states[first])
                decide(apart.plan_burst, graph, work, policy, log, p, s, first, after)
                if graph.kinds[s]["plain"]:
                    _plain_burst(apart, graph, work, log, s, first, after)
                else:
                    _edge_burst(apart, graph, work, log, s, first, after)
                work.ledger[Ledger.BURSTS] += 1
            else:
                after = _end_of_instant(graph.times, first, end)
                call(apart.step_instant, (graph, work, first, after))
                work.ledger[Ledger.SINGLE] += after - first
                work.ledger[Ledger.GRAPHLET_STATE] = -1
                work.ledger[Ledger.LAST_SHARED] = 0
            first = after
        call(apart.close_all, (graph, work, output))


@inlined
def _plain_burst(apart, graph, work, log, s, first, after):
    begin = work.stores[s]["part_start"]
    for i in range(begin, begin + work.stores[s]["parts"]):
        a, b, r = work.parts[i]["low"], work.parts[i]["high"], work.parts[i]["run"]
        done = np.int64(0)
        if work.parts[i]["way"] == SHARED:
            done = call(apart.share_collapsed, (graph, work, log, s, r, first, after, a, b))
        if done == 0:
            call(apart.step_collapsed, (graph, work, s, first, after, a, b))


@inlined
def _edge_burst(apart, graph, work, log, s, first, after):
    make_room(graph, work, s, after - first)
    take_members(graph, work, s, first, after)
    used = np.int64(0)
    if work.stores[s]["by_snapshots"] > 0:
        used = _by_snapshots(apart, graph, work, log, s, first, after)
        if used == 0:
            take_members(graph, work, s, first, after)
    i = work.stores[s]["part_start"]
    end = i + work.stores[s]["parts"]
    while i < end:
        way, a, b = work.parts[i]["way"], work.parts[i]["low"], work.parts[i]["high"]
        i += 1
        if way == SHARED and used > 0:
            continue
        while (  # neighbors without snapshots run together
            i < end
            and way != ALONE
            and work.parts[i]["low"] == b
            and (work.parts[i]["way"] == BESIDE or (work.parts[i]["way"] == SHARED and used == 0))
        ):
            b = work.parts[i]["high"]
            i += 1
        call(apart.share_adjacency, (graph, work, s, first, after, a, b))
    keep_members(graph, work, s, first, after)


@inlined
def _by_snapshots(apart, graph, work, log, s, first, after):
    """Run a burst as expressions over snapshots; return their number, 0 if not possible."""
    if work.lanes.counts.ndim == 3 or graph.kinds[s]["foreign"]:
        return np.int64(0)
    begin = work.stores[s]["part_start"]
    for i in range(begin, begin + work.stores[s]["parts"]):
        if work.parts[i]["way"] == SHARED and not graph.runs[work.parts[i]["run"]]["linear"]:
            return np.int64(0)
    outside = np.int64(work.stores[s]["tail"] > work.stores[s]["head"])
    if work.skips[s, outside] > 0:
        work.skips[s, outside] -= 1
        return np.int64(0)
    values, coefficients = log.used[VALUES], log.used[COEFFICIENTS]
    used = call(apart.share_coefficients, (graph, work, log, s, first, after))
    if used > 0:
        work.ledger[Ledger.EVENT_SNAPSHOTS] += used - 1
        if outside:
            work.stores[s]["used"] = used
        work.waits[s, outside] = 0
        return used
    log.used[VALUES], log.used[COEFFICIENTS] = values, coefficients
    longer = min(max(2 * work.waits[s, outside], _PATIENCE), _LONGEST_PATIENCE)
    work.skips[s, outside] = work.waits[s, outside] = longer
    return used


# ---- the members of a state: events that a predicate can read, each with a row of lanes


@inlined
def copy_row(graph, work, row, source):
    """Copy the lanes of row `source` to row `row`."""
    queries = work.cursors.size
    clear_lanes(graph, work.lanes, row, 0, queries)
    add_lanes(graph, work.lanes, row, work.lanes, source, 0, queries, work.over)


@inlined
def make_room(graph, work, s, count):
    """Move a state's members to the front if `count` more do not fit after them."""
    if work.stores[s]["tail"] + count <= work.stores[s]["room"]:
        return
    shift, start = work.stores[s]["head"], work.stores[s]["start"]
    for m in range(work.stores[s]["head"], work.stores[s]["tail"]):
        work.block.entries[start + m - shift] = work.block.entries[start + m]
        work.block.alive[start + m - shift] = work.block.alive[start + m]
        row = work.stores[s]["base"] + m
        copy_row(graph, work, row - shift, row)
    work.stores[s]["tail"] -= shift
    work.stores[s]["head"] = 0


@inlined
def take_members(graph, work, s, first, after):
    """Write a burst's events after the members of their state, without any trend so far."""
    begin = work.stores[s]["start"] + work.stores[s]["tail"] - first
    for entry in range(first, after):
        work.block.entries[begin + entry] = entry
        work.block.alive[begin + entry] = False


@inlined
def keep_members(graph, work, s, first, after):
    """Keep a burst's events as members if a program reads the state; otherwise drop all members."""
    if graph.kinds[s]["kept"]:
        work.stores[s]["tail"] += after - first
    else:
        work.stores[s]["head"] = work.stores[s]["tail"] = 0


# ---- bursts of a state with edge predicates, with separate values for every event
#
# A program runs once for all neighboring queries that have it, and each pair of adjacent events is
# one addition of short vectors: the queries share the adjacency.


def share_adjacency(graph, work, s, first, after, a, b):
    """Run a burst event by event for queries `a` to `b - 1`; return 0.

    Its events must be the newest members already. This function is compiled separately.
    """
    base = work.stores[s]["base"] + work.stores[s]["tail"] - first
    place = work.stores[s]["start"] + work.stores[s]["tail"] - first
    spared = enter_burst(graph, work, s, first, after, work.snapshots + 0, a, b)
    begin = first
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            _arrive(graph, work, s, entry, begin - first, base + entry, spared, a, b)
            work.block.alive[place + entry] |= any_lane(
                graph, work.lanes.counts, base + entry, a, b
            )
        for entry in range(begin, end):
            if work.block.alive[place + entry]:
                settle(graph, work, s, graph.accepts[entry], base + entry, a, b)
        begin = end
    return 0


@inlined
def _arrive(graph, work, s, entry, ahead, row, spared, a, b):
    """Compute an entry's lanes from its predecessors (Hamlet, Equations 1 and 2)."""
    accepts = graph.accepts[entry]
    enter_event(graph, work, s, accepts, row, spared, work.snapshots + 0, a, b)
    add_members(graph, work, s, entry, ahead, row, a, b)
    own(graph, work, s, entry, accepts, row, a, b)


# ---- entries at one timestamp in several states, which belong to no burst


def step_instant(graph, work, first, after):
    """Run the entries at one timestamp, none of which is adjacent to another; return 0.

    This function is compiled separately.
    """
    queries = work.cursors.size
    for entry in range(first, after):
        s, row = graph.states[entry], work.stage + entry - first
        enter(graph, work, s, graph.accepts[entry], row, 0, queries)
        repeat(graph, work, s, graph.accepts[entry], row, 0, queries)
        add_members(graph, work, s, entry, 0, row, 0, queries)
        own(graph, work, s, entry, graph.accepts[entry], row, 0, queries)
    for entry in range(first, after):
        s, row = graph.states[entry], work.stage + entry - first
        settle(graph, work, s, graph.accepts[entry], row, 0, queries)
        if graph.kinds[s]["kept"] and any_lane(graph, work.lanes.counts, row, 0, queries):
            _keep(graph, work, s, entry, row)
    return 0


@inlined
def _keep(graph, work, s, entry, row):
    """Append an entry and its row of lanes to the members of its state."""
    make_room(graph, work, s, 1)
    place = work.stores[s]["start"] + work.stores[s]["tail"]
    work.block.entries[place] = entry
    work.block.alive[place] = True
    copy_row(graph, work, work.stores[s]["base"] + work.stores[s]["tail"], row)
    work.stores[s]["tail"] += 1
