"""The Sharon graph of beneficial candidates and their conflicts, GWMIN, and the reduction."""

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

    vertices: tuple[str, ...]  #: names of the vertices; algorithms process them in this order
    values: NDArray[np.float64]  #: weight of each vertex, above zero, float64 [V]
    #: 1 for each pair of vertices in conflict, int8 [V, V], sparse by rows: workloads of
    #: thousands of queries have millions of conflicts.
    adjacency: Any

    @classmethod
    def meeting(
        cls, weights: Mapping[str, float], places: Mapping[str, Iterable[Hashable]]
    ) -> SharonGraph:
        """Return the graph in which vertices are adjacent if they have a place in common.

        Args:
            weights: the weight of each vertex by name; above zero.
            places: the places of each vertex by name.
        """
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
        """Return the position of each vertex in `vertices`."""
        return {vertex: number for number, vertex in enumerate(self.vertices)}

    @cached_property
    def weights(self) -> dict[str, float]:
        """Return the weight of each vertex by name."""
        return dict(zip(self.vertices, self.values.tolist(), strict=True))

    def near(self, number: int) -> NDArray[np.int32]:
        """Return the numbers of a vertex's neighbors, ascending."""
        near: NDArray[np.int32] = self.adjacency.indices[
            self.adjacency.indptr[number] : self.adjacency.indptr[number + 1]
        ]
        return near

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Return int64 [V], the number of conflicts of each vertex."""
        return np.diff(self.adjacency.indptr).astype(np.int64)

    def weight(self, vertices: Iterable[str]) -> float:
        """Return the sum of the weights of some vertices: the score of a plan (Equation 9)."""
        return fsum(self.weights[vertex] for vertex in vertices)

    def among(self, kept: NDArray[np.bool_]) -> SharonGraph:
        """Return the subgraph of the vertices that a mask, bool [V], selects."""
        part = self.adjacency[kept][:, kept]
        part.sort_indices()
        names = tuple(self.vertices[number] for number in np.flatnonzero(kept))
        return SharonGraph(names, self.values[kept], part)


def build_graph(candidates: tuple[Candidate, ...], benefits: Mapping[str, float]) -> SharonGraph:
    """Return the Sharon graph of a workload (Algorithm 1); its vertices are beneficial candidates.

    `benefits` contains BValue of each candidate by id.
    """
    weights = {c.id: benefits[c.id] for c in candidates if benefits[c.id] > 0}
    return SharonGraph.meeting(weights, {c.id: places_of(c) for c in candidates if c.id in weights})


# ---- GWMIN: a greedy independent set of guaranteed weight (Appendix B)


def guaranteed_weight(graph: SharonGraph) -> float:
    """Return the minimum weight of the independent set that GWMIN finds (Equation 10).

    >>> guaranteed_weight(SharonGraph.meeting({"a": 3.0, "b": 4.0}, {"a": ["ab"], "b": ["ab"]}))
    3.5
    """
    return fsum((graph.values / (graph.degrees + 1)).tolist())


def gwmin(graph: SharonGraph) -> tuple[str, ...]:
    """Return the independent set that Algorithm 8 finds, in the order of choice.

    The algorithm repeatedly takes the vertex with the largest weight / (degree + 1) and removes its
    neighbors. If ratios are equal, the first vertex of the graph wins, as in the algorithm's strict
    comparison.

    It takes O((|V| + |E|) log |V|). Degrees only fall and ratios only grow, so a vertex enters the
    queue again if its degree falls. Its older entries are skipped.
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


# ---- the reduction: candidates that can be decided without a search

#: Relative rounding error of scores. A candidate is pruned only if its score is lower by more than
#: this: with equal weights in one clique, Score_max equals the guaranteed weight.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Reduction:
    """The reduced graph, and the vertices that were decided."""

    graph: SharonGraph  #: the reduced graph
    #: vertices that are in every optimal plan (Definition 14), in order.
    conflict_free: tuple[str, ...]
    #: vertices that are in no optimal plan (Definition 13), with Score_max at pruning.
    pruned: Mapping[str, float]
    score_max: Mapping[str, float]  #: Score_max of every vertex in the whole graph (Definition 12)
    guaranteed: float  #: the guaranteed weight for the comparison (Equation 10)


def reduce(graph: SharonGraph) -> Reduction:
    """Reduce a graph by Algorithm 2: decide vertices until only undecided ones remain.

    Conflict-free candidates are taken, and conflict-ridden candidates are pruned. Score_max
    includes the conflict-free candidates that were taken: they are part of every optimal plan, and
    the guaranteed weight of the whole graph includes them, too. The algorithm as printed leaves
    this open. Without them, a second pass over Figure 4 would prune p1, which Example 10 keeps.

    A pass takes O(|E|). Each pass except the last decides at least one vertex.
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
    """Return float64 [V]: the maximum score of a plan with each vertex (Equation 11).

    This is the sum of all weights, without the neighbors of the vertex and without pruned vertices.
    """
    weights = np.where(pruned, 0.0, graph.values)
    least: NDArray[np.float64] = weights.sum() - graph.adjacency @ weights
    return least
