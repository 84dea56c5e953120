"""Finds the static plan of a workload: mining, savings, Sharon graph, choice, story."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import fsum

from elsinore.query.bound import Workload
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.choose import Problem, choose
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.kleene import shared_kleene
from elsinore.sharing.plan import Finder, KleenePart, StaticPlan
from elsinore.sharing.plan_sets import PlannedSet
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.tell_story import tell_story
from elsinore.sharing.weigh import weigh

#: Seconds for a finder that can be bounded by time.
TIME_LIMIT = 60.0
#: Seconds after which GWMIN's plan should not be waited for any longer.
PATIENCE = 2.0


def find_plan(
    workload: Workload,
    statistics: Statistics,
    *,
    finder: Finder = Finder.OPTIMAL,
    time_limit: float = TIME_LIMIT,
    sets: tuple[PlannedSet, ...] = (),
) -> StaticPlan:
    """The plan that a finder chooses for a workload under the statistics of its stream.

    A pure function: the same workload, in whatever order of its queries, and the same statistics
    give the same plan, byte for byte (while the time limit is not met). `sets` is the Kleene part,
    which is weighed by what this engine costs and taken into the plan as it is
    (`elsinore.engine.auto.choose_sets`).

    Raises:
        ParameterError: the statistics lack a type of the workload, its rates are too large, or the
            time limit is not positive.
        BudgetError: the finder `sharon` or `exhaustive` met its bound.
    """
    return _plan(workload, statistics, _problem(workload, statistics, time_limit), finder, sets)


def find_plans(
    workload: Workload,
    statistics: Statistics,
    *,
    time_limit: float = TIME_LIMIT,
    sets: tuple[PlannedSet, ...] = (),
) -> Iterator[StaticPlan]:
    """The optimal plan; where it takes longer than `PATIENCE`, first GWMIN's.

    The last one is the best: the optimal one, or the best that was found in time.

    Raises:
        ParameterError: as `find_plan`.
    """
    quick = min(PATIENCE, time_limit)
    problem = _problem(workload, statistics, quick)
    plan = _plan(workload, statistics, problem, Finder.OPTIMAL, sets)
    if not plan.proven and quick < time_limit:
        yield _plan(workload, statistics, problem, Finder.GWMIN, sets)
        longer = replace(problem, time_limit=time_limit)
        plan = _plan(workload, statistics, longer, Finder.OPTIMAL, sets)
    yield plan


def _problem(workload: Workload, statistics: Statistics, time_limit: float) -> Problem:
    candidates = mine_candidates(workload)
    savings = {c.id: weigh(c, workload, statistics) for c in candidates}
    return Problem(candidates, savings, time_limit)


def _plan(
    workload: Workload,
    statistics: Statistics,
    problem: Problem,
    finder: Finder,
    sets: tuple[PlannedSet, ...],
) -> StaticPlan:
    choice = choose(problem, finder)
    kleene = shared_kleene(workload)
    return StaticPlan(
        workload_fingerprint=workload_fingerprint(workload),
        statistics_fingerprint=statistics.fingerprint,
        queries={q.name: q.fingerprint for q in sorted(workload.queries, key=lambda q: q.name)},
        finder=finder,
        candidates=tell_story(problem, choice),
        chosen=tuple(option.candidate.id for option in choice.options),
        score=fsum(option.benefit for option in choice.options),
        guaranteed_weight=problem.reduction.guaranteed,
        bound=choice.bound,
        proven=choice.proven,
        kleene=tuple(KleenePart(event_type=kind, queries=names) for kind, names in kleene),
        sets=sets,
    )
