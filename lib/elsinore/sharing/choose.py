"""The plan finders side by side: each turns a problem into a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from elsinore.errors import ParameterError
from elsinore.sharing.assignment import assign
from elsinore.sharing.candidates import Candidate
from elsinore.sharing.exhaustive import exhaustive
from elsinore.sharing.expansion import Expansion, expand
from elsinore.sharing.graph import SharonGraph, build_graph
from elsinore.sharing.gwmin import gwmin
from elsinore.sharing.independent_set import independent_set
from elsinore.sharing.options import Choice, Option, whole
from elsinore.sharing.plan import Finder
from elsinore.sharing.reduction import Reduction, reduce
from elsinore.sharing.search import search
from elsinore.sharing.weigh import Savings


@dataclass(frozen=True)
class Problem:
    """What a finder chooses from.

    Attributes:
        candidates: all of the workload, in the order of mining.
        savings: what sharing each saves, by id.
        time_limit: seconds for finders that can be bounded by time.
    """

    candidates: tuple[Candidate, ...]
    savings: Mapping[str, Savings]
    time_limit: float

    def __post_init__(self) -> None:
        if not self.time_limit > 0:
            raise ParameterError("the time limit must be a positive number of seconds")

    @cached_property
    def by_id(self) -> dict[str, Candidate]:
        """Candidates by id."""
        return {candidate.id: candidate for candidate in self.candidates}

    @cached_property
    def benefits(self) -> dict[str, float]:
        """BValue of every candidate, shared by all of its queries."""
        return {name: savings.benefit() for name, savings in self.savings.items()}

    @cached_property
    def graph(self) -> SharonGraph:
        """The Sharon graph."""
        return build_graph(self.candidates, self.benefits)

    @cached_property
    def reduction(self) -> Reduction:
        """The Sharon graph reduced."""
        return reduce(self.graph)

    @cached_property
    def greedy(self) -> tuple[Option, ...]:
        """What GWMIN chooses."""
        return whole(gwmin(self.graph), self.by_id, self.savings)

    def expanded(self) -> Expansion:
        """The Sharon graph expanded."""
        return expand(self.graph, self.by_id, self.savings)


def choose(problem: Problem, finder: Finder) -> Choice:
    """What a finder decides.

    Raises:
        BudgetError: the finder `sharon` or `exhaustive` met its bound.
    """
    return _CHOOSERS[finder](problem)


def _gwmin(problem: Problem) -> Choice:
    return Choice(problem.greedy, None, proven=False)


def _sharon(problem: Problem) -> Choice:
    expansion = problem.expanded()
    reduction = reduce(expansion.graph)
    found = search(reduction.graph, time_limit=problem.time_limit)
    return _of_all_plans(expansion, {*reduction.conflict_free, *found.chosen})


def _exhaustive(problem: Problem) -> Choice:
    expansion = problem.expanded()
    return _of_all_plans(expansion, set(exhaustive(expansion.graph)))


def _of_all_plans(expansion: Expansion, names: set[str]) -> Choice:
    chosen = tuple(name for name in expansion.graph.vertices if name in names)
    options = tuple(expansion.options[name] for name in chosen)
    return Choice(options, expansion.graph.weight(chosen), proven=True)


def _whole(problem: Problem) -> Choice:
    reduction = problem.reduction
    chosen, found = independent_set(reduction.graph, problem.by_id, time_limit=problem.time_limit)
    names = {*reduction.conflict_free, *chosen}
    ordered = tuple(name for name in problem.graph.vertices if name in names)
    bound = found.bound + problem.graph.weight(reduction.conflict_free)
    bound = max(bound, problem.graph.weight(ordered))
    return Choice(whole(ordered, problem.by_id, problem.savings), bound, found.proven)


def _optimal(problem: Problem) -> Choice:
    return assign(
        problem.candidates, problem.savings, problem.greedy, time_limit=problem.time_limit
    )


_CHOOSERS: Mapping[Finder, Callable[[Problem], Choice]] = MappingProxyType(
    {
        Finder.GWMIN: _gwmin,
        Finder.SHARON: _sharon,
        Finder.EXHAUSTIVE: _exhaustive,
        Finder.WHOLE: _whole,
        Finder.OPTIMAL: _optimal,
    }
)
