"""Checks a plan against the workload that it is to be run for."""

from __future__ import annotations

from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.conflicts import Place, places_of
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.plan import PlannedCandidate, StaticPlan


def verify(plan: StaticPlan, workload: Workload) -> None:
    """Refuse a plan that was made for another workload, or whose choice is not valid for this one.

    What is chosen is compared with what the workload really holds: an intact fingerprint alone says
    nothing about who wrote the plan. Any choice is valid in which every chosen candidate is shared
    by two or more of its queries and no position of a query is shared twice (Sharon Definition 7).

    Raises:
        PlanError: the plan is stale, shares what the workload does not hold, or is not valid.
    """
    expected = workload_fingerprint(workload)
    if plan.workload_fingerprint != expected:
        raise PlanError(
            "the static plan was found for another workload",
            hint="find the plan anew",
            plan=plan.workload_fingerprint,
            workload=expected,
        )
    mined = {_content(candidate): candidate for candidate in mine_candidates(workload)}
    owners: dict[Place, str] = {}
    if len(set(plan.chosen)) < len(plan.chosen):
        raise PlanError("the static plan shares a candidate twice")
    for name in plan.chosen:
        planned = plan.by_id.get(name)
        candidate = mined.get(_planned_content(planned)) if planned else None
        if planned is None or candidate is None:
            raise PlanError(f"the static plan shares {name}, which the workload does not hold")
        for place in places_of(candidate, _sharing(planned)):
            other = owners.setdefault(place, name)
            if other != name:
                raise PlanError(f"the static plan shares both {other} and {name}, which overlap")


def _sharing(planned: PlannedCandidate) -> frozenset[str]:
    """The queries that share a candidate."""
    queries = frozenset(planned.shared_by)
    if len(queries) < 2 or len(queries) < len(planned.shared_by):
        raise PlanError(f"the static plan shares {planned.id} between fewer than two queries")
    if not queries <= set(planned.queries):
        raise PlanError(f"the static plan shares {planned.id} in a query that does not hold it")
    return queries


_Content = tuple[tuple[str, ...], tuple[tuple[str, int, int], ...]]


def _content(candidate: Candidate) -> _Content:
    return candidate.pattern, tuple((s.query, s.start, s.stop) for s in candidate.occurrences)


def _planned_content(planned: PlannedCandidate) -> _Content:
    return planned.pattern, tuple((o.query, o.start, o.stop) for o in planned.occurrences)
