"""The ways in which queries run a burst, and the plan of a state: the way of each query."""

from __future__ import annotations

from elsinore.numbers.compiled import inlined

#: In this order: a query runs the burst separately; queries share a graphlet by snapshots (Hamlet,
#: Definition 3.7); queries have separate values, but neighbors run together, with one vector
#: operation for all and, if their edge predicates agree, one adjacency.
ALONE, SHARED, BESIDE = range(3)


@inlined
def lay_parts(graph, work, s):
    """Set `Work.parts` from `Work.ways`: runs of neighboring queries that run a burst in one way.

    Neighbors with `BESIDE` form one part, even if they take different entries. Queries with
    `SHARED` form one part per run, and queries with `ALONE` one part each.
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
    """Let all queries of a state run a burst in one way."""
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        set_run(graph, work, s, r, way)


@inlined
def set_run(graph, work, s, r, way):
    """Let the queries of a run, a row of `graph.runs`, run a burst in one way."""
    for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
        work.ways[s, q] = way
