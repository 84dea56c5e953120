"""The runtime plan: which executor runs each query, and which queries share work.

`compile_plan` decides. Execution, `explain`, metrics and reports read the plan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_

from elsinore.errors import memory_failures
from elsinore.events import EventTable
from elsinore.executors.aggregates import needs_pairs_of_events
from elsinore.executors.graph.aggregate_ordered import ordered_sets
from elsinore.executors.graph.span_sets import span_sets
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.order_events import in_order
from elsinore.executors.linear.cached_panes import cache_refusals
from elsinore.executors.linear.longest import needs_only_times
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.session_bounds import bounded
from elsinore.executors.plan.alike import (
    Alike,
    alike,
    alike_in_measures,
    alike_in_participation,
)
from elsinore.executors.plan.participation_sets import participation_sets
from elsinore.executors.plan.units import (
    EVERYTHING,
    AloneUnit,
    CachedPanesUnit,
    Choice,
    ExtremesUnit,
    HamletUnit,
    LongestUnit,
    OrderedUnit,
    ParticipationUnit,
    Request,
    SegmentsUnit,
    SpanUnit,
    SweepUnit,
    Unit,
)
from elsinore.query.bound import BoundQuery
from elsinore.query.segments import Segment
from elsinore.sharing.sharable import SharableSet, sharable_sets
from elsinore.template.support import aseq_refusals, counts_trends, greta_refusals
from elsinore.wording import some_of

#: Hint for runs that take too much memory.
_LESS = "write a shorter WITHIN or a larger SLIDE, or run parts of the events separately"


def ordered_units(units: Sequence[Unit], columns: EventColumns) -> list[Unit]:
    """Return the units that run for some units on these events; see `in_order`."""
    queries = [query for unit in units for query in unit.queries]
    found = iter(running := in_order(queries, columns))
    if running is queries:
        return list(units)
    return [unit.running([next(found) for _ in unit.queries]) for unit in units]


@dataclass(frozen=True, eq=False)
class RuntimePlan:
    """The assignment of queries to executors.

    The plan is sent to workers as a whole, so workers do not plan.
    """

    queries: tuple[BoundQuery, ...]  #: all queries, in the order of the workload
    #: the queries grouped by equality except for name and RETURN, and the query that runs for each.
    classes: tuple[Alike, ...]
    #: the units of execution; each query that a compiled executor can run is in one of them.
    units: tuple[Unit, ...]
    left: tuple[BoundQuery, ...]  #: queries that only twostep can run
    choices: tuple[Choice, ...] = ()  #: one per query, in their order
    #: predicted nanoseconds of the queries of fixed length without shared segments, over the span
    #: of the statistics.
    alone: float = 0.0
    together: float = 0.0  #: the same with shared segments

    @classmethod
    def of(
        cls,
        queries: Sequence[BoundQuery],
        classes: Sequence[Alike] = (),
        *,
        cached: Collection[str] = (),
        segments: Sequence[Sequence[Segment]] = (),
        sweeps: Sequence[Collection[str]] = (),
        ordered: Sequence[SharableSet] = (),
        sets: Sequence[SharableSet] = (),
        choices: Sequence[Choice] = (),
        predicted: float = 0.0,
        together: float = 0.0,
    ) -> RuntimePlan:
        """Return the plan with the given sharing; sharing does not affect the rows.

        Panes of the queries in `cached` are cached. Queries in `sweeps` are swept. All other
        queries of fixed length run in one pass, with the segments that they share. The remaining
        queries run in the given sets, with other queries with a span (`span_sets`), or separately.
        Names of queries that are not here or cannot share are ignored.

        Args:
            queries: the queries, in the order of the workload.
            classes: the classes of equal queries, if they are known.
            cached: names of queries whose panes are cached between runs.
            segments: the shared segments, each by its occurrences in the queries that share it.
            sweeps: names of queries that are swept together.
            ordered: queries that share order trees (`aggregate_ordered.ordered_sets`).
            sets: queries that Hamlet runs together.
            choices: the executor and the reason for each query.
            predicted: predicted nanoseconds without shared segments.
            together: predicted nanoseconds with shared segments.
        """
        classes = tuple(classes) or alike(queries)
        refused = {found.run.name for found in classes if greta_refusals(found.run)}
        able = [each for each in classes if each.run.name not in refused]
        rest = {each.run.name: each.run for each in able if counts_trends(each.run)}
        units: list[Unit] = []
        panes = [query for query in rest.values() if query.name in cached]
        if panes := [query for query in panes if not cache_refusals(query)]:
            units += _taken(rest, [CachedPanesUnit.of(panes)])
        for names in sweeps:
            found = sweep_sets([rest[name] for name in names if name in rest])
            units += _taken(rest, map(SweepUnit.of, found))
        fixed = [query for query in rest.values() if not aseq_refusals(query)]
        if fixed:
            units += _taken(rest, [SegmentsUnit.of(fixed, places_within(segments, fixed))])
        for held in ordered:
            # The query that runs for a class may have more aggregates than the named query.
            parts = (part for found in _still(held, rest) for part in ordered_sets(found))
            units += _taken(rest, map(OrderedUnit.of, parts))
        for held in sets:
            units += _taken(rest, map(HamletUnit.of, _still(held, rest)))
        units += _taken(rest, map(SpanUnit.of, span_sets([*rest.values()])))
        units += [AloneUnit((query,)) for query in rest.values()]
        participating = [run for run, _ in alike_in_participation(able)]
        units += map(ParticipationUnit, participation_sets(participating))
        units += measure_units([found.run for found in alike_in_measures(able)])
        left = tuple(q for each in classes if each.run.name in refused for q in each.queries)
        given = tuple(queries), classes, tuple(units), left, tuple(choices)
        return cls(*given, predicted, together)

    def of_queries(self, names: Collection[str]) -> RuntimePlan:
        """Return the plan of some of the queries, with the sharing of this plan among them."""
        return RuntimePlan.of(
            [query for query in self.queries if query.name in names],
            cached=self.cached.names if self.cached else (),
            segments=self.segments,
            sweeps=self.sweeps,
            ordered=[unit.lowered.found for unit in self.units if isinstance(unit, OrderedUnit)],
            sets=[unit.lowered.found for unit in self.units if isinstance(unit, HamletUnit)],
            choices=[choice for choice in self.choices if choice.query in names],
        )

    def run(
        self, events: EventTable | EventColumns, request: Request = EVERYTHING
    ) -> Iterator[list[PartialRows]]:
        """Yield the rows of each unit, one per query that ran, group and window.

        The rows of a query answer all queries of its class (`row_classes`).

        Args:
            events: events in any order, of all partitions. Pass the same `EventColumns` again to
                reuse converted columns.
            request: the windows to compute, and how.
        """
        columns = EventColumns.of(events)
        for unit in ordered_units(self.units, columns):
            request.tell(unit.names)
            with memory_failures(f"computing {some_of(unit.names)}", hint=_LESS):
                yield [*bounded(unit.run(columns, request), columns, request.owned)]

    @cached_property
    def row_classes(self) -> tuple[Alike, ...]:
        """Return the classes of all queries that rows have.

        So also of `participation_query` and `measure_queries` of queries.
        """
        refused = {query.name for query in self.left}
        able = [each for each in self.classes if each.run.name not in refused]
        in_participation = alike_in_participation(able)
        found = (of_each for _, of_each in in_participation)
        return (*self.classes, *found, *alike_in_measures(able))

    @property
    def cached(self) -> CachedPanesUnit | None:
        """Return the unit of the queries whose panes are cached between runs, if there is one."""
        return next((unit for unit in self.units if isinstance(unit, CachedPanesUnit)), None)

    @property
    def segments(self) -> tuple[tuple[Segment, ...], ...]:
        """Return the segments that queries of fixed length share, each by its occurrences."""
        units = (unit for unit in self.units if isinstance(unit, SegmentsUnit))
        return tuple(places for unit in units for places in unit.shared)

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the queries that Hamlet runs together, per set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, HamletUnit))

    @property
    def ordered(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the queries that share order trees, per set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, OrderedUnit))

    @property
    def sweeps(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the queries that are swept together, per set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, SweepUnit))

    @property
    def spans(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the queries with a span that are counted together, per set."""
        return tuple(unit.names for unit in self.units if isinstance(unit, SpanUnit))

    @property
    def kleene(self) -> list[tuple[SharableSet, str]]:
        """Return the sets of queries that share a Kleene sub-pattern, and how they share it."""
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
        """Return the names of some queries, grouped by the executor that runs them."""
        found: dict[str, list[str]] = {}
        for choice in self.choices:
            if choice.query in names:
                found.setdefault(choice.executor, []).append(choice.query)
        return found

    @property
    def saved(self) -> float:
        """Return the share of their predicted cost that segments save, from 0 to 1."""
        return 1 - self.together / self.alone if self.alone else 0.0

    def in_words(self) -> str:
        """Return how many queries share what, and the predicted saving, as text."""
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
        if self.cached:
            parts.append(f"cached panes in {_counted(len(self.cached.queries), 'query')}")
        if self.spans:
            counted = sum(map(len, self.spans))
            sets = _counted(len(self.spans), "set")
            parts.append(f"{_counted(counted, 'query')} with a span in {sets}")
        return " and ".join(parts) if parts else "nothing is shared"


def measure_units(queries: Sequence[BoundQuery], *, sweeping: bool = True) -> Iterator[Unit]:
    """Yield the units of queries of measures.

    Args:
        queries: queries of `measure_queries`.
        sweeping: whether queries share a pass if they can; otherwise each runs separately.
    """
    origins = [(query, query.refinement) for query in queries]
    sums = {query.name: query for query, origin in origins if origin and not origin.extremes}
    extremes = {query.name: query for query, origin in origins if origin and origin.extremes}
    if sweeping:
        swept = sweep_sets([each for each in sums.values() if not needs_pairs_of_events(each)])
        yield from _taken(sums, map(SweepUnit.of, swept))
        longest = sweep_sets([*filter(needs_only_times, extremes.values())])
        yield from _taken(extremes, map(LongestUnit.of, longest))
    yield from (AloneUnit((query,)) for query in sums.values())
    yield from (ExtremesUnit((query,)) for query in extremes.values())


def places_within(
    segments: Iterable[Iterable[Segment]], queries: Iterable[BoundQuery]
) -> list[list[Segment]]:
    """Return segments with only their occurrences in some queries, if at least two are left."""
    names = {query.name for query in queries}
    found = ([place for place in places if place.query in names] for places in segments)
    return [places for places in found if len(places) > 1]


def _taken(rest: dict[str, BoundQuery], units: Iterable[Unit]) -> Iterator[Unit]:
    """Yield the units, and remove their queries from `rest`."""
    for unit in units:
        for name in unit.names:
            del rest[name]
        yield unit


def _still(found: SharableSet, rest: Mapping[str, BoundQuery]) -> Sequence[SharableSet]:
    """Return the set without queries that are not in `rest`; it may become several sets or none."""
    held = [rest[query.name] for query in found.queries if query.name in rest]
    if len(held) == len(found.queries) and all(map(is_, held, found.queries)):
        return [found]
    return sharable_sets(held).sets


def _counted(number: int, thing: str) -> str:
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number} {plural if number > 1 else thing}"
