"""A plan as rows for a table that people read."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.sharing.plan import Fate, PlannedCandidate, StaticPlan


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """One row: a candidate, who holds it, what sharing it saves, and what became of it.

    `benefit` is in count updates per longest window, shared by all of the queries; `degree` is the
    number of conflicts, None for a candidate that is not beneficial and so is no vertex.
    """

    id: str
    pattern: str
    queries: tuple[str, ...]
    benefit: float
    degree: int | None
    fate: str


_ORDER = tuple(Fate)


def explain_plan(plan: StaticPlan) -> tuple[ExplainedCandidate, ...]:
    """All candidates: the chosen, the pruned, those in conflict, the others; the largest first."""
    ordered = sorted(
        plan.candidates, key=lambda candidate: (_ORDER.index(candidate.fate), -candidate.benefit)
    )
    return tuple(_explain(candidate, plan.guaranteed_weight) for candidate in ordered)


def _explain(candidate: PlannedCandidate, guaranteed: float) -> ExplainedCandidate:
    return ExplainedCandidate(
        id=candidate.id,
        pattern=f"({', '.join(candidate.pattern)})",
        queries=candidate.queries,
        benefit=candidate.benefit,
        degree=candidate.degree,
        fate=_fate(candidate, guaranteed),
    )


def _fate(candidate: PlannedCandidate, guaranteed: float) -> str:
    fate = str(candidate.fate)
    match candidate.fate:
        case Fate.CHOSEN if len(candidate.shared_by) < len(candidate.queries):
            return f"{fate} for {', '.join(candidate.shared_by)}: {candidate.shared_benefit:,.6g}"
        case Fate.PRUNED:
            return f"{fate}: at most {candidate.score_max:,.6g} < {guaranteed:,.6g}"
        case Fate.IN_CONFLICT if candidate.excluded_by:
            return f"{fate} with {', '.join(candidate.excluded_by)}"
        case _:
            return fate
