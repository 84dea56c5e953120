"""Which sharable sets run by Hamlet: a rule, which `benchmarks.auto` measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elsinore.lowering.conditions import Programs, order_of
from elsinore.query.bound import Workload
from elsinore.sharing.sharable import SharableSet, sets_of
from elsinore.sharing.statistics import Statistics

#: Events of a partition's window, for each query of a set, from which on order trees, query by
#: query, are quicker than pairs of events for all queries at once.
_BY_TREES = 30


@dataclass(frozen=True)
class SetChoice:
    """The sharable sets of some queries that run by Hamlet, and why.

    Attributes:
        sets: disjoint.
        reasons: by query, for those of other sets and those beside the sets, too.
    """

    sets: Sequence[SharableSet]
    reasons: dict[str, str]


def choose_sets(workload: Workload, statistics: Statistics | None) -> SetChoice:
    """Every sharable set runs by Hamlet, but one that only compares values in large windows.

    Pairs of events are then worked out once for all queries of the set. Where a condition on pairs
    is one comparison, a query by itself needs no pairs: greta's trees take the logarithm of a
    window's events instead of their number.

    Args:
        workload: the queries, none of them swept.
        statistics: of their stream; without them windows count as small.

    Raises:
        ParameterError: the statistics lack a type of a set.
    """
    sharing = sets_of(workload)
    reasons = {query.name: why for query, why in sharing.beside}
    chosen = []
    for found in sharing.sets:
        events = 0.0
        if statistics is not None and _only_compares(found):
            events = _events_of_window(found, statistics)
        by_trees = events > _BY_TREES * len(found.queries)
        chosen += [] if by_trees else [found]
        for query in found.queries:
            reasons[query.name] = _in_words(found, events if by_trees else None)
    return SetChoice(chosen, reasons)


def _only_compares(found: SharableSet) -> bool:
    """Whether every condition on pairs is one comparison, which order trees can answer."""
    programs = Programs()
    for link in found.merged.links:
        if link.condition is not None:
            number = programs.program(link.condition, link.earlier, link.later)
            if order_of(programs.programs[number]) is None:
                return False
    return True


def _events_of_window(found: SharableSet, statistics: Statistics) -> float:
    """The mean number of events that a query of a set has in a window of a partition, at most."""
    partitions = statistics.partition_count(found.merged.keys)
    return max(
        sum(statistics.rate(name, query.window.within) for name in query.event_types) / partitions
        for query in found.queries
    )


def _in_words(found: SharableSet, events: float | None) -> str:
    """Why a set runs as it does; `events` of a window where these are too many for pairs."""
    kinds = sorted({found.merged.states[state].type for state in found.merged.kleene})
    number = len(found.queries) - 1
    others = f"{', '.join(f'{kind}+' for kind in kinds)} with {number} other{'s'[: number > 1]}"
    if events is None:
        return f"shares {others}"
    return (
        f"could share {others}, but only compares values, in windows of about {events:,.0f} events"
    )
