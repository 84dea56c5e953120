"""The members of a state: events that an edge predicate may ask for, with a row of lanes each."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_lanes import add_lanes, clear_lanes


@inlined
def copy_row(graph, work, row, source):
    """Make the lanes of one row those of another."""
    queries = work.cursors.size
    clear_lanes(graph, work.lanes, row, 0, queries)
    add_lanes(graph, work.lanes, row, work.lanes, source, 0, queries, work.over)


@inlined
def make_room(graph, work, s, count):
    """Move a state's members to the front where `count` more would not fit behind them."""
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
    """Enter a burst's events behind the members of their state, without any trend so far."""
    begin = work.stores[s]["start"] + work.stores[s]["tail"] - first
    for entry in range(first, after):
        work.block.entries[begin + entry] = entry
        work.block.alive[begin + entry] = False


@inlined
def keep_members(graph, work, s, first, after):
    """Let a burst's events be members from now on, where they are read."""
    if graph.kinds[s]["kept"]:
        work.stores[s]["tail"] += after - first
    else:
        work.stores[s]["head"] = work.stores[s]["tail"] = 0
