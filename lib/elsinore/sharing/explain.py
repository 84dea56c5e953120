"""Explain a plan: the fate of its candidates, how it cuts patterns, and what sharing saves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from elsinore.errors import PlanError
from elsinore.query import syntax
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import print_pattern
from elsinore.query.segments import Place
from elsinore.sharing.benefit import Savings, weigh
from elsinore.sharing.candidates import kleene_types
from elsinore.sharing.plan import Fate, Occurrence, PlannedCandidate, StaticPlan
from elsinore.sharing.replan import chosen_candidates
from elsinore.sharing.statistics import Statistics


def explain_plan(plan: StaticPlan) -> tuple[tuple[PlannedCandidate, str], ...]:
    """Return all candidates with their fate as text.

    The order is by fate, in the order of `Fate`, then by descending benefit.
    """
    order = list(Fate)
    ordered = sorted(plan.candidates, key=lambda c: (order.index(c.fate), -c.benefit))
    return tuple((candidate, _fate(candidate, plan.guaranteed_weight)) for candidate in ordered)


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


# ---- how a plan cuts a pattern into private and shared parts (Definition 4)


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the sequence at the top level of a pattern."""

    text: str  #: the part as it is written, without aliases
    #: it covers the positions `start` to `stop - 1`.
    start: int
    stop: int
    kleene: frozenset[str]  #: event types E whose E+ it contains, outside of NOT
    negated: bool  #: whether it is a NOT


@dataclass(frozen=True, slots=True)
class Stretch:
    """Adjacent boxes that are computed by the query, or by the candidate with this id."""

    boxes: tuple[Box, ...]
    candidate: str | None

    @property
    def start(self) -> int:
        """Return the first position."""
        return self.boxes[0].start

    @property
    def stop(self) -> int:
        """Return the position after the last."""
        return self.boxes[-1].stop

    def __str__(self) -> str:
        text = ", ".join(box.text for box in self.boxes)
        return text if self.candidate is None else f"shared {self.candidate}: {text}"


@dataclass(frozen=True, slots=True)
class Cut:
    """A query and its parts, from left to right."""

    query: str
    stretches: tuple[Stretch, ...]

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Return all boxes, from left to right."""
        return tuple(box for stretch in self.stretches for box in stretch.boxes)

    def __str__(self) -> str:
        text = " | ".join(map(str, self.stretches))
        plain = len(self.boxes) == 1 and self.stretches[0].candidate is None
        return text if plain else f"SEQ({text})"


#: The chosen candidate that shares each position.
Owners = Mapping[Place, str]


def explain_cuts(plan: StaticPlan, workload: Workload) -> tuple[Cut, ...]:
    """Return the cut of every query, in the order of the workload.

    The plan must fit the workload (`elsinore.sharing.replan.verify`).
    """
    return tuple(cut_query(query, plan.owners) for query in workload.queries)


def cut_query(query: BoundQuery, owners: Owners) -> Cut:
    """Return the cut of one query."""
    boxes = groupby(_boxes(query.pattern), key=lambda box: owners.get((query.name, box.start)))
    return Cut(query.name, tuple(Stretch(tuple(found), name) for name, found in boxes))


def _boxes(pattern: syntax.Pattern) -> Iterator[Box]:
    place = 0
    for part in pattern.parts if isinstance(pattern, syntax.Sequence) else (pattern,):
        stop = place + sum(1 for _ in syntax.event_patterns(part))
        kleene = frozenset(kleene_types(part))
        text = print_pattern(_without_aliases(part))
        yield Box(text, place, stop, kleene, isinstance(part, syntax.Negation))
        place = stop


def _without_aliases(pattern: syntax.Pattern) -> syntax.Pattern:
    """Return the pattern with types instead of aliases; the order of the types identifies them."""
    match pattern:
        case syntax.EventPattern(type=kind):
            return syntax.EventPattern(kind, kind)
        case syntax.AnyOf():
            leaves = (syntax.EventPattern(leaf.type, syntax.ANY) for leaf in pattern.leaves)
            return syntax.AnyOf(tuple(leaves))
    return syntax.with_parts(pattern, _without_aliases)


# ---- savings of shared candidates, and why other candidates are not shared


@dataclass(frozen=True, slots=True)
class SharedCandidate:
    """A chosen candidate; all metrics are count updates per longest window of the workload."""

    candidate: PlannedCandidate  #: its record in the plan
    #: the gain of each query that shares it (Equation 2 minus Equation 6), by name; None without
    #: statistics.
    gains: Mapping[str, float] | None
    #: its cost, once for all queries (the first term of Equation 7); None without statistics.
    once: float | None
    net: float | None  #: the gains minus the cost: BValue (Equation 8)
    #: for each query that contains it but does not share it, the chosen candidates that overlap
    #: it; empty if sharing it there is not beneficial.
    left_out: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class UnsharedCandidate:
    """A candidate that was not chosen, with the queries where each chosen candidate overlaps it."""

    candidate: PlannedCandidate
    meets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ExplainedSavings:
    """All candidates of a plan: chosen candidates by saving, then other candidates by benefit."""

    shared: tuple[SharedCandidate, ...]
    unshared: tuple[UnsharedCandidate, ...]


def explain_savings(
    plan: StaticPlan, workload: Workload, statistics: Statistics | None = None
) -> ExplainedSavings:
    """Return the savings of a plan, and why it does not share more.

    Args:
        plan: a plan that fits the workload (`replan.verify`).
        workload: the queries.
        statistics: the statistics of the plan; without them, gains are None.

    Raises:
        PlanError: the plan was found for other statistics.
    """
    savings: dict[str, Savings] = {}
    if statistics is not None:
        if plan.statistics_fingerprint != statistics.fingerprint:
            raise PlanError(
                "the static plan was found for other statistics",
                hint="leave out --events and --rates, or leave out --plan",
                plan=plan.statistics_fingerprint,
                statistics=statistics.fingerprint,
            )
        chosen = chosen_candidates(plan, workload)
        savings = {name: weigh(found, workload, statistics) for name, found in chosen.items()}
    shared = [_shared(plan.by_id[name], savings.get(name), plan.owners) for name in plan.chosen]
    others = [c for c in plan.candidates if c.id not in plan.chosen]
    return ExplainedSavings(
        tuple(sorted(shared, key=lambda each: -(each.net or 0.0))),
        tuple(
            UnsharedCandidate(c, _meetings(c, plan.owners))
            for c in sorted(others, key=lambda c: -c.benefit)
        ),
    )


def _shared(
    candidate: PlannedCandidate, savings: Savings | None, owners: Owners
) -> SharedCandidate:
    sharing = candidate.shared_by
    left_out = [place for place in candidate.occurrences if place.query not in sharing]
    return SharedCandidate(
        candidate,
        {name: savings.gains[name] for name in sharing} if savings else None,
        max(savings.once[name] for name in sharing) if savings else None,
        savings.benefit(sharing) if savings else candidate.shared_benefit,
        {place.query: _met(place, owners) for place in left_out},
    )


def _met(occurrence: Occurrence, owners: Owners) -> tuple[str, ...]:
    """Return the chosen candidates that share positions of an occurrence."""
    return tuple(dict.fromkeys(owners[p] for p in occurrence.places if p in owners))


def _meetings(candidate: PlannedCandidate, owners: Owners) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for occurrence in candidate.occurrences:
        for name in _met(occurrence, owners):
            found[name] = (*found.get(name, ()), occurrence.query)
    return found


def reason(unshared: UnsharedCandidate, guaranteed: float) -> str:
    """Return why a candidate was not chosen, as text."""
    candidate = unshared.candidate
    where = "; ".join(
        f"{name} is shared instead in {', '.join(queries)}"
        for name, queries in unshared.meets.items()
    )
    match candidate.fate:
        case Fate.NOT_BENEFICIAL:
            return "sharing it costs more than it saves"
        case Fate.PRUNED if candidate.score_max is not None:
            most = figure_text(candidate.score_max)
            return f"a plan with it saves at most {most}; {figure_text(guaranteed)} is guaranteed"
        case _:
            return where or "a better plan does not share it"


def figure_text(value: float) -> str:
    """Return a number for people: six digits of a small one, a whole number of a large one.

    >>> figure_text(7.024271610851), figure_text(1035358.4), figure_text(1e300)
    ('7.02427', '1,035,358', '1e+300')
    """
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"
