"""The sharing benefit model of the Sharon paper: Equations 1 to 8, as published.

Costs are numbers of count updates and multiplications, per window. A rate is the mean number of
events of a type in one window. A type that occurs k times in a pattern stands k times in the sum of
Equation 1, which is the factor k of section 7.3: each of its events updates k counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from math import fsum

from elsinore.errors import ParameterError
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.sharing.candidates import Candidate, Segment, keys_of, kleene_types, mine_candidates
from elsinore.sharing.statistics import Statistics

Rates = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Split:
    """The pattern of a query around a shared pattern p (Definition 4), as event types.

    `prefix` or `suffix` is empty where p begins or ends the query's pattern.
    """

    prefix: tuple[str, ...]
    shared: tuple[str, ...]
    suffix: tuple[str, ...]

    @property
    def whole(self) -> tuple[str, ...]:
        """The query's pattern P^i."""
        return self.prefix + self.shared + self.suffix


def rate(pattern: Iterable[str], rates: Rates) -> float:
    """Equation 1: the rate of matched events, the sum of the rates of all types of a pattern."""
    return fsum(rates[event_type] for event_type in pattern)


def non_shared(split: Split, rates: Rates) -> float:
    """Equation 2: each matched event updates one count per START event of the query."""
    return rates[split.whole[0]] * rate(split.whole, rates)


def count_computation(split: Split, rates: Rates) -> float:
    """Equation 4, Comp: the counts of prefix and suffix; a part that is not there costs nothing."""
    parts = (part for part in (split.prefix, split.suffix) if part)
    return fsum(rates[part[0]] * rate(part, rates) for part in parts)


def count_combination(split: Split, rates: Rates) -> float:
    """Equation 5, Comb: the product of the numbers of counts that are multiplied.

    The equation is written for a query with a prefix and a suffix. A part that is not there has no
    counts and stands for no factor; where there is neither, p is the whole query and nothing is
    combined.
    """
    if not split.prefix and not split.suffix:
        return 0.0
    product = rates[split.shared[0]]
    for part in (split.prefix, split.suffix):
        product *= rates[part[0]] if part else 1.0
    return product


def shared(split: Split, rates: Rates) -> float:
    """Equation 6: what one query costs beside p by the Shared method."""
    return count_computation(split, rates) + count_combination(split, rates)


def shared_once(pattern: tuple[str, ...], rates: Rates) -> float:
    """The first term of Equation 7: p, computed once for all of its queries."""
    return rates[pattern[0]] * rate(pattern, rates)


# ---- under the statistics of a stream, query by query

#: Benefits stay below this, so that any number of them adds up to a double.
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Savings:
    """Equation 8 of a candidate, split by query, so that any subset of its queries can be weighed.

    Equations 3 and 7 are sums over the queries, so the benefit, Equation 3 less Equation 7, is a
    sum of gains less what p costs.

    Attributes:
        gains: what each query saves beside p, `NonShared(p, q) - Shared(p, q)` (Equations 2 and 6),
            by the queries' names; it may be negative.
        once: what computing p costs (the first term of Equation 7) if this query's window is the
            longest of those that share p, by the queries' names. Longer windows cost more.
    """

    gains: Mapping[str, float]
    once: Mapping[str, float]

    def benefit(self, queries: Collection[str] | None = None) -> float:
        """BValue(p, Q'_p) for some of the queries, at least one; for all of them by default.

        Above zero, sharing p pays.
        """
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
        within = workload.by_name[name].window.within
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
        if any(kleene_types(query.pattern)):
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
    return _attributes(keys)


def _attributes(keys: Iterable[Key]) -> tuple[str, ...]:
    return tuple(sorted({key.attribute for key in keys}))


def _carried(event_type: str, attributes: tuple[str, ...], workload: Workload) -> tuple[str, ...]:
    """Those of the key attributes that events of a type carry; these alone divide its events."""
    owned = workload.schema.by_name[event_type].by_name
    return tuple(attribute for attribute in attributes if attribute in owned)


# ---- candidates shared by some of their queries (section 7.1)


@dataclass(frozen=True, slots=True)
class Option:
    """The option `(p, Q'_p)`: what a plan is made of."""

    candidate: Candidate  #: the candidate `(p, Q_p)`
    queries: tuple[str, ...]  #: Q'_p, two or more of its queries, in their order
    benefit: float  #: BValue(p, Q'_p) (Equation 8)

    @classmethod
    def of(cls, candidate: Candidate, queries: Iterable[str], savings: Savings) -> Option:
        """The option of a candidate that these queries share."""
        wanted = frozenset(queries)
        ordered = tuple(query for query in candidate.queries if query in wanted)
        assert len(ordered) == len(wanted) > 1
        return cls(candidate, ordered, savings.benefit(ordered))

    @property
    def name(self) -> str:
        """The candidate's id, with the queries where they are not all of the candidate's."""
        if len(self.queries) == len(self.candidate.occurrences):
            return self.candidate.id
        return f"{self.candidate.id}{{{','.join(self.queries)}}}"


@dataclass(frozen=True, slots=True)
class Choice:
    """What an optimizer decided."""

    options: tuple[Option, ...]  #: what is shared, at most one option a candidate, in no conflict
    #: no plan in the search space of the optimizer scores more; None if no bound was computed.
    bound: float | None
    proven: bool  #: whether the score reaches the bound, up to the solver's tolerance of 1e-6 of it
