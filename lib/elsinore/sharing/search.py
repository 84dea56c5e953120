"""The plan optimizer as published: expansion to options, and search (Sharon Algorithms 3 to 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby
from time import monotonic

import numpy as np

from elsinore.errors import BudgetError
from elsinore.sharing.benefit import Option, Savings
from elsinore.sharing.candidates import Candidate, places_of
from elsinore.sharing.graph import SharonGraph


@dataclass(frozen=True)
class Expansion:
    """The expanded Sharon graph, and the option of each vertex by name."""

    graph: SharonGraph
    options: Mapping[str, Option]


def expand(
    graph: SharonGraph,
    candidates: Mapping[str, Candidate],
    savings: Mapping[str, Savings],
    *,
    most: int = 20_000,
) -> Expansion:
    """Replace every vertex by its options, with their conflicts (Algorithm 6).

    As in Algorithm 1, only beneficial options become vertices. All options of one candidate are in
    conflict, even if they have no query in common, because a pattern is computed only once.

    Args:
        graph: the Sharon graph.
        candidates: the candidates by id.
        savings: their savings by id.
        most: maximum number of options, which is exponential in the number of queries.

    Raises:
        BudgetError: there are more options than `most`.
    """
    options: dict[str, Option] = {}
    for vertex in graph.vertices:
        candidate = candidates[vertex]
        near = [candidates[graph.vertices[n]] for n in graph.near(graph.number[vertex]).tolist()]
        for queries in option_queries(candidate, near, most=most - len(options)):
            option = Option.of(candidate, queries, savings[vertex])
            if option.benefit > 0:
                options[option.name] = option
    places = {
        name: [*places_of(option.candidate, option.queries), option.candidate.id]
        for name, option in options.items()
    }
    weights = {name: option.benefit for name, option in options.items()}
    return Expansion(SharonGraph.meeting(weights, places), options)


def option_queries(
    candidate: Candidate, near: list[Candidate], *, most: int = 20_000
) -> tuple[frozenset[str], ...]:
    """Return the query sets of a candidate's options, in breadth-first order (Algorithm 5).

    The first one contains all queries. A conflict with u is caused by the queries Q_c. It is
    resolved by a combination C of them that this candidate drops while u drops the others
    (Definition 16). u must keep more than one query. So p1 of Figure 4, whose neighbors have two
    queries each, must drop all of Q_c (Figure 11).

    Args:
        candidate: the candidate.
        near: the candidates in conflict with it.
        most: maximum number of query sets.

    Raises:
        BudgetError: there are more query sets than `most`.
    """
    causes = [(frozenset(other.queries), _common_ground(candidate, other)) for other in near]
    root = frozenset(candidate.queries)
    found = {root: None}  # keeps the order
    level = [root]
    while level:
        following: list[frozenset[str]] = []
        for current in level:
            for others, cause in causes:
                for dropped in _combinations(current & cause, len(others)):
                    rest = current - dropped
                    if len(rest) > 1 and rest not in found:
                        found[rest] = None
                        following.append(rest)
            if len(found) > most:
                raise BudgetError(
                    f"the expansion of {candidate.id} has more than {most} options",
                    hint="use --optimizer optimal or --optimizer gwmin",
                )
        level = following
    return tuple(found)


def _common_ground(first: Candidate, second: Candidate) -> frozenset[str]:
    """Return the queries that cause the conflict of two candidates."""
    places = set(places_of(second))
    return frozenset(query for query, position in places_of(first) if (query, position) in places)


def _combinations(causing: frozenset[str], others: int) -> Iterator[frozenset[str]]:
    """Yield the subsets of Q_c to drop, such that the other candidate keeps two queries.

    Args:
        causing: Q_c.
        others: number of queries of the other candidate.
    """
    ordered = sorted(causing)
    least = max(1, len(ordered) - (others - 2))
    for size in range(least, len(ordered) + 1):
        yield from map(frozenset, combinations(ordered, size))


# ---- level by level (Algorithms 3 and 4)

#: A valid plan: the numbers of its vertices, ascending, and its score.
_Scored = tuple[tuple[int, ...], float]


@dataclass(frozen=True)
class Found:
    """An optimal plan, and the number of valid plans, except the empty one, that were compared."""

    chosen: tuple[str, ...]
    plans: int


def search(graph: SharonGraph, *, plans: int = 2_000_000, time_limit: float | None = None) -> Found:
    """Return the best valid plan, comparing all of them by size (Algorithm 4).

    Of equal plans, the first one wins. Only one level of plans is in memory. The number of valid
    plans is exponential in the number of vertices.

    Args:
        graph: the Sharon graph, or its reduction.
        plans: maximum number of valid plans.
        time_limit: in seconds; None: no limit.

    Raises:
        BudgetError: there are more valid plans than `plans`, or the time limit is reached.
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
                    "the plan optimizer reached its limit before it had compared every valid plan",
                    hint="use --optimizer optimal or --optimizer gwmin",
                    plans=looked_at + len(following),
                    vertices=len(weights),
                )
        level = following
    return Found(tuple(graph.vertices[v] for v in best[0]), looked_at)


def _next_level(
    parents: list[_Scored], near: list[frozenset[int]], weights: list[float]
) -> Iterator[_Scored]:
    """Yield the valid plans with one more candidate (Algorithm 3).

    Two parents that differ only in their last candidate have a child, unless these two are in
    conflict (Lemma 6). Parents are in lexicographic order, so parents with the same beginning are
    adjacent, and only these are paired.
    """
    for _, same in groupby(parents, key=lambda plan: plan[0][:-1]):
        siblings = list(same)
        for place, (plan, score) in enumerate(siblings):
            for other, _ in siblings[place + 1 :]:
                last = other[-1]
                if last not in near[plan[-1]]:
                    yield (*plan, last), score + weights[last]


# ---- every plan, valid or not, as in the experiments of section 8.3

#: 2^24 plans need 150 MB, at nine bytes per plan.
_MOST_VERTICES = 24


def exhaustive(graph: SharonGraph) -> tuple[str, ...]:
    """Return the best of all 2^|V| plans (Equation 13), in the order of the graph.

    The number of a plan has a bit per vertex. The plans with v as their last vertex are the plans
    below 2^v with v added. They are valid if the rest is valid and contains no neighbor of v.

    Raises:
        BudgetError: the graph has more than 24 vertices.

    >>> meetings = {"a": ["ab"], "b": ["ab", "bc"], "c": ["bc"]}
    >>> exhaustive(SharonGraph.meeting({"a": 2, "b": 3, "c": 2}, meetings))
    ('a', 'c')
    """
    size = len(graph.vertices)
    if size > _MOST_VERTICES:
        raise BudgetError(
            f"{size} candidates have 2^{size} plans, too many to compare",
            hint="use --optimizer optimal",
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
