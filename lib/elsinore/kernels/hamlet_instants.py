"""Entries of one time at several states, which are no part of a burst: one by one."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_lanes import any_lane
from elsinore.kernels.hamlet_members import copy_row, make_room
from elsinore.kernels.hamlet_pairs import add_members
from elsinore.kernels.hamlet_steps import enter, own, repeat, settle


def step_instant(graph, work, first, after):
    """Work out entries of one time, of which none is adjacent to another; 0. Compiled apart."""
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
        if graph.kinds[s]["kept"] and any_lane(graph, work.lanes.longs, row, 0, queries):
            _keep(graph, work, s, entry, row)
    return 0


@inlined
def _keep(graph, work, s, entry, row):
    make_room(graph, work, s, 1)
    place = work.stores[s]["start"] + work.stores[s]["tail"]
    work.block.entries[place] = entry
    work.block.alive[place] = True
    copy_row(graph, work, work.stores[s]["base"] + work.stores[s]["tail"], row)
    work.stores[s]["tail"] += 1
