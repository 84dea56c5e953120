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
    return fsum((graph.values / (graph.degrees + 1)).tolist())


def gwmin(graph: SharonGraph) -> tuple[str, ...]:
    """The independent set that Algorithm 8 finds, in the order in which it was chosen.

    Again and again the vertex with the largest weight / (degree + 1) among those left is taken, and
    its neighbours go; of equals the first in the order of the graph is taken, as the algorithm's
    strict comparison does. O((|V| + |E|) log |V|): degrees only fall and ratios only grow, so a
    vertex enters the queue again when its degree falls, and its older entries are passed over.
    """
    weights, degrees = graph.values.tolist(), graph.degrees.tolist()
    left = [True] * len(weights)
    queue = [(-weight / (degrees[v] + 1), v) for v, weight in enumerate(weights)]
    heapify(queue)
    chosen: list[str] = []
    while queue:
        _, vertex = heappop(queue)
        if not left[vertex]:
            continue
        chosen.append(graph.vertices[vertex])
        gone = [vertex, *(n for n in graph.near(vertex).tolist() if left[n])]
        for leaving in gone:
            left[leaving] = False
        touched = set()
        for leaving in gone:
            for near in graph.near(leaving).tolist():
                if left[near]:
                    degrees[near] -= 1
                    touched.add(near)
        for near in touched:
            heappush(queue, (-weights[near] / (degrees[near] + 1), near))
    return tuple(chosen)
