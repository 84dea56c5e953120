"""The best plan of whole candidates: a maximum weight independent set, by clique constraints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from elsinore.sharing.binary_program import BinaryProgram, BinarySolution, solve
from elsinore.sharing.candidates import Candidate, Place, places_of
from elsinore.sharing.graph import SharonGraph, gwmin


def independent_set(
    graph: SharonGraph, candidates: Mapping[str, Candidate], *, time_limit: float
) -> tuple[tuple[str, ...], BinarySolution]:
    """An independent set of the largest weight that can be found in time (Lemma 1), in order.

    Conflicts are meetings at a position of a query, so the candidates over one position are a
    clique: one row for each, instead of one for each edge. Never worse than GWMIN's.

    Args:
        graph: the Sharon graph, usually a reduced one.
        candidates: by id, at least those of the graph.
        time_limit: seconds for the solver.
    """
    cliques: dict[Place, list[int]] = {}
    for number, vertex in enumerate(graph.vertices):
        for place in places_of(candidates[vertex]):
            cliques.setdefault(place, []).append(number)
    distinct = sorted({tuple(clique) for clique in cliques.values() if len(clique) > 1})
    columns = [number for clique in distinct for number in clique]
    starts = np.cumsum([0, *map(len, distinct)])
    rows = csr_array(
        (np.ones(len(columns)), columns, starts), shape=(len(distinct), len(graph.vertices))
    )
    program = BinaryProgram(graph.values, rows, np.ones(len(distinct)))
    start = np.zeros(len(graph.vertices))
    start[[graph.number[vertex] for vertex in gwmin(graph)]] = 1
    found = solve(
        program,
        start=start,
        improve=lambda x: _rounded(graph, x),
        bound=float(graph.values.sum()),
        time_limit=time_limit,
    )
    chosen = tuple(graph.vertices[number] for number in np.flatnonzero(found.x > 0.5).tolist())
    return chosen, found


def _rounded(graph: SharonGraph, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """An independent set: vertex by vertex, the likeliest first, of equals the heaviest."""
    free = np.ones(len(x), dtype=np.bool_)
    chosen = np.zeros(len(x))
    for number in np.lexsort((-graph.values, -x)).tolist():
        if free[number]:
            chosen[number] = 1
            free[graph.near(number)] = False
    return chosen
