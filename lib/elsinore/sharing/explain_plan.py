"""A plan as rows for a table that people read."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.sharing.plan import Fate, PlannedCandidate, StaticPlan


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """One row: a candidate, who holds it, what sharing it saves, and what became of it.

    `benefit` is in count updates per longest window; `degree` is the number of conflicts, None for
    a candidate that is not beneficial and so has no place in the graph.
    """

    id: str
    pattern: str
    queries: tuple[str, ...]
    benefit: float
    degree: int | None
    fate: str


_ORDER = tuple(Fate)


def explain_plan(plan: StaticPlan) -> tuple[ExplainedCandidate, ...]:
    """All candidates: the chosen ones, those in conflict, the others; the largest benefit first."""
    ordered = sorted(
        plan.candidates, key=lambda candidate: (_ORDER.index(candidate.fate), -candidate.benefit)
    )
    return tuple(_explain(candidate) for candidate in ordered)


def _explain(candidate: PlannedCandidate) -> ExplainedCandidate:
    vertex = candidate.fate is not Fate.NOT_BENEFICIAL
    fate = str(candidate.fate)
    if candidate.excluded_by:
        fate = f"{fate} with {', '.join(candidate.excluded_by)}"
    return ExplainedCandidate(
        id=candidate.id,
        pattern=f"({', '.join(candidate.pattern)})",
        queries=candidate.queries,
        benefit=candidate.benefit,
        degree=len(candidate.conflicts) if vertex else None,
        fate=fate,
    )
