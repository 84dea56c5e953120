"""Hamlet's executor: one pass over the events of a partition for all queries of a sharable set.

Algorithm 1 over bursts instead of events: a maximal run of events of one type between two borders
of windows is a unit (Definition 4.1), for which it is decided which queries share it. Events of
equal time that are of several types are no part of a burst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.borrowed import INTEGER, address_of, borrow, borrowed_types, call
from elsinore.kernels.compiled import inlined, kernel
from elsinore.kernels.hamlet_block import scan
from elsinore.kernels.hamlet_coefficients import share_coefficients
from elsinore.kernels.hamlet_collapsed import share_collapsed
from elsinore.kernels.hamlet_decide import ALONE, BESIDE, SHARED, Policy, decide, pauses, plan_burst
from elsinore.kernels.hamlet_graph import MergedGraph, end_of_instant
from elsinore.kernels.hamlet_lanes import Lanes
from elsinore.kernels.hamlet_steps import make_room, step_burst, step_instant
from elsinore.kernels.hamlet_windows import FOREVER, begin_partition, pass_border
from elsinore.kernels.hamlet_work import (
    LONGEST_BURST,
    Extent,
    Ledger,
    Output,
    Work,
    make_work,
)

#: Bursts for which snapshots are not tried again after there were too many; then twice as many.
_PATIENCE, _LONGEST_PATIENCE = 16, 1 << 12


class Addresses(NamedTuple):
    """Functions that are called by address."""

    plan_burst: int
    share_collapsed: int
    share_coefficients: int
    step_burst: int
    step_instant: int
    pass_border: int


def prepare_work(graph: MergedGraph, extent: Extent, noted: int = 0) -> Work:
    """Scratch for partitions of a given extent, with room for so many decisions."""
    found = make_work(graph, extent, noted)
    return found._replace(scan=address_of(scan, *borrowed_types(graph, found), *[INTEGER] * 6))


def addresses_for(
    graph: MergedGraph, work: Work, lanes: Lanes, output: Output, policy: Policy
) -> Addresses:
    """The functions that are called by address, for tuples like these.

    They are compiled, or read from the cache, when first asked for.
    """
    both = borrowed_types(graph, work)
    numbers, written, decided = borrowed_types(lanes, output, policy)
    narrow = lanes.longs.ndim == 2  # expressions are for one limb
    return Addresses(
        address_of(plan_burst, *both, decided, *[INTEGER] * 4),
        address_of(share_collapsed, *both, numbers, *[INTEGER] * 6),
        address_of(share_coefficients, *both, numbers, *[INTEGER] * 3) if narrow else 0,
        address_of(step_burst, *both, numbers, *[INTEGER] * 5),
        address_of(step_instant, *both, numbers, *[INTEGER] * 2),
        address_of(pass_border, *both, numbers, written, *[INTEGER] * 2),
    )


def share_propagation(
    graph: MergedGraph, work: Work, lanes: Lanes, output: Output, policy: Policy
) -> None:
    """Aggregate the trends of each window of `graph.windows`; `work` is from `prepare_work`."""
    addresses = addresses_for(graph, work, lanes, output, policy)
    _partitions(graph, work, lanes, output, policy, addresses)


@inlined
def _end_of_burst(graph, first, end, border):
    """Where the burst that begins with an entry ends; at its begin if there is none."""
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
def _partitions(in_graph, in_work, in_lanes, in_output, in_policy, apart):
    graph, work, lanes = borrow(in_graph), borrow(in_work), borrow(in_lanes)
    output, policy = borrow(in_output), borrow(in_policy)
    queries, ledger = work.cursors.size, work.ledger
    for p in range(graph.offsets.size - 1):
        if graph.window_start[p * queries] == graph.window_start[(p + 1) * queries]:
            continue
        begin_partition(graph, work, p)
        first, end = graph.offsets[p], graph.offsets[p + 1]
        border = np.iinfo(np.int64).min
        while first < end:
            time = graph.times[first]
            if time >= border:
                border = call(apart.pass_border, (graph, work, lanes, output, p, time))
                if ledger[Ledger.OPEN] == 0:  # no window is open: on to the next that opens
                    while first < end and graph.times[first] < border:
                        first += 1
                    continue
            after = _end_of_burst(graph, first, end, border)
            if after > first:
                s = np.int64(graph.states[first])
                decide(apart.plan_burst, graph, work, policy, p, s, first, after)
                if graph.kinds[s]["plain"]:
                    _plain_burst(apart, graph, work, lanes, s, first, after)
                else:
                    _edge_burst(apart, graph, work, lanes, s, first, after)
                ledger[Ledger.BURSTS] += 1
            else:
                after = end_of_instant(graph.times, first, end)
                call(apart.step_instant, (graph, work, lanes, first, after))
                ledger[Ledger.SINGLE] += after - first
                ledger[Ledger.GRAPHLET_STATE] = -1
                ledger[Ledger.LAST_SHARED] = 0
            first = after
        call(apart.pass_border, (graph, work, lanes, output, p, FOREVER))


@inlined
def _plain_burst(apart, graph, work, lanes, s, first, after):
    store = work.stores[s]
    for i in range(store["part_start"], store["part_start"] + store["parts"]):
        part = work.parts[i]
        a, b, done = part["low"], part["high"], np.int64(0)
        if part["way"] == SHARED:
            arguments = (graph, work, lanes, s, part["run"], first, after, a, b)
            done = call(apart.share_collapsed, arguments)
        if done == 0:
            call(apart.step_burst, (graph, work, lanes, s, first, after, a, b))
    work.ledger[Ledger.GRAPHLET_SNAPSHOTS] += 1


@inlined
def _edge_burst(apart, graph, work, lanes, s, first, after):
    store = work.stores[s]
    make_room(graph, work, lanes, s, after - first)
    _take_members(work, s, first, after)
    used = np.int64(0)
    if store["by_snapshots"] > 0:
        used = _by_snapshots(apart, graph, work, lanes, s, first, after)
        if used == 0:
            _take_members(work, s, first, after)
    i = store["part_start"]
    end = i + store["parts"]
    while i < end:
        way, a, b = work.parts[i]["way"], work.parts[i]["low"], work.parts[i]["high"]
        i += 1
        if way == SHARED and used > 0:
            continue
        while i < end and way != ALONE:  # neighbours that have no snapshots go side by side
            part = work.parts[i]
            beside = part["way"] == BESIDE or (part["way"] == SHARED and used == 0)
            if not beside or part["low"] != b:
                break
            b = part["high"]
            i += 1
        call(apart.step_burst, (graph, work, lanes, s, first, after, a, b))
    if graph.kinds[s]["kept"]:  # members from now on, where they are read
        store["tail"] += after - first
    else:
        store["head"] = store["tail"] = 0


@inlined
def _take_members(work, s, first, after):
    """Enter a burst's events behind the members of their state, without any trend so far."""
    begin = work.stores[s]["start"] + work.stores[s]["tail"] - first
    for entry in range(first, after):
        work.entries[begin + entry] = entry
        work.alive[begin + entry] = False


@inlined
def _by_snapshots(apart, graph, work, lanes, s, first, after):
    """The snapshots that a burst took as expressions over them; 0 if it must not be done so."""
    if lanes.longs.ndim == 3 or graph.kinds[s]["foreign"]:
        return np.int64(0)
    store = work.stores[s]
    for i in range(store["part_start"], store["part_start"] + store["parts"]):
        if work.parts[i]["way"] == SHARED and not graph.runs[work.parts[i]["run"]]["linear"]:
            return np.int64(0)
    outside = 1 if store["tail"] > store["head"] else 0
    if pauses(work, s, outside):
        return np.int64(0)
    used = call(apart.share_coefficients, (graph, work, lanes, s, first, after))
    pause = work.pauses[s, outside]
    if used > 0:
        work.ledger[Ledger.EVENT_SNAPSHOTS] += used - 1
        store["used"] = used if outside else store["used"]
        pause["next"] = 0
    else:
        pause["next"] = min(max(2 * pause["next"], _PATIENCE), _LONGEST_PATIENCE)
        pause["left"] = pause["next"]
    return used
