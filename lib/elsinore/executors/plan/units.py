"""Define units of execution: queries, their executor, and all that is computed before any event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import ClassVar, Self

import numpy as np

from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.graph.aggregate_ordered import OrderedSet, aggregate_ordered, lower_ordered
from elsinore.executors.graph.best import aggregate_extremes
from elsinore.executors.graph.reach import Reach
from elsinore.executors.graph.reach_together import ReachTogether
from elsinore.executors.graph.span_sets import SpanSet, aggregate_span_set
from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.executors.hamlet.decisions import DYNAMIC, Decisions
from elsinore.executors.hamlet.observe import Observer
from elsinore.executors.hamlet.tables import Tables, make_tables
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import in_digits
from elsinore.executors.linear.cached_panes import CachedPanes
from elsinore.executors.linear.longest import aggregate_longest
from elsinore.executors.linear.segment_tables import Lowered
from elsinore.executors.linear.segments import Overflowed, lower_passes, run_passes
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import SweepSet, sweep_sets
from elsinore.executors.linear.time_bounds import TimeBounds
from elsinore.executors.output.digits import restored
from elsinore.executors.output.partial_rows import PartialRows, by_shape
from elsinore.executors.output.participation import Pass, aggregate_participation
from elsinore.query.bound import BoundQuery
from elsinore.query.segments import Segment
from elsinore.sharing.sharable import SharableSet
from elsinore.template.support import needs_pairs
from elsinore.timeline import HOUR, Interval

#: Length of the blocks of time whose panes are cached together, in microseconds.
BLOCK = HOUR

#: The executors of units. Queries that only twostep can run are in no unit.
SEGMENTS, SWEEP, HAMLET, GRETA = "segments", "sweep", "hamlet", "greta"
TWOSTEP = "twostep"


@dataclass(frozen=True, slots=True)
class Choice:
    """The executor of a query, and the reason."""

    query: str  #: name of the query
    executor: str  #: `SEGMENTS`, `SWEEP`, `HAMLET`, `GRETA` or `TWOSTEP`
    why: str  #: the reason, as text for people


@dataclass(frozen=True, slots=True)
class Request:
    """Parameters of a run that are the same for all units."""

    owned: Interval | None = None  #: compute only windows that end here; None: every window
    #: returns the observer of a sharable set that Hamlet runs; None: no observers.
    observe: Callable[[SharableSet], Observer] | None = None
    threads: int = 1  #: maximum number of threads, for executors that can use several
    #: called with the names of the queries that run next.
    tell: Callable[[Sequence[str]], None] = lambda names: None


#: All windows, on one thread, without observers.
EVERYTHING = Request()


@dataclass(frozen=True, eq=False)
class Unit(ABC):
    """Queries that one executor runs together."""

    executor: ClassVar[str]  #: `SEGMENTS`, `SWEEP`, `HAMLET` or `GRETA`
    queries: tuple[BoundQuery, ...]  #: the queries

    @abstractmethod
    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries for all events.

        Args:
            columns: the events, in any order, of all partitions.
            request: the windows to compute, and how.
        """

    @abstractmethod
    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with queries that run for its queries.

        They can have other accumulators, and other positions of events.
        """

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the queries."""
        return tuple(query.name for query in self.queries)


@dataclass(frozen=True, eq=False)
class AloneUnit(Unit):
    """One query that greta runs."""

    executor = GRETA

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with another query; see `Unit.running`."""
        return type(self)(tuple(queries))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the query; see `Unit.run`."""
        return aggregate_query(self.queries[0], columns, owned=request.owned)


@dataclass(frozen=True, eq=False)
class SpanUnit(Unit):
    """Queries with a span that are partitioned alike and only count trends."""

    executor = GRETA
    found: SpanSet

    @classmethod
    def of(cls, found: SpanSet) -> SpanUnit:
        """Return the unit of a set."""
        return cls(found.queries, found)

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return type(self)(tuple(queries), replace(self.found, queries=tuple(queries)))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`."""
        return aggregate_span_set(self.found, columns, request.owned)


@dataclass(frozen=True, eq=False)
class LoweredUnit(Unit):
    """Queries whose arrays are computed before any event, so that digits need other arrays.

    Attributes:
        made: the last unit that ran for it, with exact sums in digits; at most one.
    """

    made: list[LoweredUnit] = field(default_factory=list, init=False, repr=False)

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`."""
        queries = [in_digits(query, columns) for query in self.queries]
        if all(map(is_, queries, self.queries)):
            return self.run_lowered(columns, request)
        if not self.made or not all(map(is_, queries, self.made[0].queries)):
            self.made[:] = [self.running(queries)]
        return restored(self.made[0].run_lowered(columns, request), self.queries)

    @abstractmethod
    def run_lowered(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of queries without exact sums; see `Unit.run`."""


def _set_running(found: SharableSet, queries: Sequence[BoundQuery]) -> SharableSet:
    """Return a set with queries that run for its queries, with other accumulators."""
    return replace(found, merged=replace(found.merged, queries=tuple(queries)))


@dataclass(frozen=True, eq=False)
class OrderedUnit(LoweredUnit):
    """Queries that share order trees and that greta runs."""

    executor = GRETA
    lowered: OrderedSet

    @classmethod
    def of(cls, found: SharableSet) -> OrderedUnit:
        """Return the unit of a set, lowered."""
        return cls(found.queries, lower_ordered(found))

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        found = _set_running(self.lowered.found, queries)
        return type(self)(found.queries, lower_ordered(found, backwards=self.lowered.backwards))

    def run_lowered(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`."""
        return aggregate_ordered(self.lowered, columns, request.owned)


@dataclass(frozen=True, eq=False)
class SegmentsUnit(LoweredUnit):
    """Queries of fixed length, with the segments that they share (A-Seq and Sharon)."""

    executor = SEGMENTS
    shared: tuple[tuple[Segment, ...], ...]
    passes: tuple[Lowered, ...]

    @classmethod
    def of(cls, queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]) -> Self:
        """Return the unit of some queries, lowered."""
        return cls(tuple(queries), tuple(map(tuple, shared)), lower_passes(queries, shared))

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return self.of(queries, self.shared)

    def run_lowered(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`.

        If sums overflow a double, greta recomputes their windows.
        """
        found: list[PartialRows] = []
        for part in run_passes(self.passes, columns, request.owned):
            if isinstance(part, Overflowed):
                found += _recomputed(part, columns)
            else:
                found.append(part)
        return found


def _recomputed(overflowed: Overflowed, columns: EventColumns) -> Iterator[PartialRows]:
    """Yield the rows of windows whose sums overflow a double, computed by greta.

    The wider precision levels of greta have wide exponents.
    """
    query, numbers = overflowed.query, overflowed.windows
    if query.window.session is not None:
        parts = aggregate_query(query, columns)
    else:
        low, high = query.window.bounds(int(numbers[0])), query.window.bounds(int(numbers[-1]))
        events = columns.events.between(low.start, high.end)
        parts = aggregate_query(query, events, owned=Interval(low.end - 1, high.end))
    for part in parts:
        yield part.take(np.flatnonzero(np.isin(part.window, numbers)))


@dataclass(frozen=True, eq=False)
class SweepUnit(Unit):
    """Queries that are swept together because they are partitioned alike."""

    executor = SWEEP
    swept: SweepSet

    @classmethod
    def of(cls, swept: SweepSet) -> SweepUnit:
        """Return the unit of a set."""
        return cls(swept.queries, swept)

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return type(self)(tuple(queries), self.swept.running(queries))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`."""
        return aggregate_sweep(self.swept, columns, owned=request.owned, threads=request.threads)


@dataclass(frozen=True, eq=False)
class CachedPanesUnit(Unit):
    """Queries whose panes are cached between runs: a run reads only the events of its slice.

    `spark.pane_tasks` computes and multiplies the panes. Without the cache, the queries are swept.

    Attributes:
        panes: the panes; sorted by name, because the name of the cache depends on the queries.
    """

    executor = SWEEP
    panes: CachedPanes

    @classmethod
    def of(cls, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit of queries without `cache_refusals`."""
        found = tuple(sorted(queries, key=lambda query: query.name))
        return cls(found, CachedPanes(found, BLOCK))

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return self.of(queries)

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`."""
        units = map(SweepUnit.of, sweep_sets(self.queries))
        return [rows for unit in units for rows in unit.run(columns, request)]


@dataclass(frozen=True, eq=False)
class ParticipationUnit(Unit):
    """Queries with EACH or DISTINCT; other units count their trends, if they need their number.

    If conditions on pairs of events decide which events participate, greta's graph finds them.
    """

    executor = SWEEP

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return type(self)(tuple(queries))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of `participation_query`; see `Unit.run`."""
        make = pass_of(self.queries)
        return aggregate_participation(self.queries, columns, make, owned=request.owned)


def pass_of(queries: Sequence[BoundQuery]) -> type[Pass]:
    """Return the pass that finds the participating events of queries that share one."""
    if not needs_pairs(queries[0]):
        return TimeBounds
    return Reach if len(queries) == 1 else ReachTogether


@dataclass(frozen=True, eq=False)
class ExtremesUnit(Unit):
    """One query of measures for MIN and MAX."""

    executor = GRETA

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with another query; see `Unit.running`."""
        return type(self)(tuple(queries))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of a query of `measure_queries`; see `Unit.run`."""
        return aggregate_extremes(self.queries[0], columns, owned=request.owned)


@dataclass(frozen=True, eq=False)
class LongestUnit(Unit):
    """Queries of measures for MIN and MAX of LENGTH and DURATION, which are partitioned alike."""

    executor = SWEEP
    swept: SweepSet

    @classmethod
    def of(cls, swept: SweepSet) -> LongestUnit:
        """Return the unit of a set."""
        return cls(swept.queries, swept)

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return type(self)(tuple(queries), self.swept.running(queries))

    def run(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`.

        Queries whose values may not fit 64 bits run separately.
        """
        parts, too_large = aggregate_longest(self.swept, columns, owned=request.owned)
        for query in too_large:
            parts += aggregate_extremes(query, columns, owned=request.owned)
        return by_shape(parts)


@dataclass(frozen=True, eq=False)
class HamletUnit(LoweredUnit):
    """A sharable set, with the rule that decides which queries share a burst."""

    executor = HAMLET
    lowered: Tables
    decisions: Decisions

    @classmethod
    def of(cls, found: SharableSet, decisions: Decisions = DYNAMIC) -> Self:
        """Return the unit of a set, lowered."""
        return cls(found.queries, make_tables(found), decisions)

    def running(self, queries: Sequence[BoundQuery]) -> Self:
        """Return the unit with other queries; see `Unit.running`."""
        return self.of(_set_running(self.lowered.found, queries), self.decisions)

    def run_lowered(self, columns: EventColumns, request: Request) -> list[PartialRows]:
        """Return partial rows of the queries; see `Unit.run`.

        If the set needs too much memory, greta runs each query separately instead.
        """
        observer = request.observe(self.lowered.found) if request.observe else None
        rows = aggregate_set(
            self.lowered, columns,
            owned=request.owned, decisions=self.decisions, observer=observer,
        )  # fmt: skip
        if rows is not None:
            return rows
        parts = (aggregate_query(query, columns, owned=request.owned) for query in self.queries)
        return by_shape([part for own in parts for part in own])
