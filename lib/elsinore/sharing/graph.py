"""The Sharon graph: beneficial candidates, their benefits and their conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType

from elsinore.sharing.candidates import Candidate
from elsinore.sharing.conflicts import find_conflicts


@dataclass(frozen=True)
class SharonGraph:
    """An undirected graph with weighted vertices, as an adjacency list (Sharon Definition 10).

    Attributes:
        weights: weight of each vertex, above zero; their order is the order of all algorithms.
        neighbours: the vertices that each vertex is in conflict with.
    """

    weights: Mapping[str, float]
    neighbours: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, weights: Mapping[str, float], edges: Iterable[tuple[str, str]]) -> SharonGraph:
        """The graph with the given vertices and the edges among them; other edges are dropped."""
        assert all(weight > 0 for weight in weights.values())
        adjacent: dict[str, set[str]] = {vertex: set() for vertex in weights}
        for left, right in edges:
            assert left != right
            if left in adjacent and right in adjacent:
                adjacent[left].add(right)
                adjacent[right].add(left)
        frozen = {vertex: frozenset(others) for vertex, others in adjacent.items()}
        return cls(MappingProxyType(dict(weights)), MappingProxyType(frozen))

    def degree(self, vertex: str) -> int:
        """Number of conflicts of a vertex."""
        return len(self.neighbours[vertex])

    def weight(self, vertices: Iterable[str]) -> float:
        """Sum of the weights of some vertices: the score of a plan (Equation 9)."""
        return fsum(self.weights[vertex] for vertex in vertices)


def build_graph(candidates: tuple[Candidate, ...], benefits: Mapping[str, float]) -> SharonGraph:
    """The Sharon graph of a workload (Algorithm 1): only beneficial candidates become vertices.

    `benefits` holds BValue of each candidate by id.
    """
    weights = {c.id: benefits[c.id] for c in candidates if benefits[c.id] > 0}
    vertices = tuple(candidate for candidate in candidates if candidate.id in weights)
    return SharonGraph.of(weights, find_conflicts(vertices))
