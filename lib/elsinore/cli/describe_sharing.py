"""Who shares what under a plan, as plain data: the source of `elsinore explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elsinore.engine.plan import RuntimePlan
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import print_length
from elsinore.sharing.candidates import shared_kleene
from elsinore.sharing.explain import Cut, ExplainedSavings, explain_cuts, explain_savings, reason
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.sharable import SharableSet, Sharing, kleene_sharers, sets_of
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True)
class Explanation:
    """A workload under a plan: how its queries are cut, what that saves, and its Kleene part.

    Attributes:
        workload, plan: what is explained.
        cuts: of the queries.
        savings: of candidates.
        sharing: the sharable sets, those of the plan.
        runtime: who runs each query.
    """

    workload: Workload
    plan: StaticPlan
    cuts: tuple[Cut, ...]
    savings: ExplainedSavings
    sharing: Sharing
    runtime: RuntimePlan


def explain_workload(
    workload: Workload, plan: StaticPlan, statistics: Statistics | None, runtime: RuntimePlan
) -> Explanation:
    """Everything that there is to say of a workload under a plan.

    Raises:
        PlanError: the plan was found from other statistics.
    """
    return Explanation(
        workload,
        plan,
        explain_cuts(plan, workload),
        explain_savings(plan, workload, statistics),
        sets_of(workload),
        runtime,
    )


def describe_sharing(explanation: Explanation) -> dict[str, Any]:
    """The explanation as a mapping that JSON can hold.

    Lengths of windows and panes are in microseconds, or in ticks of a stream without a unit; gains,
    costs and benefits are count updates per longest window of the workload.
    """
    plan, queries = explanation.plan, explanation.workload.queries
    calendar = explanation.workload.schema.time_unit.is_calendar
    return {
        "plan": {
            "fingerprint": plan.fingerprint,
            "finder": str(plan.finder),
            "score": plan.score,
            "guaranteed_weight": plan.guaranteed_weight,
            "bound": plan.bound,
            "proven": plan.proven,
        },
        "queries": [
            _query(query, cut, calendar=calendar) | {"executor": choice.executor, "why": choice.why}
            for query, cut, choice in zip(
                queries, explanation.cuts, explanation.runtime.choices, strict=True
            )
        ],
        "shared": _shared(explanation.savings),
        "not_shared": _unshared(explanation.savings, plan.guaranteed_weight),
        "kleene": _kleene(explanation),
        "sets": [
            _set(f"s{number}", found, explanation.runtime, calendar=calendar)
            for number, found in enumerate(explanation.sharing.sets, 1)
        ],
    }


def _query(query: BoundQuery, cut: Cut, *, calendar: bool) -> dict[str, Any]:
    return {
        "query": query.name,
        "cut": str(cut),
        "parts": [
            {
                "shared": stretch.candidate,
                "start": stretch.start,
                "stop": stretch.stop,
                "pattern": [box.text for box in stretch.boxes],
            }
            for stretch in cut.stretches
        ],
        "keys": _keys(query),
        "within": query.window.within,
        "slide": query.window.slide,
        "window": _window(query, calendar=calendar),
    }


def _keys(query: BoundQuery) -> str:
    """What partitions the trends and names the rows; a key of some types alone names them."""
    equal, groups = [], []
    counted = [position for position in query.positions if not position.negated]
    for key in query.keys:
        carriers = [p.alias for p in counted if p.index in key.positions]
        part = f" of {', '.join(carriers)}" if len(carriers) < len(counted) else ""
        if key.equivalence:
            equal.append(f"{key.attribute}{part}")
        if key.group_label is not None:
            groups.append(f"{key.group_label}{part}")
    texts = [f"[{', '.join(equal)}]"] if equal else []
    texts += [f"GROUP-BY {', '.join(groups)}"] if groups else []
    return " ".join(texts) or "no key"


def _window(query: BoundQuery, *, calendar: bool) -> str:
    within, slide = (
        _length(n, calendar=calendar) for n in (query.window.within, query.window.slide)
    )
    return f"WITHIN {within}" if within == slide else f"WITHIN {within} SLIDE {slide}"


def _length(ticks: int, *, calendar: bool) -> str:
    return print_length(ticks) if calendar else str(ticks)


def _shared(savings: ExplainedSavings) -> list[dict[str, Any]]:
    return [
        {
            "id": each.candidate.id,
            "pattern": list(each.candidate.pattern),
            "shared_by": list(each.candidate.shared_by),
            "gains": None if each.gains is None else dict(each.gains),
            "once": each.once,
            "net": each.net,
            "left_out": {name: list(taken) for name, taken in each.left_out.items()},
        }
        for each in savings.shared
    ]


def _unshared(savings: ExplainedSavings, guaranteed: float) -> list[dict[str, Any]]:
    return [
        {
            "id": each.candidate.id,
            "pattern": list(each.candidate.pattern),
            "queries": list(each.candidate.queries),
            "benefit": each.candidate.benefit,
            "fate": str(each.candidate.fate),
            "meets": {name: list(queries) for name, queries in each.meets.items()},
            "why": reason(each, guaranteed),
        }
        for each in savings.unshared
    ]


def _kleene(explanation: Explanation) -> list[dict[str, Any]]:
    """Every E+ of several queries (Definition 3.1): who shares it, and what keeps the others."""
    by_name = explanation.workload.by_name
    member: dict[str, str] = {}
    sharing: dict[str, dict[str, list[str]]] = {}
    for number, found in enumerate(explanation.sharing.sets, 1):
        member |= {query.name: f"s{number}" for query in found.queries}
        for kind, names in _sharers(found).items():
            sharing.setdefault(kind, {})[f"s{number}"] = names
    reasons = {query.name: why for query, why in explanation.sharing.beside}
    holders = {kind: set(names) for kind, names in shared_kleene(explanation.workload)}
    told = []
    for kind in sorted(holders.keys() | sharing.keys()):
        sets = sharing.get(kind, {})
        shared = {name for names in sets.values() for name in names}
        alone = []
        for name in sorted(holders.get(kind, set()) - shared):
            why = reasons.get(name) or f"no other query of its set {member[name]} has {kind}+"
            alone.append({"query": name, "keys": _keys(by_name[name]), "why": why})
        told.append({"type": kind, "sets": sets, "apart": _apart(sets, by_name), "alone": alone})
    return told


def _apart(shared: dict[str, list[str]], by_name: dict[str, BoundQuery]) -> str | None:
    """Why the sets that have an E+ in common are not one."""
    if len(shared) < 2:
        return None
    keys = {name: _keys(by_name[queries[0]]) for name, queries in shared.items()}
    if len(set(keys.values())) < len(keys):
        return "they are partitioned alike, but their events carry other keys, or one set is full"
    return "partitioned otherwise: " + "; ".join(f"{n} by {text}" for n, text in keys.items())


def _sharers(found: SharableSet) -> dict[str, list[str]]:
    """By event type E, the queries of a set that share E+."""
    sharers: dict[str, list[str]] = {}
    for state, numbers in kleene_sharers(found).items():
        names = sharers.setdefault(found.merged.states[state].type, [])
        names += [n for q in numbers if (n := found.queries[q].name) not in names]
    return sharers


def _set(name: str, found: SharableSet, runtime: RuntimePlan, *, calendar: bool) -> dict[str, Any]:
    return {
        "id": name,
        "run_by": runtime.executors_of([query.name for query in found.queries]),
        "types": list(_sharers(found)),
        "queries": [query.name for query in found.queries],
        "keys": _keys(found.queries[0]),
        "windows": list(dict.fromkeys(_window(q, calendar=calendar) for q in found.queries)),
        "pane": found.pane,
        "pane_text": _length(found.pane, calendar=calendar),
        "states": [
            {
                "type": state.type,
                "queries": [found.queries[q].name for q in sorted(state.members)],
                "starts": [found.queries[q].name for q in sorted(found.merged.starts(at))],
                "ends": [found.queries[q].name for q in sorted(found.merged.ends(at))],
            }
            for at, state in enumerate(found.merged.states)
        ],
        "transitions": [
            {
                "earlier": link.earlier,
                "later": link.later,
                "queries": [found.queries[q].name for q in link.queries],
                "conditional": link.condition is not None,
            }
            for link in found.merged.links
        ],
    }
