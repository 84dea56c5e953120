"""Finds the members of a state that may come right before an entry."""

from __future__ import annotations

from elsinore.kernels.apart import call
from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_lanes import add_rows
from elsinore.kernels.hamlet_steps import takes
from elsinore.kernels.hamlet_work import Ledger


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
        into: the row of `Block.sets` to write to.
    """
    first = work.stores[state]["head"]
    found = call(
        work.scan,
        (graph, work.block, number, work.stores[state]["start"], first, last, later, into),
    )
    work.ledger[Ledger.PAIRS] += last - first
    work.stores[state]["looked"] += last - first
    work.stores[state]["found"] += found
    return found


@inlined
def add_members(graph, work, s, entry, ahead, row, a, b):
    """Add to a row what its entry at state `s` gets over transitions with a program.

    A program is run once for all queries that have it, whether or not they take the same entries.

    Args:
        graph: a `MergedGraph`.
        work: a `Work`.
        s: the state.
        entry: the entry.
        ahead: members behind the tail of state `s` that come before the entry's instant.
        row: the row of `Work.lanes`.
        a: the first query.
        b: the query after the last one.
    """
    accepts, into = graph.accepts[entry], work.block.sets.shape[0] - 1
    number, source, found = -1, -1, 0
    for t in range(graph.kinds[s]["pair_start"], graph.kinds[s + 1]["link_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if low >= high or not takes(accepts, graph.links[t]["class"]):
            continue
        if graph.links[t]["program"] != number or graph.links[t]["from"] != source:
            number, source = graph.links[t]["program"], graph.links[t]["from"]
            last = work.stores[source]["tail"] + (ahead if source == s else 0)
            found = find_members(graph, work, number, source, last, entry, into)
        hits = work.block.sets[into, :found]
        add_rows(graph, work.lanes, row, work.stores[source]["base"], hits, low, high, work.over)
