"""GWMIN: a greedy independent set of guaranteed weight (Sharon Appendix B, Algorithm 8)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import fsum

from elsinore.sharing.graph import SharonGraph


def guaranteed_weight(graph: SharonGraph) -> float:
    """Equation 10: no independent set that GWMIN returns weighs less.

    >>> guaranteed_weight(SharonGraph.of({"a": 3.0, "b": 4.0}, [("a", "b")]))
    3.5
    """
    return fsum(weight / (graph.degree(vertex) + 1) for vertex, weight in graph.weights.items())


def gwmin(graph: SharonGraph) -> tuple[str, ...]:
    """The independent set that Algorithm 8 finds, in the order in which it was chosen.

    Again and again the vertex with the largest weight / (degree + 1) among those left is taken, and
    its neighbours go; of equals the first in the order of the graph is taken, as the algorithm's
    strict comparison does. O((|V| + |E|) log |V|): degrees only fall and ratios only grow, so a
    vertex enters the queue again when its degree falls, and its older entries are passed over.
    """
    order = {vertex: number for number, vertex in enumerate(graph.weights)}
    degrees = {vertex: graph.degree(vertex) for vertex in graph.weights}
    queue = [(-graph.weights[v] / (degrees[v] + 1), order[v], v) for v in graph.weights]
    heapify(queue)
    chosen: list[str] = []
    while queue:
        _, _, vertex = heappop(queue)
        if vertex not in degrees:
            continue
        chosen.append(vertex)
        gone = (graph.neighbours[vertex] & degrees.keys()) | {vertex}
        for leaving in gone:
            del degrees[leaving]
        touched = {n for leaving in gone for n in graph.neighbours[leaving] if n in degrees}
        for near in touched:
            degrees[near] -= len(graph.neighbours[near] & gone)
            ratio = -graph.weights[near] / (degrees[near] + 1)
            heappush(queue, (ratio, order[near], near))
    return tuple(chosen)
