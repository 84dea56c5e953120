"""Find the static plan of a workload: mine candidates, compute savings, choose, and record why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum

from elsinore.choices import TIME_LIMIT, Optimizer
from elsinore.errors import ParameterError
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.segments import Place
from elsinore.sharing.assignment import assign
from elsinore.sharing.benefit import Choice, Option, Savings, weigh
from elsinore.sharing.candidates import Candidate, mine_candidates, places_of, shared_kleene
from elsinore.sharing.graph import Reduction, SharonGraph, build_graph, gwmin, reduce
from elsinore.sharing.plan import (
    Fate,
    KleenePart,
    Occurrence,
    PlannedCandidate,
    PlannedSet,
    StaticPlan,
)
from elsinore.sharing.search import Expansion, exhaustive, expand, search
from elsinore.sharing.sharable import sets_of
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True)
class Problem:
    """The input of an optimizer.

    Attributes:
        candidates: all candidates of a workload.
        savings: their savings by id.
        time_limit: in seconds, for optimizers with a time limit.

    Raises:
        ParameterError: the time limit is not positive.
    """

    candidates: tuple[Candidate, ...]
    savings: Mapping[str, Savings]
    time_limit: float

    def __post_init__(self) -> None:
        if not self.time_limit > 0:
            problem = "the time limit must be a positive number of seconds"
            raise ParameterError(problem, hint="as in --time-limit 10")

    @cached_property
    def by_id(self) -> dict[str, Candidate]:
        """Return the candidates by id."""
        return {candidate.id: candidate for candidate in self.candidates}

    @cached_property
    def benefits(self) -> dict[str, float]:
        """Return BValue of every candidate by id, shared by all of its queries."""
        return {name: savings.benefit() for name, savings in self.savings.items()}

    @cached_property
    def graph(self) -> SharonGraph:
        """Return the Sharon graph."""
        return build_graph(self.candidates, self.benefits)

    @cached_property
    def reduction(self) -> Reduction:
        """Return the reduction of the Sharon graph."""
        return reduce(self.graph)

    @cached_property
    def greedy(self) -> tuple[Option, ...]:
        """Return the options that GWMIN chooses."""
        return tuple(
            Option.of(self.by_id[name], self.by_id[name].queries, self.savings[name])
            for name in gwmin(self.graph)
        )

    def expanded(self) -> Expansion:
        """Return the expanded Sharon graph."""
        return expand(self.graph, self.by_id, self.savings)


def choose(problem: Problem, optimizer: Optimizer) -> Choice:
    """Return the decision of an optimizer.

    Raises:
        BudgetError: `sharon` or `exhaustive` reached its limit.
    """
    if optimizer is Optimizer.GWMIN:
        return Choice(problem.greedy, None, proven=False)
    if optimizer is Optimizer.OPTIMAL:
        limit = problem.time_limit
        return assign(problem.candidates, problem.savings, problem.greedy, time_limit=limit)
    expansion = problem.expanded()
    if optimizer is Optimizer.SHARON:
        reduction = reduce(expansion.graph)
        found = search(reduction.graph, time_limit=problem.time_limit)
        names = {*reduction.conflict_free, *found.chosen}
    else:
        names = set(exhaustive(expansion.graph))
    chosen = tuple(name for name in expansion.graph.vertices if name in names)
    options = tuple(expansion.options[name] for name in chosen)
    return Choice(options, expansion.graph.weight(chosen), proven=True)


# ---- the fate of every candidate


def tell_story(problem: Problem, choice: Choice) -> tuple[PlannedCandidate, ...]:
    """Return every candidate with its benefit and its fate under a choice, in mining order."""
    options = {option.candidate.id: option for option in choice.options}
    owners = {
        place: option.candidate.id
        for option in choice.options
        for place in places_of(option.candidate, frozenset(option.queries))
    }
    order = {name: number for number, name in enumerate(options)}
    return tuple(
        _tell(candidate, problem, options.get(candidate.id), owners, order)
        for candidate in problem.candidates
    )


def _tell(
    candidate: Candidate,
    problem: Problem,
    option: Option | None,
    owners: dict[Place, str],
    order: dict[str, int],
) -> PlannedCandidate:
    name, graph = candidate.id, problem.graph
    vertex = name in graph.number
    if option is not None:
        fate = Fate.CHOSEN
    elif not vertex:
        fate = Fate.NOT_BENEFICIAL
    else:
        fate = Fate.PRUNED if name in problem.reduction.pruned else Fate.IN_CONFLICT
    met = {owners[place] for place in places_of(candidate) if place in owners} - {name}
    return PlannedCandidate(
        id=name,
        pattern=candidate.pattern,
        occurrences=tuple(
            Occurrence(query=s.query, start=s.start, stop=s.stop) for s in candidate.occurrences
        ),
        benefit=problem.benefits[name],
        degree=int(graph.degrees[graph.number[name]]) if vertex else None,
        score_max=problem.reduction.score_max.get(name),
        fate=fate,
        shared_by=option.queries if option else (),
        shared_benefit=option.benefit if option else None,
        excluded_by=tuple(sorted(met, key=order.__getitem__)) if vertex else (),
    )


# ---- the plan

#: Seconds to search for the optimal plan before GWMIN's plan is returned first.
PATIENCE = 2.0


def find_plan(
    workload: Workload,
    statistics: Statistics,
    *,
    optimizer: Optimizer = Optimizer.OPTIMAL,
    time_limit: float = TIME_LIMIT,
) -> StaticPlan:
    """Return the plan that an optimizer chooses for a workload and the statistics of its stream.

    The result is deterministic: equal statistics and the same queries, in any order, give the same
    plan, byte for byte, if the time limit is not reached.

    Raises:
        ParameterError: the statistics lack a type of the workload, its rates are too large, or the
            time limit is not positive.
        BudgetError: the optimizer `sharon` or `exhaustive` reached its limit.
    """
    return _plan(workload, statistics, _problem(workload, statistics, time_limit), optimizer)


def find_plans(
    workload: Workload, statistics: Statistics, *, time_limit: float = TIME_LIMIT
) -> Iterator[StaticPlan]:
    """Yield the optimal plan; if it takes longer than `PATIENCE`, yield GWMIN's plan first.

    The last plan is the best one found in time. Raises the errors of `find_plan`.
    """
    quick = min(PATIENCE, time_limit)
    problem = _problem(workload, statistics, quick)
    plan = _plan(workload, statistics, problem, Optimizer.OPTIMAL)
    if not plan.proven and quick < time_limit:
        yield _plan(workload, statistics, problem, Optimizer.GWMIN)
        longer = replace(problem, time_limit=time_limit)
        plan = _plan(workload, statistics, longer, Optimizer.OPTIMAL)
    yield plan


def _problem(workload: Workload, statistics: Statistics, time_limit: float) -> Problem:
    candidates = mine_candidates(workload)
    savings = {c.id: weigh(c, workload, statistics) for c in candidates}
    return Problem(candidates, savings, time_limit)


def _plan(
    workload: Workload, statistics: Statistics, problem: Problem, optimizer: Optimizer
) -> StaticPlan:
    choice = choose(problem, optimizer)
    kleene, sharing = shared_kleene(workload), sets_of(workload)
    return StaticPlan(
        workload_fingerprint=workload_fingerprint(workload),
        statistics_fingerprint=statistics.fingerprint,
        queries={q.name: q.fingerprint for q in sorted(workload.queries, key=lambda q: q.name)},
        finder=optimizer,
        candidates=tell_story(problem, choice),
        chosen=tuple(option.candidate.id for option in choice.options),
        score=fsum(option.benefit for option in choice.options),
        guaranteed_weight=problem.reduction.guaranteed,
        bound=choice.bound,
        proven=choice.proven,
        kleene=tuple(KleenePart(event_type=kind, queries=names) for kind, names in kleene),
        sets=tuple(PlannedSet.of(n, found) for n, found in enumerate(sharing.sets, 1)),
    )
