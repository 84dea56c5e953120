"""The ways in which queries do a burst, and the plan of a state: who does it in which way."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined

#: By itself; together with others by snapshots, a graphlet for all of them (Hamlet Definition 3.7);
#: with values of its own, but side by side with its neighbours: one vector operation for all, and
#: where edge predicates agree, one adjacency.
ALONE, SHARED, BESIDE = range(3)


@inlined
def lay_parts(graph, work, s):
    """Make `Work.parts` of `Work.ways`: runs of neighbours that do a burst in one way.

    Queries beside each other make one part, whatever they take; those that share by snapshots one
    for each run; those alone one each.
    """
    start, used = work.stores[s]["part_start"], 0
    sharing = by_snapshots = 0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        company = graph.runs[r]["company"] > 1 and not graph.kinds[s]["plain"]
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            way = work.ways[s, q]
            if way == SHARED:
                sharing += 1
                by_snapshots += 1
            elif way == BESIDE and company:
                sharing += 1
            last = start + used - 1
            if (
                used > 0
                and way != ALONE
                and work.parts[last]["way"] == way
                and work.parts[last]["high"] == q
                and (way == BESIDE or work.parts[last]["run"] == r)
            ):
                work.parts[last]["high"] = q + 1
                continue
            work.parts[last + 1]["way"] = way
            work.parts[last + 1]["run"] = r
            work.parts[last + 1]["low"] = q
            work.parts[last + 1]["high"] = q + 1
            used += 1
    work.stores[s]["parts"] = used
    work.stores[s]["sharing"] = sharing
    work.stores[s]["by_snapshots"] = by_snapshots


@inlined
def set_all(graph, work, s, way):
    """Let all queries of a state do a burst in one way."""
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        set_run(graph, work, s, r, way)


@inlined
def set_run(graph, work, s, r, way):
    """Let the queries of a run do a burst in one way."""
    for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
        work.ways[s, q] = way
