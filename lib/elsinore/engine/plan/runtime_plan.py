"""The runtime plan: one value that says who runs what, made once and read by all.

`compile_plan` decides; running, explaining, metrics and reports read what it decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_

import pyarrow as pa

from elsinore.engine.aggregate_ordered import ordered_sets
from elsinore.engine.columns import EventColumns
from elsinore.engine.plan.alike import Alike, alike, for_all
from elsinore.engine.plan.units import (
    EVERYTHING,
    AloneUnit,
    Choice,
    HamletUnit,
    OrderedUnit,
    Request,
    SegmentsUnit,
    SweepUnit,
    Unit,
)
from elsinore.errors import memory_failures
from elsinore.events import EventTable
from elsinore.lowering.sweep import sweep_sets
from elsinore.query.bound import BoundQuery
from elsinore.sharing.candidates import Segment
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.template.support import aseq_refusals, greta_refusals
from elsinore.wording import some_of

#: Hint for runs that take too much memory.
_LESS = "write a shorter WITHIN or a larger SLIDE, or run parts of the events separately"


@dataclass(frozen=True, eq=False)
class RuntimePlan:
    """Who runs what; it travels to workers whole, so that these plan nothing."""

    queries: tuple[BoundQuery, ...]  #: all, in the order of the workload
    #: of these, those that are equal but for what they return, and what is run for them.
    classes: tuple[Alike, ...]
    #: what is run; each query that any compiled executor can run is in one of them.
    units: tuple[Unit, ...]
    left: tuple[BoundQuery, ...]  #: the others, which only twostep can run
    choices: tuple[Choice, ...] = ()  #: one for each query, in their order
    #: predicted nanoseconds of the queries of fixed length without shared segments, over the span
    #: of the statistics.
    alone: float = 0.0
    together: float = 0.0  #: the same with the segments that they share

    @classmethod
    def of(
        cls,
        queries: Sequence[BoundQuery],
        classes: Sequence[Alike] = (),
        *,
        segments: Sequence[Sequence[Segment]] = (),
        sweeps: Sequence[Collection[str]] = (),
        ordered: Sequence[SharableSet] = (),
        sets: Sequence[SharableSet] = (),
        choices: Sequence[Choice] = (),
        alone: float = 0.0,
        together: float = 0.0,
    ) -> RuntimePlan:
        """The plan that shares what is named; the rows do not depend on it.

        Collapsed queries are swept; those of fixed length run in one pass, with the segments that
        they share; each of the others runs by itself. Of names that are not here, or cannot share,
        nothing is made.

        Args:
            queries: what is asked for.
            classes: those that are equal, where that is known already.
            segments: by their places in the queries that share them.
            sweeps: names of queries that are swept together.
            ordered: queries that share order trees (`aggregate_ordered.ordered_sets`).
            sets: queries that Hamlet runs together.
            choices: what is said of each query.
            alone: what was predicted without sharing.
            together: what was predicted.
        """
        classes = tuple(classes) or alike(queries)
        refused = {found.run.name for found in classes if greta_refusals(found.run)}
        rest = {each.run.name: each.run for each in classes if each.run.name not in refused}
        units: list[Unit] = []
        for names in sweeps:
            found = sweep_sets([rest[name] for name in names if name in rest])
            units += _taken(rest, map(SweepUnit.of, found))
        fixed = [query for query in rest.values() if not aseq_refusals(query)]
        if fixed:
            units += _taken(rest, [SegmentsUnit.of(fixed, places_within(segments, fixed))])
        for held in ordered:
            # As their classes are run, which may return more than the queries that were named.
            parts = (part for found in _still(held, rest) for part in ordered_sets(found))
            units += _taken(rest, map(OrderedUnit.of, parts))
        for held in sets:
            units += _taken(rest, map(HamletUnit.of, _still(held, rest)))
        units += [AloneUnit((query,)) for query in rest.values()]
        left = tuple(q for each in classes if each.run.name in refused for q in each.queries)
        given = tuple(queries), classes, tuple(units), left, tuple(choices)
        return cls(*given, alone, together)

    def of_queries(self, names: Collection[str]) -> RuntimePlan:
        """The plan of some of the queries, sharing what this one does as far as they are there."""
        return RuntimePlan.of(
            [query for query in self.queries if query.name in names],
            segments=self.segments,
            sweeps=self.sweeps,
            ordered=[unit.lowered.found for unit in self.units if isinstance(unit, OrderedUnit)],
            sets=[unit.lowered.found for unit in self.units if isinstance(unit, HamletUnit)],
            choices=[choice for choice in self.choices if choice.query in names],
        )

    def run(
        self, events: EventTable | EventColumns, request: Request = EVERYTHING
    ) -> Iterator[pa.Table]:
        """Unfinished rows (`results.partial`) of all queries but those that are left to twostep.

        Events are in any order, all partitions together; columns of an earlier call are used again.
        """
        columns = EventColumns.of(events)
        for unit in self.units:
            request.tell(unit.names)
            with memory_failures(f"computing {some_of(unit.names)}", hint=_LESS):
                table = unit.run(columns, request)
            yield from for_all(self.classes, table)

    @property
    def segments(self) -> tuple[tuple[Segment, ...], ...]:
        """The segments that queries of fixed length share, each by its places in them."""
        units = (unit for unit in self.units if isinstance(unit, SegmentsUnit))
        return tuple(places for unit in units for places in unit.shared)

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The names of the queries that Hamlet runs together, set by set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, HamletUnit))

    @property
    def ordered(self) -> tuple[tuple[str, ...], ...]:
        """The names of the queries that share order trees, set by set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, OrderedUnit))

    @property
    def sweeps(self) -> tuple[tuple[str, ...], ...]:
        """The names of the queries that are swept together, set by set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, SweepUnit))

    @property
    def kleene(self) -> list[tuple[SharableSet, str]]:
        """Queries with a Kleene sub-pattern that run together, and how they share it."""
        found: list[tuple[SharableSet, str]] = []
        for unit in self.units:
            match unit:
                case HamletUnit():
                    found.append((unit.lowered.found, "decided burst by burst"))
                case OrderedUnit():
                    found.append((unit.lowered.found, "in one order of values"))
                case SweepUnit():
                    sets = sharable_sets(unit.queries).sets
                    found += [(part, "swept together") for part in sets]
        return found

    def executors_of(self, names: Collection[str]) -> dict[str, list[str]]:
        """Some of the queries by the executor that runs them."""
        found: dict[str, list[str]] = {}
        for choice in self.choices:
            if choice.query in names:
                found.setdefault(choice.executor, []).append(choice.query)
        return found

    @property
    def saved(self) -> float:
        """The share of their predicted cost that segments save, from 0 to 1."""
        return 1 - self.together / self.alone if self.alone else 0.0

    def in_words(self) -> str:
        """For people: how many queries share how much, and what that saves."""
        parts = []
        if self.segments:
            sharing = {place.query for places in self.segments for place in places}
            saves = f" (saves {self.saved:.1%})" if self.saved else ""
            segments = _counted(len(self.segments), "segment")
            parts.append(f"{segments} in {len(sharing)} queries{saves}")
        if self.sets:
            parts.append(
                f"Kleene sub-patterns in {_counted(len(self.sets), 'set')}"
                f" of {sum(map(len, self.sets))} queries"
            )
        if self.ordered:
            trees = _counted(len(self.ordered), "set")
            parts.append(f"order trees in {trees} of {sum(map(len, self.ordered))} queries")
        if self.sweeps:
            swept = sum(map(len, self.sweeps))
            parts.append(f"{_counted(swept, 'query')} in {_counted(len(self.sweeps), 'sweep')}")
        return " and ".join(parts) if parts else "nothing is shared"


def places_within(
    segments: Iterable[Iterable[Segment]], queries: Iterable[BoundQuery]
) -> list[list[Segment]]:
    """Segments as far as two of some queries or more share them."""
    names = {query.name for query in queries}
    found = ([place for place in places if place.query in names] for places in segments)
    return [places for places in found if len(places) > 1]


def _taken(rest: dict[str, BoundQuery], units: Iterable[Unit]) -> Iterator[Unit]:
    """The units; their queries are no longer among the rest."""
    for unit in units:
        for name in unit.names:
            del rest[name]
        yield unit


def _still(found: SharableSet, rest: Mapping[str, BoundQuery]) -> Sequence[SharableSet]:
    """A set as far as its queries are among the rest."""
    held = [rest[query.name] for query in found.queries if query.name in rest]
    if len(held) == len(found.queries) and all(map(is_, held, found.queries)):
        return [found]
    return sharable_sets(held).sets


def _counted(number: int, thing: str) -> str:
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number} {plural if number > 1 else thing}"
