"""The benefit of a candidate under the statistics of a stream: the weight of its vertex."""

from __future__ import annotations

from math import fsum

from elsinore.errors import ParameterError
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.benefit import Rates, Split, non_shared, shared, shared_once
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.segments import Segment
from elsinore.sharing.signature import keys_of
from elsinore.sharing.statistics import Statistics

#: Benefits stay below this, so that any number of them adds up to a double.
_LARGEST = 1e300


def weigh(candidate: Candidate, workload: Workload, statistics: Statistics) -> float:
    """BValue(p, Q_p) of Equation 8, in count updates per longest window of the workload.

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
        weight = _weigh(candidate, workload, statistics)
    except (OverflowError, ValueError) as error:  # fsum meets infinities
        raise _too_large(candidate) from error
    if not abs(weight) < _LARGEST:
        raise _too_large(candidate)
    return weight


def _weigh(candidate: Candidate, workload: Workload, statistics: Statistics) -> float:
    attributes = _key_attributes(candidate, workload)
    splits = [
        (split(query, place), query.window.within)
        for place in candidate.occurrences
        for query in (workload.by_name[place.query],)
    ]
    types = sorted({name for found, _ in splits for name in found.whole})
    divisors = {
        name: statistics.partition_count(_carried(name, attributes, workload)) for name in types
    }

    def rates(within: int) -> Rates:
        return {name: statistics.rate(name, within) / divisors[name] for name in types}

    gains = []
    for found, within in splits:
        gain = non_shared(found, rates(within)) - shared(found, rates(within))
        gains.append(gain * workload.longest_window / within)
    longest = max(within for _, within in splits)
    once = shared_once(candidate.pattern, rates(longest)) * workload.longest_window / longest
    return (fsum(gains) - once) * statistics.partition_count(attributes)


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
    """The sets of key attributes whose distinct values `weigh` asks the statistics for."""
    found: set[tuple[str, ...]] = set()
    for candidate in mine_candidates(workload):
        attributes = _key_attributes(candidate, workload)
        types = {
            position.type
            for name in candidate.queries
            for position in workload.by_name[name].positions
        }
        found |= {attributes, *(_carried(name, attributes, workload) for name in types)}
    return tuple(sorted(found - {()}))


def _key_attributes(candidate: Candidate, workload: Workload) -> tuple[str, ...]:
    place = candidate.occurrences[0]  # all agree: the keys are part of the signature
    keys = keys_of(workload.by_name[place.query], place)
    return tuple(sorted({key.attribute for key in keys}))


def _carried(event_type: str, attributes: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    """Those of the key attributes that events of a type carry; these alone divide its events."""
    owned = workload.schema.by_name[event_type].by_name
    return tuple(attribute for attribute in attributes if attribute in owned)
