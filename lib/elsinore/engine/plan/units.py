"""What runs together: queries, who runs them, and all that can be worked out before any event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.aggregate_ordered import OrderedSet, aggregate_ordered, lower_ordered
from elsinore.engine.columns import EventColumns
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.decisions import DYNAMIC, Decisions
from elsinore.engine.hamlet.observe import Observer
from elsinore.engine.hamlet.tables import Tables, make_tables
from elsinore.engine.linear import aggregate_sweep
from elsinore.engine.linear.segments import lower_passes, run_passes
from elsinore.lowering.segments import Lowered
from elsinore.lowering.sweep import SweepSet
from elsinore.query.bound import BoundQuery
from elsinore.sharing.candidates import Segment
from elsinore.sharing.sharable import SharableSet
from elsinore.timeline import Interval

#: Who runs a unit; twostep is for queries that no compiled executor can run, which are in none.
SEGMENTS, SWEEP, HAMLET, GRETA = "segments", "sweep", "hamlet", "greta"
TWOSTEP = "twostep"


@dataclass(frozen=True, slots=True)
class Choice:
    """Who runs a query, and why."""

    query: str  #: its name
    executor: str  #: `SEGMENTS`, `SWEEP`, `HAMLET`, `GRETA` or `TWOSTEP`
    why: str  #: in words, for people


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of all units alike.

    Attributes:
        owned: only the windows that end in this interval; None for every window.
        observe: makes what is told of a set's bursts.
        threads: how many may work side by side, where an executor can make use of them.
        tell: is told the names of the queries that are run next.
    """

    owned: Interval | None = None
    observe: Callable[[SharableSet], Observer] | None = None
    threads: int = 1
    tell: Callable[[Sequence[str]], None] = lambda names: None


#: All windows; nobody is told anything.
EVERYTHING = Request()


@dataclass(frozen=True, eq=False)
class Unit(ABC):
    """Queries that one executor runs together."""

    executor: ClassVar[str]  #: `SEGMENTS`, `SWEEP`, `HAMLET` or `GRETA`
    queries: tuple[BoundQuery, ...]  #: which

    @abstractmethod
    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """Unfinished rows (`results.partial`) of the queries over all events."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the queries."""
        return tuple(query.name for query in self.queries)


@dataclass(frozen=True, eq=False)
class AloneUnit(Unit):
    """One query, by greta."""

    executor = GRETA

    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """As `Unit.run`."""
        return aggregate_query(self.queries[0], columns, owned=request.owned)


@dataclass(frozen=True, eq=False)
class OrderedUnit(Unit):
    """Queries that share order trees, by greta."""

    executor = GRETA
    lowered: OrderedSet

    @classmethod
    def of(cls, found: SharableSet) -> OrderedUnit:
        """Lowers a set."""
        return cls(found.queries, lower_ordered(found))

    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """As `Unit.run`."""
        return aggregate_ordered(self.lowered, columns, request.owned)


@dataclass(frozen=True, eq=False)
class SegmentsUnit(Unit):
    """Queries of fixed length, with the segments that they share: A-Seq and Sharon."""

    executor = SEGMENTS
    shared: tuple[tuple[Segment, ...], ...]
    passes: tuple[Lowered, ...]

    @classmethod
    def of(cls, queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]) -> SegmentsUnit:
        """Lowers the queries."""
        return cls(tuple(queries), tuple(map(tuple, shared)), lower_passes(queries, shared))

    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """As `Unit.run`."""
        return run_passes(self.passes, columns, request.owned)


@dataclass(frozen=True, eq=False)
class SweepUnit(Unit):
    """Collapsed queries that are partitioned alike."""

    executor = SWEEP
    swept: SweepSet

    @classmethod
    def of(cls, swept: SweepSet) -> SweepUnit:
        """The unit of a set."""
        return cls(swept.queries, swept)

    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """As `Unit.run`."""
        return aggregate_sweep(self.swept, columns, owned=request.owned, threads=request.threads)


@dataclass(frozen=True, eq=False)
class HamletUnit(Unit):
    """A sharable set, and how to decide who shares a burst."""

    executor = HAMLET
    lowered: Tables
    decisions: Decisions

    @classmethod
    def of(cls, found: SharableSet, decisions: Decisions = DYNAMIC) -> HamletUnit:
        """Lowers a set."""
        return cls(found.queries, make_tables(found), decisions)

    def run(self, columns: EventColumns, request: Request) -> pa.Table:
        """As `Unit.run`."""
        observer = request.observe(self.lowered.found) if request.observe else None
        return aggregate_set(
            self.lowered, columns,
            owned=request.owned, decisions=self.decisions, observer=observer,
        )  # fmt: skip
