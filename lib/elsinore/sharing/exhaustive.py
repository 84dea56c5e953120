"""The exhaustive plan finder of the paper's experiments: every plan, valid or not (section 8.3)."""

from __future__ import annotations

import numpy as np

from elsinore.errors import BudgetError
from elsinore.sharing.graph import SharonGraph

#: Nine bytes for each of 2^24 plans are 150 MB.
_MOST_VERTICES = 24


def exhaustive(graph: SharonGraph) -> tuple[str, ...]:
    """The best of all 2^|V| plans (Equation 13), in the graph's order; for small graphs only.

    Plans are numbered by their vertices' bits. Those with vertex v as their last are those below
    2^v with v added: valid if the rest is and holds no neighbour of v.

    Raises:
        BudgetError: the graph has more than 24 vertices.

    >>> exhaustive(SharonGraph.of({"a": 2, "b": 3, "c": 2}, [("a", "b"), ("b", "c")]))
    ('a', 'c')
    """
    size = len(graph.vertices)
    if size > _MOST_VERTICES:
        raise BudgetError(
            f"{size} candidates have 2^{size} plans, too many to look at each",
            hint="let the finder optimal choose",
        )
    scores = np.zeros(1 << size)
    valid = np.ones(1 << size, dtype=np.bool_)
    for vertex in range(size):
        below = 1 << vertex
        conflicts = sum(1 << int(n) for n in graph.near(vertex) if n < vertex)
        scores[below : 2 * below] = scores[:below] + graph.values[vertex]
        valid[below : 2 * below] = valid[:below] & ((np.arange(below) & conflicts) == 0)
    best = int(np.argmax(np.where(valid, scores, -1.0)))
    return tuple(name for v, name in enumerate(graph.vertices) if best >> v & 1)
