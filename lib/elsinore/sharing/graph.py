"""The Sharon graph of beneficial candidates and their conflicts; GWMIN; the reduction."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from elsinore.sharing.candidates import Candidate, places_of


@dataclass(frozen=True, eq=False)
class SharonGraph:
    """An undirected graph with weighted vertices (Sharon Definition 10)."""

    vertices: tuple[str, ...]  #: their names; their order is the order of all algorithms
    values: NDArray[np.float64]  #: weight of each vertex, above zero, float64 [V]
    #: 1 for each two vertices in conflict, sparse by rows, int8 [V, V], since workloads of
    #: thousands of queries have millions of conflicts.
    adjacency: Any

    @classmethod
    def meeting(
        cls, weights: Mapping[str, float], places: Mapping[str, Iterable[Hashable]]
    ) -> SharonGraph:
        """The graph whose vertices are adjacent where they have a place in common."""
        assert all(weight > 0 for weight in weights.values())
        numbers: dict[Hashable, int] = {}
        pairs = [
            (vertex, numbers.setdefault(place, len(numbers)))
            for vertex, name in enumerate(weights)
            for place in places[name]
        ]
        rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
        shape = (len(weights), max(1, len(numbers)))
        held = csr_array((np.ones(len(pairs), np.int32), (rows, columns)), shape=shape)
        met = coo_array(held @ held.T)
        apart = met.row != met.col
        ends = (met.row[apart], met.col[apart])
        adjacency = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=met.shape)
        adjacency.sort_indices()
        values = np.fromiter(weights.values(), np.float64, len(weights))
        return cls(tuple(weights), values, adjacency)

    @cached_property
    def number(self) -> dict[str, int]:
        """The vertices' places in the order."""
        return {vertex: number for number, vertex in enumerate(self.vertices)}

    @cached_property
    def weights(self) -> dict[str, float]:
        """The vertices' weights by name."""
        return dict(zip(self.vertices, self.values.tolist(), strict=True))

    def near(self, number: int) -> NDArray[np.int32]:
        """The numbers of a vertex's neighbours, ascending."""
        near: NDArray[np.int32] = self.adjacency.indices[
            self.adjacency.indptr[number] : self.adjacency.indptr[number + 1]
        ]
        return near

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of conflicts of each vertex, int64 [V]."""
        return np.diff(self.adjacency.indptr).astype(np.int64)

    def weight(self, vertices: Iterable[str]) -> float:
        """Sum of the weights of some vertices: the score of a plan (Equation 9)."""
        return fsum(self.weights[vertex] for vertex in vertices)

    def among(self, kept: NDArray[np.bool_]) -> SharonGraph:
        """The graph of the vertices that a mask [V] keeps, and of the edges among them."""
        part = self.adjacency[kept][:, kept]
        part.sort_indices()
        names = tuple(self.vertices[number] for number in np.flatnonzero(kept))
        return SharonGraph(names, self.values[kept], part)


def build_graph(candidates: tuple[Candidate, ...], benefits: Mapping[str, float]) -> SharonGraph:
    """The Sharon graph of a workload (Algorithm 1): only beneficial candidates become vertices.

    `benefits` holds BValue of each candidate by id.
    """
    weights = {c.id: benefits[c.id] for c in candidates if benefits[c.id] > 0}
    return SharonGraph.meeting(weights, {c.id: places_of(c) for c in candidates if c.id in weights})


# ---- GWMIN: a greedy independent set of guaranteed weight (Appendix B)


def guaranteed_weight(graph: SharonGraph) -> float:
    """Equation 10: no independent set that GWMIN returns weighs less.

    >>> guaranteed_weight(SharonGraph.meeting({"a": 3.0, "b": 4.0}, {"a": ["ab"], "b": ["ab"]}))
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


# ---- the reduction: candidates whose fate is clear

#: Scores are sums of doubles; a candidate is pruned only where it falls short by more than their
#: rounding (with equal weights in one clique Score_max *is* the guaranteed weight).
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Reduction:
    """What is left to search, and what was decided."""

    graph: SharonGraph  #: the reduced graph
    #: vertices that belong to every optimal plan (Definition 14), in order.
    conflict_free: tuple[str, ...]
    #: vertices that belong to none (Definition 13): Score_max when they were pruned.
    pruned: Mapping[str, float]
    score_max: Mapping[str, float]  #: Score_max of every vertex in the whole graph (Definition 12)
    guaranteed: float  #: the guaranteed weight that they were compared with (Equation 10)


def reduce(graph: SharonGraph) -> Reduction:
    """Algorithm 2: take conflict-free candidates out, prune conflict-ridden ones, until none is.

    Score_max counts the conflict-free candidates that were taken out: they are part of every
    optimal plan, and the guaranteed weight, which is that of the whole graph, counts them too. (The
    algorithm as printed leaves this open; without them a second pass over Figure 4 would prune p1,
    which Example 10 keeps.) O(|E|) a pass; each pass but the last decides a vertex.
    """
    guaranteed = guaranteed_weight(graph)
    undecided = np.ones(len(graph.vertices), dtype=np.bool_)
    pruned = np.zeros(len(graph.vertices), dtype=np.bool_)
    scores = initial = _score_max(graph, pruned)
    final = initial.copy()
    while True:
        degrees = graph.adjacency @ (~pruned).astype(np.float64)
        free = undecided & (degrees == 0)
        ridden = undecided & ~free & (scores < guaranteed * (1 - _ROUNDING))
        if not (free | ridden).any():
            break
        final[ridden] = scores[ridden]
        undecided &= ~(free | ridden)
        pruned |= ridden
        scores = _score_max(graph, pruned)
    conflict_free = ~undecided & ~pruned
    return Reduction(
        graph=graph.among(undecided),
        conflict_free=tuple(graph.vertices[n] for n in np.flatnonzero(conflict_free)),
        pruned={graph.vertices[n]: float(final[n]) for n in np.flatnonzero(pruned)},
        score_max=dict(zip(graph.vertices, initial.tolist(), strict=True)),
        guaranteed=guaranteed,
    )


def _score_max(graph: SharonGraph, pruned: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Equation 11 for every vertex: all weights but those of its neighbours and the pruned."""
    weights = np.where(pruned, 0.0, graph.values)
    least: NDArray[np.float64] = weights.sum() - graph.adjacency @ weights
    return least
