"""Search depth-first for the matches of a pattern in one window, one event at a time.

The search is SASE's: it holds one partial match and extends it by every later event that may come
next. It has an explicit stack, so that a match may have any length.

Some conditions depend on the keys of the whole trend: NOT, and the events between two events under
the stricter selection semantics. They are evaluated when the trend has a value for every key, or
else when the match is complete. Values never change, so both give the same result.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import EventPattern, Negation, Pattern, Semantics
from elsinore.reference.budget import Meter
from elsinore.reference.evaluate import Reader, reader, size_of
from elsinore.reference.event import Event
from elsinore.reference.keys import ABSENT, Keys, KeyValues
from elsinore.reference.routes import Route, Todo, routes


class Candidate(NamedTuple):
    """An event that may take a position, with the values of its keys at the position."""

    order: int  #: order of the event, the sort key of candidates
    event: Event
    carried: KeyValues


class Candidates:
    """The events of one window by position, if they pass local predicates and key rules."""

    def __init__(
        self, query: BoundQuery, keys: Keys, events: Sequence[Event], meter: Meter
    ) -> None:
        self._meter = meter
        self._keys = keys
        self._events = events
        self._orders = [event.order for event in events]
        self._positions = query.positions
        self._predicates = query.local_predicates
        self._lines: dict[int, dict[KeyValues | None, list[Candidate]]] = {}
        self._partitions: dict[tuple[tuple[int, ...], KeyValues], list[int]] = {}

    def at(
        self, position: int, values: KeyValues, after: int | None, before: int | None
    ) -> Sequence[Candidate]:
        """Return candidates for a position in the order of events.

        Args:
            position: the position.
            values: values of the query's keys. If all keys of the position have a value, only
                candidates with these values are returned. If some are ABSENT, the caller must
                compare.
            after: only candidates strictly after this order; None: no bound.
            before: only candidates strictly before this order; None: no bound.
        """
        wanted = tuple([values[number] for number in self._keys.at_position[position]])
        line = self._lines_of(position).get(None if ABSENT in wanted else wanted, [])
        # A tuple with only an order sorts before every candidate with that order.
        first = 0 if after is None else bisect_left(line, (after + 1,))
        return line[first : len(line) if before is None else bisect_left(line, (before,))]

    def every_event_between(self, after: int, before: int) -> Sequence[Event]:
        """Return all events of the window strictly between two orders, of any type."""
        return self._events[bisect_right(self._orders, after) : bisect_left(self._orders, before)]

    def first_from(self, time: int) -> int:
        """Return the order of the first event at or after a time; beyond the last, the next one."""
        at = bisect_left(self._events, time, key=lambda event: event.time)
        return self._orders[at] if at < len(self._orders) else max(self._orders, default=0) + 1

    def next_in_partition(self, after: int, values: KeyValues) -> int | None:
        """Return the order of the next event of a partition, of any type; None: there is none.

        No value may be ABSENT.
        """
        if not self._partitions:
            for event in self._events:
                if (partition := self._keys.partition_of(event)) is not None:
                    self._partitions.setdefault(partition, []).append(event.order)
        orders = (
            self._partitions.get((numbers, tuple([values[n] for n in numbers])), [])
            for numbers in self._keys.applying
        )
        found = (each[at] for each in orders if (at := bisect_right(each, after)) < len(each))
        return min(found, default=None)

    def _lines_of(self, position: int) -> dict[KeyValues | None, list[Candidate]]:
        """Return the candidates in order by their key values, and all of them under None."""
        if position not in self._lines:
            lines: dict[KeyValues | None, list[Candidate]] = defaultdict(list)
            for candidate in self._admitted(position):
                lines[None].append(candidate)
                lines[candidate.carried].append(candidate)
            self._lines[position] = dict(lines)
        return self._lines[position]

    def _admitted(self, position: int) -> list[Candidate]:
        own = [p.condition for p in self._predicates if p.position == position]
        conditions = [reader(condition) for condition in own]
        self._meter.spend(0, pieces=len(self._events) * (1 + sum(map(size_of, own))))
        found = []
        for event in self._events:
            if event.type != self._positions[position].type:
                continue
            carried = self._keys.carried(event, position)
            if carried is not None and all(read(event, None) is True for read in conditions):
                found.append(Candidate(event.order, event, carried))
        return found


#: Returns whether a match is valid, given the values of its keys.
Obligation = Callable[[KeyValues], bool]


class Step(NamedTuple):
    """The last event of a match, its position, and the previous step, which matches share."""

    event: Event
    position: int
    before: Step | None


class Match(NamedTuple):
    """A match, and the values of the query's keys."""

    last: Step
    values: KeyValues

    def steps(self) -> list[Step]:
        """Return the steps from first to last."""
        found = []
        step: Step | None = self.last
        while step is not None:
            found.append(step)
            step = step.before
        found.reverse()
        return found


class Partial(NamedTuple):
    """A partial match."""

    step: Step | None  #: its last event and previous steps; None before the first event
    values: KeyValues  #: values of the query's keys, as far as its events carry them
    ways: tuple[Route, ...]  #: the routes by which it may continue, or end
    owed: tuple[Obligation, ...]  #: conditions that need more key values


class _Bounds(NamedTuple):
    """Exclusive bounds of the orders of a match (None: the window), and whether it is a trend."""

    after: int | None
    before: int | None
    trend: bool


#: The bounds of a trend, which may be anywhere in the window.
_WINDOW = _Bounds(None, None, trend=True)


class Ends(NamedTuple):
    """The time of the first event of trends, and the range of times of the last, both included."""

    first: int
    least: int
    most: int


class Matcher:
    """Finds the matches of a query's pattern among the events of one window.

    With `ends`, only trends are found that begin and end at these times.
    """

    def __init__(
        self,
        query: BoundQuery,
        keys: Keys,
        events: Sequence[Event],
        meter: Meter,
        ends: Ends | None = None,
    ) -> None:
        self.query = query
        self._ends = ends
        self.keys = keys
        self.meter = meter
        self._candidates = Candidates(query, keys, events, meter)
        self._edges: dict[tuple[int, int], list[Reader]] = {}
        self._sizes: Counter[tuple[int, int]] = Counter()  # nodes of the conditions of a pair
        for edge in query.edge_predicates:
            conditions = self._edges.setdefault((edge.earlier, edge.later), [])
            conditions.append(reader(edge.condition))
            self._sizes[edge.earlier, edge.later] += size_of(edge.condition)
        self._guards: dict[tuple[int, int | None, int | None, KeyValues], bool] = {}
        # The routes after each route, and the routes of each rest of a pattern: there are few.
        self._after: dict[int, tuple[Route, tuple[Route, ...]]] = {}
        self._ways_of: dict[Todo | None, tuple[Route, ...]] = {}

    def trends(self, pattern: Pattern) -> Iterator[Match]:
        """Yield all matches of a pattern that are trends; a trend may have several matches.

        Raises:
            BudgetError: the enumeration exceeds the budget.
        """
        return self._matches(pattern, self.keys.none, _WINDOW)

    def parts(self) -> Iterator[Matcher]:
        """Yield matchers that find each trend once, together."""
        yield self

    def extensions(self, found: Partial) -> Iterator[Partial]:
        """Yield a partial trend extended by each event that may come next, on each route.

        Raises:
            BudgetError: the enumeration exceeds the budget.
        """
        for way in found.ways:
            if way.next is not None:
                yield from self._extensions(found, way, way.next, _WINDOW)

    def may_end(self, found: Partial) -> bool:
        """Return whether a partial trend is complete."""
        step = found.step
        ends = [way for way in found.ways if way.next is None]
        if step is None or not self._ends_there(step.event):
            return False
        return any(self._complete(found, step, way) for way in ends)

    def _matches(self, pattern: Pattern, values: KeyValues, bounds: _Bounds) -> Iterator[Match]:
        stack = [begun(pattern, values)]
        while stack:
            found = stack.pop()
            for way in found.ways:
                if way.next is not None:
                    stack += self._extensions(found, way, way.next, bounds)
                elif self._is_match(found, way, bounds):
                    assert found.step is not None
                    yield Match(found.step, found.values)

    def _is_match(self, found: Partial, way: Route, bounds: _Bounds) -> bool:
        """Return whether a partial match that may end is a match within its bounds."""
        if found.step is None or (bounds.trend and not self._ends_there(found.step.event)):
            return False
        return self._complete(found, found.step, way)

    def _ends_there(self, event: Event) -> bool:
        """Return whether a trend may end with an event."""
        return self._ends is None or self._ends.least <= event.time <= self._ends.most

    def _limited(self, step: Step | None, bounds: _Bounds) -> _Bounds:
        """Return the bounds of the event of a trend after a step."""
        if self._ends is None or not bounds.trend:
            return bounds
        first, _, most = self._ends
        first_from = self._candidates.first_from
        if step is None:
            return _Bounds(first_from(first) - 1, first_from(first + 1), trend=True)
        return _Bounds(None, first_from(most + 1), trend=True)

    def _extensions(
        self, found: Partial, way: Route, pattern: EventPattern, bounds: _Bounds
    ) -> Iterator[Partial]:
        """Yield the partial match extended by each event that may come next at an event pattern."""
        position, step = self.query.position_of(pattern), found.step
        bounds = self._limited(step, bounds)
        after = step.event.order if step else bounds.after
        edges, onward = self._edges_between(step, position), self._ways_after(way)
        # The event to which the next one must be adjacent under the selection semantics.
        near = step if bounds.trend and self.query.semantics is not Semantics.ANY else None
        values: KeyValues | None = found.values
        is_known = ABSENT not in found.values  # then all candidates carry the same values
        before = bounds.before
        if near is not None and is_known and self.query.semantics is Semantics.CONTIGUOUS:
            parted = self._candidates.next_in_partition(near.event.order, found.values)
            near, before = None, before if parted is None else parted + 1
        candidates = self._candidates.at(position, found.values, after, before)
        # A search without candidates counts too: a pattern may have hundreds of such routes.
        nodes = self._sizes[step.position, position] if step and self._sizes else 0
        self.meter.spend(max(1, len(candidates)), pieces=len(candidates) * nodes)
        for _, event, carried in candidates:
            if not is_known:
                values = self.keys.joined(found.values, position, carried)
            if values is None or not _all_hold(edges, step, event):
                continue
            owed = found.owed
            if way.guards:
                owed = (*owed, *self._bars(step, way.guards, event.order))
            if near is not None:
                owed = (*owed, partial(self._adjacent, near, found.ways, event))
            if owed and ABSENT not in values:
                if not all(obligation(values) for obligation in owed):
                    continue
                owed = ()
            yield Partial(Step(event, position, step), values, onward, owed)

    def _ways_after(self, way: Route) -> tuple[Route, ...]:
        """Return the routes after a route, which are computed once."""
        known = self._after.get(id(way))
        if known is None:
            if way.rest not in self._ways_of:
                self._ways_of[way.rest] = routes(way.rest)
            known = self._after[id(way)] = way, self._ways_of[way.rest]
        return known[1]

    def _complete(self, found: Partial, step: Step, way: Route) -> bool:
        if not (found.owed or way.guards):
            return True
        owed = (*found.owed, *self._bars(step, way.guards, None))
        self.meter.spend(0, pieces=len(owed))
        return all(obligation(found.values) for obligation in owed)

    def _edges_between(self, step: Step | None, position: int) -> Sequence[Reader]:
        """Return the edge predicates between a match's last event and an event at a position."""
        return self._edges.get((step.position, position), ()) if step is not None else ()

    # ---- NOT

    def _bars(
        self, step: Step | None, guards: tuple[Negation, ...], before: int | None
    ) -> list[Obligation]:
        """Return a condition per guard: no match of it is between the last event and an order."""
        after = step.event.order if step else None
        return [partial(self._absent, guard, after, before) for guard in guards]

    def _absent(
        self, guard: Negation, after: int | None, before: int | None, values: KeyValues
    ) -> bool:
        """Return whether no match of NOT's pattern is strictly between, in the trend's partition.

        The NOT inside of the guard extend to the guard's events, or to the window. Selection
        semantics apply to trends, but not to guards.
        """
        place = id(guard), after, before, values
        if place not in self._guards:
            matches = self._matches(guard.body, values, _Bounds(after, before, trend=False))
            self._guards[place] = next(matches, None) is None
        return self._guards[place]

    # ---- selection semantics

    def _adjacent(
        self, step: Step, ways: tuple[Route, ...], event: Event, values: KeyValues
    ) -> bool:
        """Return whether two events of a trend are adjacent under the selection semantics.

        Args:
            step: the earlier event.
            ways: the routes after it.
            event: the later event.
            values: the values of the trend's keys.
        """
        if self.query.semantics is Semantics.CONTIGUOUS:
            between = self._candidates.every_event_between(step.event.order, event.order)
            self.meter.spend(len(between))
            return not any(self.keys.in_partition(other, values) for other in between)
        return not any(self._could_extend(step, way, event.order, values) for way in ways)

    def _could_extend(self, step: Step, way: Route, before: int, values: KeyValues) -> bool:
        """Return whether an event before an order may extend a trend after a step on a route."""
        if way.next is None:
            return False
        self.meter.spend()
        position = self.query.position_of(way.next)
        edges = self._edges_between(step, position)
        for _, event, carried in self._candidates.at(position, values, step.event.order, before):
            self.meter.spend()
            joined = self.keys.joined(values, position, carried)
            if joined is None or not _all_hold(edges, step, event):
                continue
            if all(bar(joined) for bar in self._bars(step, way.guards, event.order)):
                return True
        return False


def _all_hold(edges: Sequence[Reader], step: Step | None, event: Event) -> bool:
    if not edges:
        return True
    assert step is not None, "an edge predicate needs a pair of events"
    return all(read(step.event, event) is True for read in edges)


def begun(pattern: Pattern, values: KeyValues) -> Partial:
    """Return the partial match of a pattern before its first event.

    `values` are the values that its keys must have.
    """
    return Partial(None, values, routes((pattern, None)), ())
