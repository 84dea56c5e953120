"""Conflict resolution: candidates expanded to options, and their graph (Sharon Algorithms 5, 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from elsinore.errors import BudgetError
from elsinore.sharing.candidates import Candidate
from elsinore.sharing.conflicts import places_of
from elsinore.sharing.graph import SharonGraph
from elsinore.sharing.options import Option
from elsinore.sharing.weigh import Savings


@dataclass(frozen=True)
class Expansion:
    """The expanded Sharon graph, and what its vertices stand for, by name."""

    graph: SharonGraph
    options: Mapping[str, Option]


def expand(
    graph: SharonGraph,
    candidates: Mapping[str, Candidate],
    savings: Mapping[str, Savings],
    *,
    most: int = 20_000,
) -> Expansion:
    """Algorithm 6: every vertex becomes the set of its options, with their conflicts.

    As in Algorithm 1 only beneficial options become vertices. Options of one candidate are all in
    conflict, also where they have no query in common: a pattern is computed once.

    Args:
        graph: the Sharon graph of the candidates.
        candidates: by id, at least those of the graph.
        savings: of these candidates, by id.
        most: how many options there may be.

    Raises:
        BudgetError: there are more options; their number is exponential in that of the queries.
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
    """Algorithm 5: the query sets of a candidate's options, the whole one first, breadth first.

    A conflict with u, caused by the queries Q_c, is resolved by a combination C of them that this
    candidate drops while u drops the others (Definition 16). u must keep more than one query: this
    is what lets C resolve the conflict, and why p1 of Figure 4, whose neighbours have two queries
    each, must drop all of Q_c (Figure 11).

    Raises:
        BudgetError: there are more than `most`.
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
                    hint="let the finder optimal or gwmin choose",
                )
        level = following
    return tuple(found)


def _common_ground(first: Candidate, second: Candidate) -> frozenset[str]:
    """The queries that cause the conflict of two candidates."""
    places = set(places_of(second))
    return frozenset(query for query, position in places_of(first) if (query, position) in places)


def _combinations(causing: frozenset[str], others: int) -> Iterator[frozenset[str]]:
    """The parts of Q_c to drop such that the other side, of `others` queries, keeps two."""
    ordered = sorted(causing)
    least = max(1, len(ordered) - (others - 2))
    for size in range(least, len(ordered) + 1):
        yield from map(frozenset, combinations(ordered, size))
