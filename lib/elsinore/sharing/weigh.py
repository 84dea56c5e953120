"""What sharing a candidate saves under the statistics of a stream, query by query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import fsum

from elsinore.errors import ParameterError
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.sharing.benefit import Rates, Split, non_shared, shared, shared_once
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.kleene import has_kleene
from elsinore.sharing.segments import Segment
from elsinore.sharing.signature import keys_of
from elsinore.sharing.statistics import Statistics

#: Benefits stay below this, so that any number of them adds up to a double.
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Savings:
    """Equation 8 of a candidate, split by query, so that any subset of its queries can be weighed.

    Attributes:
        gains: what each query saves beside p, `NonShared(p, q) - Shared(p, q)` (Equations 2 and 6),
            by the queries' names; it may be negative.
        once: what computing p costs (the first term of Equation 7) if this query's window is the
            longest of those that share p, by the queries' names. Longer windows cost more.
    """

    gains: Mapping[str, float]
    once: Mapping[str, float]

    def benefit(self, queries: Collection[str] | None = None) -> float:
        """BValue(p, Q'_p) for some of the queries, at least one; for all of them by default."""
        sharing = self.gains.keys() if queries is None else queries
        return fsum(self.gains[query] for query in sharing) - max(
            self.once[query] for query in sharing
        )


def weigh(candidate: Candidate, workload: Workload, statistics: Statistics) -> Savings:
    """What sharing a candidate saves, in count updates per longest window of the workload.

    The equations speak of one window of one partition. `Rate(E)` is therefore the mean number of
    events of type E in one window and one partition (all events, where partitions were not
    counted), and costs are multiplied by the number of partitions and by how often the window's
    length fits into the workload's longest. Where windows differ (section 7.2) each query's own
    costs are those of its own window, and p itself is computed for the longest of them. With equal
    windows and one partition, the paper's assumptions, this is the paper's value.

    Raises:
        ParameterError: the statistics lack a type, or the rates are too large for a double.
    """
    try:
        savings = _weigh(candidate, workload, statistics)
        largest = fsum(map(abs, (*savings.gains.values(), *savings.once.values())))
    except (OverflowError, ValueError) as error:  # fsum meets infinities
        raise _too_large(candidate) from error
    if not largest < _LARGEST:
        raise _too_large(candidate)
    return savings


def _weigh(candidate: Candidate, workload: Workload, statistics: Statistics) -> Savings:
    attributes = _key_attributes(candidate, workload)
    partitions = statistics.partition_count(attributes)
    rates_of: dict[int, Rates] = {}
    gains, once = {}, {}
    splits = [(workload.by_name[p.query], split(workload.by_name[p.query], p))
              for p in candidate.occurrences]  # fmt: skip
    types = {name for _, found in splits for name in found.whole}
    divisors = {
        name: statistics.partition_count(_carried(name, attributes, workload)) for name in types
    }
    for query, found in splits:
        within = query.window.within
        if within not in rates_of:
            rates_of[within] = {n: statistics.rate(n, within) / divisors[n] for n in sorted(types)}
        rates = rates_of[within]
        times = workload.longest_window / within * partitions
        gains[query.name] = (non_shared(found, rates) - shared(found, rates)) * times
        once[query.name] = shared_once(candidate.pattern, rates) * times
    return Savings(gains, once)


def _too_large(candidate: Candidate) -> ParameterError:
    pattern = ", ".join(candidate.pattern)
    return ParameterError(f"the rates around ({pattern}) are too large to compute with")


def split(query: BoundQuery, segment: Segment) -> Split:
    """Prefix, p and suffix of a query (Definition 4).

    A Kleene part counts as one occurrence of each of its types, a negated part does not count: the
    paper's model knows neither.
    """
    positions = [position for position in query.positions if not position.negated]
    return Split(
        tuple(position.type for position in positions if position.index < segment.start),
        segment.types,
        tuple(position.type for position in positions if position.index >= segment.stop),
    )


def partition_keys(workload: Workload) -> tuple[tuple[str, ...], ...]:
    """The sets of key attributes whose distinct values predictions ask the statistics for.

    They are those of candidates, for `weigh`, and of what queries with a Kleene sub-pattern are
    partitioned by, the whole and what each position carries.
    """
    found: set[tuple[str, ...]] = set()
    for candidate in mine_candidates(workload):
        attributes = _key_attributes(candidate, workload)
        types = {
            position.type
            for name in candidate.queries
            for position in workload.by_name[name].positions
        }
        found |= {attributes, *(_carried(name, attributes, workload) for name in types)}
    for query in workload.queries:
        if has_kleene(query):
            found.add(_attributes(query.keys))
            found |= {
                _attributes([key for key in query.keys if position.index in key.positions])
                for position in query.positions
                if not position.negated
            }
    return tuple(sorted(found - {()}))


def _key_attributes(candidate: Candidate, workload: Workload) -> tuple[str, ...]:
    place = candidate.occurrences[0]  # all agree: the keys are part of the signature
    keys = keys_of(workload.by_name[place.query], place)
    return tuple(sorted({key.attribute for key in keys}))


def _attributes(keys: Iterable[Key]) -> tuple[str, ...]:
    return tuple(sorted({key.attribute for key in keys}))


def _carried(event_type: str, attributes: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    """Those of the key attributes that events of a type carry; these alone divide its events."""
    owned = workload.schema.by_name[event_type].by_name
    return tuple(attribute for attribute in attributes if attribute in owned)
