"""The sharing benefit model of the Sharon paper: Equations 1 to 8, as published.

Costs are numbers of count updates and multiplications per window. A rate is the mean number of
events of a type per window. A type that occurs k times in a pattern is counted k times in the sum
of Equation 1. This is the factor k of section 7.3: each of its events updates k counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import fsum

from elsinore.errors import ParameterError
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.query.segments import Segment, keys_of
from elsinore.sharing.candidates import Candidate, kleene_types, mine_candidates
from elsinore.sharing.statistics import Statistics

Rates = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Split:
    """The pattern of a query around a shared pattern p (Definition 4), as event types.

    `prefix` is empty if p begins the query's pattern, `suffix` if p ends it.
    """

    prefix: tuple[str, ...]
    shared: tuple[str, ...]
    suffix: tuple[str, ...]

    @property
    def whole(self) -> tuple[str, ...]:
        """Return the query's pattern P^i."""
        return self.prefix + self.shared + self.suffix


def rate(pattern: Iterable[str], rates: Rates) -> float:
    """Return Equation 1: the rate of matched events, the sum of the rates of a pattern's types."""
    return fsum(rates[event_type] for event_type in pattern)


def non_shared(split: Split, rates: Rates) -> float:
    """Return Equation 2: each matched event updates one count per START event of the query."""
    return rates[split.whole[0]] * rate(split.whole, rates)


def count_computation(split: Split, rates: Rates) -> float:
    """Return Equation 4, Comp: the cost of the counts of prefix and suffix.

    An empty prefix or suffix costs nothing.
    """
    parts = (part for part in (split.prefix, split.suffix) if part)
    return fsum(rates[part[0]] * rate(part, rates) for part in parts)


def count_combination(split: Split, rates: Rates) -> float:
    """Return Equation 5, Comb: the product of the numbers of counts that are multiplied.

    The equation assumes a prefix and a suffix. An empty one has no counts, so its factor is left
    out. If both are empty, p is the whole query and nothing is combined.
    """
    if not split.prefix and not split.suffix:
        return 0.0
    product = rates[split.shared[0]]
    for part in (split.prefix, split.suffix):
        product *= rates[part[0]] if part else 1.0
    return product


def shared(split: Split, rates: Rates) -> float:
    """Return Equation 6: the cost of one query in addition to p under the Shared method."""
    return count_computation(split, rates) + count_combination(split, rates)


def shared_once(pattern: tuple[str, ...], rates: Rates) -> float:
    """Return the first term of Equation 7: the cost of p, computed once for all of its queries."""
    return rates[pattern[0]] * rate(pattern, rates)


# ---- under the statistics of a stream, query by query

#: Upper bound of benefits, so that the sum of any number of them is a finite double.
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Savings:
    """Equation 8 of a candidate per query, to compute the benefit of any subset of its queries.

    Equations 3 and 7 are sums over the queries. So the benefit, Equation 3 minus Equation 7, is a
    sum of gains minus the cost of p.

    Attributes:
        gains: the saving of each query without the cost of p, `NonShared(p, q) - Shared(p, q)`
            (Equations 2 and 6), by name of the query; may be negative.
        once: the cost of p (the first term of Equation 7) if this query has the longest window of
            the queries that share p, by name of the query. Longer windows cost more.
    """

    gains: Mapping[str, float]
    once: Mapping[str, float]

    def benefit(self, queries: Collection[str] | None = None) -> float:
        """Return BValue(p, Q'_p) of some of the queries, at least one; by default, of all.

        Sharing p is beneficial if the value is above zero.
        """
        sharing = self.gains.keys() if queries is None else queries
        return fsum(self.gains[query] for query in sharing) - max(
            self.once[query] for query in sharing
        )


def weigh(candidate: Candidate, workload: Workload, statistics: Statistics) -> Savings:
    """Return the savings of a candidate, in count updates per longest window of the workload.

    The equations refer to one window of one partition. So `Rate(E)` is the mean number of events of
    type E per window and partition; if partitions were not counted, of all events. Costs are
    multiplied by the number of partitions, and by the longest window of the workload divided by the
    window's length.

    If windows differ (section 7.2), the costs of each query refer to its window, and p is computed
    for the longest of them. With equal windows and one partition, as the paper assumes, the result
    equals the paper's value.

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
    splits = {p.query: split(workload.by_name[p.query], p) for p in candidate.occurrences}
    types = sorted({name for found in splits.values() for name in found.whole})

    @cache
    def rates_of(length: int) -> Rates:
        return {
            name: statistics.rate(name, length, _carried(name, attributes, workload))
            for name in types
        }

    gains, once = {}, {}
    for name, found in splits.items():
        within = workload.by_name[name].window.longest
        rates = rates_of(within)
        times = workload.longest_window / within * partitions
        gains[name] = (non_shared(found, rates) - shared(found, rates)) * times
        once[name] = shared_once(candidate.pattern, rates) * times
    return Savings(gains, once)


def _too_large(candidate: Candidate) -> ParameterError:
    pattern = ", ".join(candidate.pattern)
    problem = f"the rates of ({pattern}) are too large"
    return ParameterError(problem, hint="use smaller rates, or a shorter per:")


def split(query: BoundQuery, segment: Segment) -> Split:
    """Return the prefix, p and suffix of a query (Definition 4).

    The paper's model has no Kleene and no NOT. Here a Kleene part counts as one occurrence of each
    of its types, and NOT is ignored.
    """
    positions = [position for position in query.positions if not position.negated]
    return Split(
        tuple(position.type for position in positions if position.index < segment.start),
        segment.types,
        tuple(position.type for position in positions if position.index >= segment.stop),
    )


def partition_keys(workload: Workload) -> tuple[tuple[str, ...], ...]:
    """Return the sets of key attributes whose numbers of distinct values are used for predictions.

    These are the keys of candidates, for `weigh`. For queries with a Kleene sub-pattern, these are
    all keys, and the keys at each position.
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
        if any(kleene_types(query.pattern)):
            found.add(_attributes(query.keys))
            found |= {
                _attributes([key for key in query.keys if position.index in key.positions])
                for position in query.positions
                if not position.negated
            }
    return tuple(sorted(found - {()}))


def _key_attributes(candidate: Candidate, workload: Workload) -> tuple[str, ...]:
    place = candidate.occurrences[0]  # any one: the keys are part of the signature
    keys = keys_of(workload.by_name[place.query], place)
    return _attributes(keys)


def _attributes(keys: Iterable[Key]) -> tuple[str, ...]:
    return tuple(sorted({key.attribute for key in keys if key.value is None}))


def _carried(event_type: str, attributes: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    """Return the key attributes that events of a type have; only these partition its events."""
    owned = workload.schema.by_name[event_type].by_name
    return tuple(attribute for attribute in attributes if attribute in owned)


# ---- candidates shared by some of their queries (section 7.1)


@dataclass(frozen=True, slots=True)
class Option:
    """The option `(p, Q'_p)`; a plan is a set of options."""

    candidate: Candidate  #: the candidate `(p, Q_p)`
    queries: tuple[str, ...]  #: Q'_p, two or more of the candidate's queries, in their order
    benefit: float  #: BValue(p, Q'_p) (Equation 8)

    @classmethod
    def of(cls, candidate: Candidate, queries: Iterable[str], savings: Savings) -> Option:
        """Return the option of a candidate that these queries share."""
        wanted = frozenset(queries)
        ordered = tuple(query for query in candidate.queries if query in wanted)
        assert len(ordered) == len(wanted) > 1
        return cls(candidate, ordered, savings.benefit(ordered))

    @property
    def name(self) -> str:
        """Return the candidate's id, with the names of the queries if they are not all."""
        if len(self.queries) == len(self.candidate.occurrences):
            return self.candidate.id
        return f"{self.candidate.id}{{{','.join(self.queries)}}}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The decision of an optimizer."""

    options: tuple[Option, ...]  #: the plan: at most one option per candidate, without conflicts
    #: upper bound of the score of all plans in the search space; None if it was not computed.
    bound: float | None
    proven: bool  #: whether the score reaches the bound, within the solver's tolerance of 1e-6
