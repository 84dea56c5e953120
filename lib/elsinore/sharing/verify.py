"""Checks a plan against the workload that it is to be run for."""

from __future__ import annotations

from itertools import combinations

from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.conflicts import in_conflict
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.plan import PlannedCandidate, StaticPlan


def verify(plan: StaticPlan, workload: Workload) -> None:
    """Refuse a plan that was made for another workload, or whose choice is not valid for this one.

    What is chosen is compared with what the workload really holds: an intact fingerprint alone says
    nothing about who wrote the plan.

    Raises:
        PlanError: the plan is stale, shares what the workload does not hold, or is not free of
            conflicts (Sharon Definition 7).
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
    chosen = []
    for name in plan.chosen:
        planned = plan.by_id.get(name)
        candidate = mined.get(_planned_content(planned)) if planned else None
        if candidate is None:
            raise PlanError(f"the static plan shares {name}, which the workload does not hold")
        chosen.append((name, candidate))
    for (left, first), (right, second) in combinations(chosen, 2):
        if in_conflict(first, second):  # a candidate twice overlaps itself
            raise PlanError(f"the static plan shares both {left} and {right}, which overlap")


_Content = tuple[tuple[str, ...], tuple[tuple[str, int, int], ...]]


def _content(candidate: Candidate) -> _Content:
    return candidate.pattern, tuple((s.query, s.start, s.stop) for s in candidate.occurrences)


def _planned_content(planned: PlannedCandidate) -> _Content:
    return planned.pattern, tuple((o.query, o.start, o.stop) for o in planned.occurrences)
