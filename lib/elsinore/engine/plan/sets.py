"""Sharable sets of a workload, what they cost both ways, and the part of a plan that holds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from elsinore.engine.hamlet.predict import predict_set
from elsinore.engine.hamlet.traffic import Stream
from elsinore.errors import PlanError
from elsinore.lowering.sharable import SharableSet, Sharing, sharable_sets
from elsinore.query.bound import Workload
from elsinore.sharing.plan import PlannedSet, PlannedState, PlannedTransition, StaticPlan, cost_text
from elsinore.sharing.profile import StreamProfile
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True)
class SetChoice:
    """The sets of a workload, with predictions, and why the other queries are in none.

    Attributes:
        sets: disjoint.
        beside: reasons by query.
    """

    sets: tuple[PlannedSet, ...]
    beside: Mapping[str, str]

    @property
    def by_query(self) -> dict[str, PlannedSet]:
        """The set of each query that is in one."""
        return {name: found for found in self.sets for name in found.queries}


def sets_of(workload: Workload) -> Sharing:
    """The sharable sets of a workload; the order of its queries does not matter."""
    return sharable_sets(sorted(workload.queries, key=lambda query: query.name))


def choose_sets(
    workload: Workload, statistics: Statistics, profiles: Sequence[StreamProfile] = ()
) -> SetChoice:
    """Every sharable set, and whether it pays to run it by Hamlet.

    Args:
        workload: the queries.
        statistics: of their stream.
        profiles: of parts of it, for bursts and selectivities.

    Raises:
        ParameterError: the statistics lack a type of a set.
    """
    sharing, stream = sets_of(workload), Stream(statistics, tuple(profiles))
    sets = (_planned(n, found, stream) for n, found in enumerate(sharing.sets, 1))
    return SetChoice(tuple(sets), _reasons(sharing))


def planned_sets(workload: Workload, plan: StaticPlan) -> SetChoice:
    """The sets of a plan, which must be what this build makes of the workload.

    Raises:
        PlanError: they are not.
    """
    sharing = sets_of(workload)
    here = [_form(_structure(n, found)) for n, found in enumerate(sharing.sets, 1)]
    if here != [_form(found) for found in plan.sets]:
        raise PlanError(
            "the sharable sets of the static plan are not those of the workload",
            hint="find the plan anew",
        )
    return SetChoice(plan.sets, _reasons(sharing))


def without(
    chosen: SetChoice, workload: Workload, swept: Collection[str], stream: Stream
) -> SetChoice:
    """What is left of sets whose other queries are swept; it pays where it did and still does.

    Raises:
        ParameterError: the statistics lack a type of a set.
    """
    sets: list[PlannedSet] = []
    beside = dict(chosen.beside)
    for found in chosen.sets:
        left = [workload.by_name[name] for name in found.queries if name not in swept]
        if len(left) == len(found.queries):
            sets.append(found)
            continue
        rest = sharable_sets(left)
        beside |= _reasons(rest)
        for part in rest.sets:
            anew = _planned(1, part, stream)
            figures = {"id": found.id, "pays": found.pays and anew.pays}
            sets.append(anew.model_copy(update=figures))
    return SetChoice(tuple(sets), beside)


def in_words(found: PlannedSet) -> str:
    """For people: what running a set together costs, against running its queries one by one."""
    kleene = ", ".join(f"{kind}+" for kind in found.kleene)
    times = f"{cost_text(found.together)} together, {cost_text(found.alone)} one by one"
    if found.pays:
        return f"shares {kleene} with {_others(found)}: {times}"
    if found.together < found.alone:
        return f"could share {kleene} with {_others(found)}, but that takes too much memory"
    return f"could share {kleene} with {_others(found)}, which does not pay: {times}"


def _others(found: PlannedSet) -> str:
    number = len(found.queries) - 1
    return f"{number} other{'s' if number > 1 else ''} of {found.id}"


def _reasons(sharing: Sharing) -> dict[str, str]:
    return {query.name: why for query, why in sharing.beside}


def _planned(number: int, found: SharableSet, stream: Stream) -> PlannedSet:
    cost = predict_set(found, stream)
    figures = {"alone": cost.alone, "together": cost.together, "pays": cost.pays}
    return _structure(number, found).model_copy(update=figures)


def _structure(number: int, found: SharableSet) -> PlannedSet:
    """A set without its prediction."""
    merged = found.merged
    return PlannedSet(
        id=f"s{number}",
        kleene=tuple(sorted({merged.states[state].type for state in merged.kleene})),
        queries=tuple(query.name for query in merged.queries),
        keys=merged.keys,
        pane=found.pane,
        states=tuple(
            PlannedState(
                event_type=state.type,
                keys=tuple(sorted(state.keys)),
                queries=tuple(sorted(state.members)),
                starts=tuple(sorted(merged.starts(at))),
                ends=tuple(sorted(merged.ends(at))),
            )
            for at, state in enumerate(merged.states)
        ),
        transitions=tuple(
            PlannedTransition(
                earlier=link.earlier,
                later=link.later,
                queries=link.queries,
                conditional=link.condition is not None,
            )
            for link in merged.links
        ),
        alone=0.0,
        together=0.0,
        pays=False,
    )


def _form(found: PlannedSet) -> PlannedSet:
    """A set with no prediction, to compare by."""
    return found.model_copy(update={"alone": 0.0, "together": 0.0, "pays": False})
