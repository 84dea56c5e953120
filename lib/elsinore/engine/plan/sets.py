"""Which sharable sets run together, and how: rules, which `benchmarks.auto` measures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from elsinore.engine.aggregate_ordered import only_compares, ordered_sets
from elsinore.engine.plan.units import GRETA, HAMLET, Choice
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.sharable import SharableSet, sets_of, sharable_sets
from elsinore.sharing.statistics import Statistics


@dataclass
class SetChoice:
    """The sharable sets of some queries, and why each query is run as it is.

    Attributes:
        ordered: sets that share order trees.
        hamlet: sets that run by Hamlet; all sets are disjoint.
        by_query: who runs each query, and why; those that run by themselves, too.
    """

    ordered: list[SharableSet] = field(default_factory=list)
    hamlet: list[SharableSet] = field(default_factory=list)
    by_query: dict[str, Choice] = field(default_factory=dict)

    def alone(self, beside: Iterable[tuple[BoundQuery, str]]) -> None:
        """Adds queries that run by themselves."""
        for query, why in beside:
            self.by_query[query.name] = Choice(query.name, GRETA, why)

    def add(self, found: SharableSet, executor: str, text: str) -> None:
        """Adds the queries of a set; `{}` in the text is what they have in common."""
        kinds = sorted({found.merged.states[state].type for state in found.merged.kleene})
        number = len(found.queries) - 1
        others = f"{', '.join(f'{kind}+' for kind in kinds)} with {number} other{'s'[: number > 1]}"
        for query in found.queries:
            self.by_query[query.name] = Choice(query.name, executor, text.replace("{}", others))


def choose_sets(workload: Workload, statistics: Statistics | None) -> SetChoice:
    """Every sharable set runs by Hamlet, but where conditions on pairs are single comparisons.

    Hamlet works out the pairs of events once for all queries. A comparison needs no pairs: greta's
    trees take the logarithm of a window's events instead of their number, and share it, too, among
    queries that take the same events in the same windows. What cannot share trees runs query by
    query where windows are large.

    Args:
        workload: the queries, none of them swept.
        statistics: of their stream; without them windows count as small.

    Raises:
        ParameterError: the statistics lack a type of a set.
    """
    sharing, choice = sets_of(workload), SetChoice()
    choice.alone(sharing.beside)
    for found in sharing.sets:
        if only_compares(found):
            _choose_by_order(found, statistics, choice)
        else:
            choice.hamlet.append(found)
            choice.add(found, HAMLET, "shares {}")
    return choice


def _choose_by_order(found: SharableSet, statistics: Statistics | None, choice: SetChoice) -> None:
    """Adds a set that only compares values."""
    ordered = ordered_sets(found)
    taken = {query.name for part in ordered for query in part.queries}
    left = sharable_sets([query for query in found.queries if query.name not in taken])
    choice.ordered.extend(ordered)
    for part in ordered:
        choice.add(part, GRETA, "shares {} and the order of values")
    alone = "no other query shares its order of values: windows, events or aggregates differ"
    choice.alone((query, alone) for query, _ in left.beside)
    for part in left.sets:
        events = 0.0 if statistics is None else _events_of_window(part, statistics)
        if events > _by_trees(len(part.queries)):
            large = f"compares values in windows of about {events:,.0f} events"
            choice.add(part, GRETA, f"could share {{}}, but {large}")
        else:
            choice.hamlet.append(part)
            choice.add(part, HAMLET, "shares {}")


def _by_trees(queries: int) -> int:
    """Events of a partition's window from which on trees, query by query, are quicker than pairs.

    Milliseconds by greta and Hamlet over 60,000 events in windows that overlap 4 times: 2 queries
    in windows of 400 events 10.4 and 10.9, of 2,000 14.9 and 176; 20 queries 90 and 14.5, 106 and
    407.
    """
    return 40 * (queries + 8)


def _events_of_window(found: SharableSet, statistics: Statistics) -> float:
    """The mean number of events that a query of a set has in a window of a partition, at most."""
    partitions = statistics.partition_count(found.merged.keys)
    return max(
        sum(statistics.rate(name, query.window.within) for name in query.event_types) / partitions
        for query in found.queries
    )
