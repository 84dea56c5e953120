"""What each chosen candidate saves, query by query, and why the others were not chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elsinore.errors import PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import mine_candidates
from elsinore.sharing.plan import Fate, PlannedCandidate, StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.weigh import Savings, weigh

#: By the id of a chosen candidate, the queries in which another candidate meets it.
Meetings = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class SharedCandidate:
    """A chosen candidate; all figures are count updates per longest window of the workload.

    Attributes:
        candidate: what the plan says of it.
        gains: what each query that shares it saves beside it (Equation 2 less Equation 6), by name;
            None where the statistics are not at hand.
        once: what computing it costs, once for all of them (the first term of Equation 7); None as
            above.
        net: the gains less that cost: BValue (Equation 8).
        left_out: the queries that hold it and do not share it: the chosen candidates that take
            their positions; none where sharing it there does not pay.
    """

    candidate: PlannedCandidate
    gains: Mapping[str, float] | None
    once: float | None
    net: float | None
    left_out: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class UnsharedCandidate:
    """A candidate that was not chosen, and the chosen ones that it meets."""

    candidate: PlannedCandidate
    meets: Meetings


@dataclass(frozen=True, slots=True)
class ExplainedSavings:
    """All candidates of a plan: the chosen by what they save, then the others by their benefit."""

    shared: tuple[SharedCandidate, ...]
    unshared: tuple[UnsharedCandidate, ...]


def explain_savings(
    plan: StaticPlan, workload: Workload, statistics: Statistics | None = None
) -> ExplainedSavings:
    """What the plan's sharing saves, and why it does not share more.

    Args:
        plan: it must fit the workload (`elsinore.sharing.verify.verify`).
        workload: what it was found for.
        statistics: what it was found from; without them the gains stay unknown.

    Raises:
        PlanError: the plan was found from other statistics.
    """
    if statistics is not None and plan.statistics_fingerprint != statistics.fingerprint:
        raise PlanError(
            "the static plan was found from other statistics",
            hint="find the plan anew, or explain it without them",
            plan=plan.statistics_fingerprint,
            statistics=statistics.fingerprint,
        )
    owners = {
        (place.query, position): name
        for name in plan.chosen
        for place in plan.by_id[name].shared_occurrences
        for position in range(place.start, place.stop)
    }
    savings = _savings(plan, workload, statistics)
    chosen = [_shared(plan.by_id[name], savings.get(name), owners) for name in plan.chosen]
    others = [c for c in plan.candidates if c.id not in plan.chosen]
    return ExplainedSavings(
        tuple(sorted(chosen, key=lambda each: -(each.net or 0.0))),
        tuple(
            UnsharedCandidate(c, _meetings(c, owners))
            for c in sorted(others, key=lambda c: -c.benefit)
        ),
    )


def reason(unshared: UnsharedCandidate, guaranteed: float) -> str:
    """Why a candidate was not chosen, in words."""
    candidate = unshared.candidate
    where = "; ".join(
        f"{name} takes its place in {', '.join(queries)}"
        for name, queries in unshared.meets.items()
    )
    match candidate.fate:
        case Fate.NOT_BENEFICIAL:
            return "sharing it costs more than it saves"
        case Fate.PRUNED if candidate.score_max is not None:
            most = figure_text(candidate.score_max)
            return f"a plan with it saves {most} at most; {figure_text(guaranteed)} is guaranteed"
        case _:
            return where or "a better plan does without it"


def figure_text(value: float) -> str:
    """A figure for people: six digits of a small one, whole numbers of a large one.

    >>> figure_text(7.024271610851), figure_text(1035358.4), figure_text(1e300)
    ('7.02427', '1,035,358', '1e+300')
    """
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


def _savings(
    plan: StaticPlan, workload: Workload, statistics: Statistics | None
) -> dict[str, Savings]:
    """What the chosen candidates save; found by what they share, whatever they are called."""
    if statistics is None:
        return {}
    mined = {(c.pattern, c.queries, c.occurrences[0].start): c for c in mine_candidates(workload)}
    found = {}
    for name in plan.chosen:
        planned = plan.by_id[name]
        key = planned.pattern, planned.queries, planned.occurrences[0].start
        found[name] = weigh(mined[key], workload, statistics)
    return found


def _shared(
    candidate: PlannedCandidate, savings: Savings | None, owners: Mapping[tuple[str, int], str]
) -> SharedCandidate:
    sharing = candidate.shared_by
    taken = {
        place.query: tuple(
            dict.fromkeys(
                owners[place.query, position]
                for position in range(place.start, place.stop)
                if (place.query, position) in owners
            )
        )
        for place in candidate.occurrences
        if place.query not in sharing
    }
    return SharedCandidate(
        candidate,
        {name: savings.gains[name] for name in sharing} if savings else None,
        max(savings.once[name] for name in sharing) if savings else None,
        savings.benefit(sharing) if savings else candidate.shared_benefit,
        taken,
    )


def _meetings(candidate: PlannedCandidate, owners: Mapping[tuple[str, int], str]) -> Meetings:
    found: dict[str, list[str]] = {}
    for place in candidate.occurrences:
        met = (owners.get((place.query, at)) for at in range(place.start, place.stop))
        for name in dict.fromkeys(met):
            if name is not None:
                found.setdefault(name, []).append(place.query)
    return {name: tuple(queries) for name, queries in found.items()}
