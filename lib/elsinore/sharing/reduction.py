"""The reduction of the Sharon graph: candidates whose fate is clear (Sharon Algorithm 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.sharing.graph import SharonGraph
from elsinore.sharing.gwmin import guaranteed_weight

#: Scores are sums of doubles; a candidate is pruned only where it falls short by more than their
#: rounding (with equal weights in one clique Score_max *is* the guaranteed weight).
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Reduction:
    """What is left to search, and what was decided.

    Attributes:
        graph: the reduced graph.
        conflict_free: vertices that belong to every optimal plan (Definition 14), in order.
        pruned: vertices that belong to none (Definition 13): Score_max when they were pruned.
        score_max: Score_max of every vertex in the whole graph (Definition 12).
        guaranteed: the guaranteed weight that they were compared with (Equation 10).
    """

    graph: SharonGraph
    conflict_free: tuple[str, ...]
    pruned: Mapping[str, float]
    score_max: Mapping[str, float]
    guaranteed: float


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
        degrees = _sums(graph, (~pruned).astype(np.float64))
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
    return weights.sum() - _sums(graph, weights)


def _sums(graph: SharonGraph, of: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the neighbours of each vertex."""
    rows = np.repeat(np.arange(len(graph.vertices)), graph.degrees)
    sums = np.bincount(rows, weights=of[graph.others], minlength=len(graph.vertices))
    return sums.astype(np.float64)  # without edges bincount counts
