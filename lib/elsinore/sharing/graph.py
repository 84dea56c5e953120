"""The Sharon graph: beneficial candidates, their benefits and their conflicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from elsinore.sharing.candidates import Candidate
from elsinore.sharing.conflicts import places_of


@dataclass(frozen=True, eq=False)
class SharonGraph:
    """An undirected graph with weighted vertices, as an adjacency list (Sharon Definition 10).

    The list is kept as numbers, eight bytes an edge, since workloads of thousands of queries have
    millions of conflicts.

    Attributes:
        vertices: their names; their order is the order of all algorithms.
        values: weight of each vertex, above zero, float64 [V].
        offsets, others: the neighbours of vertex i are the vertices with the numbers
            `others[offsets[i]:offsets[i + 1]]`, ascending; int32 [V + 1] and [2 E].
    """

    vertices: tuple[str, ...]
    values: NDArray[np.float64]
    offsets: NDArray[np.int32]
    others: NDArray[np.int32]

    @classmethod
    def of(cls, weights: Mapping[str, float], edges: Iterable[tuple[str, str]]) -> SharonGraph:
        """The graph with the given vertices and the edges among them; other edges are dropped."""
        places: dict[str, list[Hashable]] = {vertex: [] for vertex in weights}
        for number, (left, right) in enumerate(edges):
            assert left != right
            if left in places and right in places:
                places[left].append(number)
                places[right].append(number)
        return cls.meeting(weights, places)

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
        held = csr_array(coo_array((np.ones(len(pairs), np.int32), (rows, columns)), shape=shape))
        met = coo_array(held @ held.T)
        apart = met.row != met.col
        ends = (met.row[apart], met.col[apart])
        near = csr_array(coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(shape[0],) * 2))
        near.sort_indices()
        values = np.fromiter(weights.values(), np.float64, len(weights))
        return cls(
            tuple(weights), values, near.indptr.astype(np.int32), near.indices.astype(np.int32)
        )

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
        return self.others[self.offsets[number] : self.offsets[number + 1]]

    def neighbours(self, vertex: str) -> frozenset[str]:
        """The vertices that a vertex is in conflict with."""
        return frozenset(self.vertices[n] for n in self.near(self.number[vertex]).tolist())

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """Number of conflicts of each vertex, int64 [V]."""
        return np.diff(self.offsets).astype(np.int64)

    def degree(self, vertex: str) -> int:
        """Number of conflicts of a vertex."""
        return int(self.degrees[self.number[vertex]])

    def weight(self, vertices: Iterable[str]) -> float:
        """Sum of the weights of some vertices: the score of a plan (Equation 9)."""
        return fsum(self.weights[vertex] for vertex in vertices)

    def among(self, kept: NDArray[np.bool_]) -> SharonGraph:
        """The graph of the vertices that a mask [V] keeps, and of the edges among them."""
        shape = (len(self.vertices),) * 2
        whole: Any = csr_array((np.ones(len(self.others), np.int8), self.others, self.offsets),
                               shape=shape)  # fmt: skip
        part = whole[kept][:, kept]
        part.sort_indices()
        names = tuple(n for n, stays in zip(self.vertices, kept.tolist(), strict=True) if stays)
        return SharonGraph(
            names, self.values[kept], part.indptr.astype(np.int32), part.indices.astype(np.int32)
        )


def build_graph(candidates: tuple[Candidate, ...], benefits: Mapping[str, float]) -> SharonGraph:
    """The Sharon graph of a workload (Algorithm 1): only beneficial candidates become vertices.

    `benefits` holds BValue of each candidate by id.
    """
    weights = {c.id: benefits[c.id] for c in candidates if benefits[c.id] > 0}
    return SharonGraph.meeting(weights, {c.id: places_of(c) for c in candidates if c.id in weights})
