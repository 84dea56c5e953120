"""Which predecessors an event of a shared burst has, by each of the sharing queries' programs."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_graph import FREE_LOOP, NO_LOOP
from elsinore.kernels.hamlet_pairs import find_members
from elsinore.kernels.hamlet_ways import SHARED

_NONE = -9


@inlined
def find_sets(graph, work, s, entry, ahead, is_first):
    """Find an event's predecessors by each program of the sharing queries, into `Block.sets`.

    Args:
        graph: a `MergedGraph`.
        work: a `Work`.
        s: the state.
        entry: the entry.
        ahead: events of the burst before the entry's instant.
        is_first: whether the entry is the burst's first one that any query takes.

    Returns:
        Whether all sharing queries have the same predecessors in the burst, and the burst's first
        event had the same ones before the burst.
    """
    alike, before = True, _NONE
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] != SHARED:
            continue
        loop = graph.runs[work.parts[i]["run"]]["loop"]
        if loop >= 0 and work.tallies[loop]["found"] < 0:
            last = work.stores[s]["tail"] + ahead
            work.tallies[loop]["found"] = find_members(graph, work, loop, s, last, entry, loop)
            if is_first:
                work.tallies[loop]["first_found"] = work.tallies[loop]["found"]
                for h in range(work.tallies[loop]["found"]):
                    work.block.first_sets[loop, h] = work.block.sets[loop, h]
            alike &= _same_outside(work, s, loop)
        if before not in (_NONE, loop):
            alike &= _same_inside(work, s, before, loop, ahead)
        before = loop
    return alike


@inlined
def outside_of(work, s, loop):
    """How many of the members found lie before the burst; they come first."""
    count, tail = 0, work.stores[s]["tail"]
    while count < work.tallies[loop]["found"] and work.block.sets[loop, count] < tail:
        count += 1
    return count


@inlined
def _same_outside(work, s, loop):
    count = outside_of(work, s, loop)
    same = count == work.tallies[loop]["first_found"]
    if same:
        for h in range(count):
            same &= work.block.sets[loop, h] == work.block.first_sets[loop, h]
    return same


@inlined
def _same_inside(work, s, left, right, ahead):
    same = True
    for number in range(ahead):
        same &= _inside(work, s, left, number) == _inside(work, s, right, number)
    return same


@inlined
def _inside(work, s, loop, number):
    """Whether event `number` of the burst precedes the present one for queries that loop so."""
    sought = work.stores[s]["tail"] + number
    if loop == NO_LOOP:
        return False
    if loop == FREE_LOOP:
        return work.block.alive[work.stores[s]["start"] + sought]
    low, high = 0, work.tallies[loop]["found"]
    while low < high:
        middle = (low + high) // 2
        if work.block.sets[loop, middle] < sought:
            low = middle + 1
        else:
            high = middle
    return low < work.tallies[loop]["found"] and work.block.sets[loop, low] == sought
