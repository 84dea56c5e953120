"""One entry at a time: what it gets from its predecessors, and what it passes on.

Everything is done for a run of queries, `a` to `b - 1`, side by side: what they have in common is
one vector operation. A program is run once for all queries that have it, and each pair of adjacent
events is one addition of short vectors: what is shared is the adjacency.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.borrowed import call
from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_graph import EVERY, end_of_instant, takes
from elsinore.kernels.hamlet_lanes import (
    add_lanes,
    add_own,
    add_rows,
    any_lane,
    clear_lanes,
    copy_lanes,
)
from elsinore.kernels.hamlet_work import Ledger


def step_burst(graph, work, lanes, s, first, after, a, b):
    """Work out a burst event by event for queries `a` to `b - 1`; 0. Called by address.

    Where a program may ask for its events, they are the newest members already.
    """
    store, plain = work.stores[s], graph.kinds[s]["plain"] != 0
    base, place = store["base"] + store["tail"] - first, store["start"] + store["tail"] - first
    spared = _enter_burst(graph, work, lanes, s, first, after, a, b)
    begin = first
    while begin < after:
        end = end_of_instant(graph.times, begin, after)
        if plain:
            base = work.stage - begin
        for entry in range(begin, end):
            _enter(graph, work, lanes, s, graph.accepts[entry], base + entry, spared, a, b)
            _add_pairs(graph, work, lanes, s, entry, begin - first, base + entry, a, b)
            _own(graph, lanes, s, entry, base + entry, a, b)
        for entry in range(begin, end):
            if plain or any_lane(graph, lanes, base + entry, a, b):
                settle(graph, work, lanes, s, graph.accepts[entry], base + entry, a, b)
                if not plain:
                    work.alive[place + entry] = True
        begin = end
    return 0


def step_instant(graph, work, lanes, first, after):
    """Work out entries of one time, of which none is adjacent to another; 0. Called by address."""
    queries = work.cursors.size
    for entry in range(first, after):
        s, row = np.int64(graph.states[entry]), work.stage + entry - first
        arrive(graph, lanes, s, graph.accepts[entry], row, 0, queries)
        _add_pairs(graph, work, lanes, s, entry, 0, row, 0, queries)
        _own(graph, lanes, s, entry, row, 0, queries)
    for entry in range(first, after):
        s, row = np.int64(graph.states[entry]), work.stage + entry - first
        settle(graph, work, lanes, s, graph.accepts[entry], row, 0, queries)
        if graph.kinds[s]["kept"] and any_lane(graph, lanes, row, 0, queries):
            _keep(graph, work, lanes, s, entry, row)
    return 0


@inlined
def _keep(graph, work, lanes, s, entry, row):
    make_room(graph, work, lanes, s, 1)
    store = work.stores[s]
    place = store["start"] + store["tail"]
    work.entries[place] = entry
    work.alive[place] = True
    copy_lanes(graph, lanes, store["base"] + store["tail"], row)
    store["tail"] += 1


@inlined
def make_room(graph, work, lanes, s, count):
    """Move a state's members to the front where `count` more would not fit behind them."""
    store = work.stores[s]
    if store["tail"] + count <= store["room"]:
        return
    shift, start = store["head"], store["start"]
    for m in range(store["head"], store["tail"]):
        work.entries[start + m - shift] = work.entries[start + m]
        work.alive[start + m - shift] = work.alive[start + m]
        row = store["base"] + m
        copy_lanes(graph, lanes, row - shift, row)
    store["tail"] -= shift
    store["head"] = 0


# ---- what an entry gets from its predecessors (Hamlet Equations 1 and 2)


@inlined
def arrive(graph, lanes, s, accepts, row, a, b):
    """Make a row what reaches an entry without a program, and the trends that start there."""
    clear_lanes(graph, lanes, row, a, b)
    kind = graph.kinds[s]
    _add_links(graph, lanes, accepts, row, kind["link_start"], kind["pair_start"], a, b)


@inlined
def _add_links(graph, lanes, accepts, row, first, after, a, b):
    """Add to a row what reaches an entry over some transitions without a program."""
    for t in range(first, after):
        link = graph.links[t]
        low, high = max(a, link["low"]), min(b, link["high"])
        if low < high and takes(accepts, link["class"]):
            add_lanes(graph, lanes, row, link["from"], low, high)


@inlined
def _enter_burst(graph, work, lanes, s, first, after, a, b):
    """Make a row what reaches a burst from outside without a program, if that spares work.

    It is the same for all of the burst's events that a query takes. Returns whether it was made, in
    row `Work.snapshots`.
    """
    kind, row = graph.kinds[s], work.snapshots
    spares = after - first > 1 and kind["loop_start"] - kind["link_start"] > 1
    if spares:
        clear_lanes(graph, lanes, row, a, b)
        _add_links(graph, lanes, EVERY, row, kind["link_start"], kind["loop_start"], a, b)
    return spares


@inlined
def _enter(graph, work, lanes, s, accepts, row, spared, a, b):
    """`arrive`, by the row that `_enter_burst` has made, if it is `spared`."""
    if not spared:
        arrive(graph, lanes, s, accepts, row, a, b)
        return
    clear_lanes(graph, lanes, row, a, b)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        run = graph.runs[r]
        low, high = max(a, run["low"]), min(b, run["high"])
        if low < high and takes(accepts, run["class"]):
            add_lanes(graph, lanes, row, work.snapshots, low, high)
    kind = graph.kinds[s]
    _add_links(graph, lanes, accepts, row, kind["loop_start"], kind["pair_start"], a, b)


@inlined
def find_members(graph, work, number, state, last, later, into):
    """Write the places of the members for which a program is true; how many they are.

    Args:
        graph: a `MergedGraph`.
        work: a `Work`.
        number: the program's number.
        state: the earlier state.
        last: place after the last member looked at.
        later: the later entry.
        into: the row of `Work.sets` to write to.
    """
    store = work.stores[state]
    first = store["head"]
    found = call(work.scan, (graph, work, number, store["start"], first, last, later, into))
    work.ledger[Ledger.PAIRS] += last - first
    store["looked"] += last - first
    store["found"] += found
    return found


@inlined
def _add_pairs(graph, work, lanes, s, entry, ahead, row, a, b):
    """Add to a row what its entry gets over transitions with a program.

    A program is run once for all queries that have it, whether or not they take the same entries.
    `ahead` are members behind the tail of state `s` that come before the entry's instant.
    """
    accepts, into = graph.accepts[entry], work.sets.shape[0] - 1
    number, source, found = -1, -1, 0
    for t in range(graph.kinds[s]["pair_start"], graph.kinds[s + 1]["link_start"]):
        link = graph.links[t]
        low, high = max(a, link["low"]), min(b, link["high"])
        if low >= high or not takes(accepts, link["class"]):
            continue
        if link["program"] != number or link["from"] != source:
            number, source = link["program"], link["from"]
            last = work.stores[source]["tail"] + (ahead if source == s else 0)
            found = find_members(graph, work, number, source, last, entry, into)
        base = work.stores[source]["base"]
        add_rows(graph, lanes, row, base, work.sets[into, :found], low, high)


@inlined
def _own(graph, lanes, s, entry, row, a, b):
    accepts = graph.accepts[entry]
    add_own(graph, lanes, s, accepts, row, row, graph.weights, entry, a, b)


# ---- what it passes on


@inlined
def settle(graph, work, lanes, s, accepts, row, a, b):
    """Add an entry's lanes to those of its state, and to the totals (Equation 3)."""
    add_lanes(graph, lanes, s, row, a, b)
    for e in range(graph.kinds[s]["end_start"], graph.kinds[s + 1]["end_start"]):
        end = graph.ends[e]
        low, high = max(a, end["low"]), min(b, end["high"])
        if low < high and takes(accepts, end["class"]):
            add_lanes(graph, lanes, work.total, row, low, high)
