"""What reaches the states of a template, as statistics and stream profiles let one expect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from elsinore.query.bound import BoundQuery
from elsinore.sharing.profile import StreamProfile
from elsinore.sharing.statistics import Statistics
from elsinore.windows import Window


@dataclass(frozen=True)
class Stream:
    """What is known of a stream.

    Attributes:
        statistics: rates of types and numbers of partitions.
        profiles: of parts of the stream, for bursts and selectivities; where they say nothing,
            every event passes a predicate, and events come in no order.
    """

    statistics: Statistics
    profiles: tuple[StreamProfile, ...] = ()

    @property
    def span(self) -> int:
        """The ticks that all numbers of events refer to."""
        return self.statistics.per

    def events(self, event_type: str) -> float:
        """Mean number of events of a type.

        Raises:
            ParameterError: the statistics lack the type.
        """
        return self.statistics.rate(event_type, self.span)

    def partitions(self, attributes: Iterable[str]) -> int:
        """Number of partitions by some attributes."""
        return self.statistics.partition_count(frozenset(attributes))

    def passing(self, query: BoundQuery, position: int) -> float:
        """The share of the events of a position's type that meet its local predicates."""
        kind = query.positions[position].type
        if not any(p.position == position for p in query.local_predicates):
            return 1.0
        shares = {
            (found.condition, found.event_type): found.share
            for profile in self.profiles
            for found in profile.local
            if query.name in found.queries and found.event_type == kind and found.share is not None
        }
        return prod(shares.values())

    def adjacent(self, query: BoundQuery, earlier: int, later: int) -> float:
        """The share of pairs of events at two positions that meet the query's edge predicates."""
        types = query.positions[earlier].type, query.positions[later].type
        shares = {
            found.condition: found.share
            for profile in self.profiles
            for found in profile.edges
            if query.name in found.queries
            and (found.earlier, found.later) == types
            and found.share is not None
        }
        return prod(shares.values())

    def burst(self, queries: Sequence[str], event_type: str) -> float | None:
        """Mean length of the bursts of a type among a set of queries; None if not known."""
        for profile in self.profiles:
            for found in profile.bursts:
                if found.event_type == event_type and {*found.queries} == {*queries}:
                    return found.lengths.mean
        return None


def overlap(window: Window) -> float:
    """Windows that hold an instant, on average."""
    return window.within / window.slide


def held(entries: float, partitions: int, length: int, span: int) -> float:
    """Of entries that are spread over partitions and a span, those of one in some length."""
    return entries / partitions * min(1.0, length / span)


def windows_met(entries: float, partitions: int, window: Window, span: int) -> float:
    """Windows of all partitions that hold any of the entries."""
    each = entries / partitions
    most = span / window.slide + overlap(window)
    return partitions * min(most, each * max(1.0, overlap(window)))


def expected_burst(own: float, others: float) -> float:
    """Mean length of a run of events of one type among others that come in no order.

    >>> expected_burst(10, 0)
    10.0
    >>> expected_burst(1, 1)
    1.0
    """
    return max(1.0, (own + others) / (others + 1.0))
