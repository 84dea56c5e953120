"""The sharing plan finder, level by level as published (Sharon Algorithms 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from time import monotonic

from elsinore.errors import BudgetError
from elsinore.sharing.graph import SharonGraph

#: A valid plan: the numbers of its vertices, ascending, and its score.
_Scored = tuple[tuple[int, ...], float]


@dataclass(frozen=True)
class Found:
    """An optimal plan, and how many valid plans (the empty one aside) were looked at for it."""

    chosen: tuple[str, ...]
    plans: int


def search(graph: SharonGraph, *, plans: int = 2_000_000, time_limit: float | None = None) -> Found:
    """Algorithm 4: all valid plans by size, of which the best is kept; of equals the first.

    One level is kept at a time. The number of valid plans is exponential in that of the vertices.

    Args:
        graph: usually a reduced one.
        plans: how many valid plans may be looked at.
        time_limit: seconds, or None.

    Raises:
        BudgetError: there are more plans than that, or the time is over.
    """
    ends = None if time_limit is None else monotonic() + time_limit
    near = [frozenset(graph.near(v).tolist()) for v in range(len(graph.vertices))]
    weights = graph.values.tolist()
    best: _Scored = ((), 0.0)
    looked_at = 0
    level: list[_Scored] = [((v,), weight) for v, weight in enumerate(weights)]
    while level:
        looked_at += len(level)
        best = max([best, *level], key=lambda plan: plan[1])
        following: list[_Scored] = []
        for child in _next_level(level, near, weights):
            following.append(child)
            late = ends is not None and len(following) % 4096 == 0 and monotonic() > ends
            if late or looked_at + len(following) > plans:
                raise BudgetError(
                    "the plan finder met its bound before it had seen every valid plan",
                    hint="let the finder optimal or gwmin choose",
                    plans=looked_at + len(following),
                    vertices=len(weights),
                )
        level = following
    return Found(tuple(graph.vertices[v] for v in best[0]), looked_at)


def _next_level(
    parents: list[_Scored], near: list[frozenset[int]], weights: list[float]
) -> Iterator[_Scored]:
    """Algorithm 3: the valid plans with one candidate more.

    Two parents that begin with the same decisions and differ in the last give a child, unless these
    two are in conflict (Lemma 6). Parents stand in lexicographic order, so that those with the same
    beginning follow each other and only they are paired.
    """
    for _, same in groupby(parents, key=lambda plan: plan[0][:-1]):
        siblings = list(same)
        for place, (plan, score) in enumerate(siblings):
            for other, _ in siblings[place + 1 :]:
                last = other[-1]
                if last not in near[plan[-1]]:
                    yield (*plan, last), score + weights[last]
