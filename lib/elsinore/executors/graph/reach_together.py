"""Find the participating events of several queries that compare adjacent events, in one graph.

The queries share the entries, the windows and the compared values. Their templates become templates
over common states, so that an event is one entry for all queries. Each query then reads only the
windows in which one of its trends can start.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.reach import Checks, find_reached
from elsinore.executors.graph.layout import lay_out
from elsinore.executors.graph.reach import (
    NO_WEIGHTS,
    Compared,
    asked_of,
    checks_of,
    from_first_start,
    make_reach_work,
    marks_of,
    read_twice,
)
from elsinore.executors.graph.run_template import build_graph
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.conditions import Order, Programs, Side, Slot, is_comparison
from elsinore.executors.input.entries import StateEntries, at_states
from elsinore.executors.input.slots import spans_of
from elsinore.executors.output.kernels.members import At, Members, Weights
from elsinore.executors.output.participation import Found, Pass, Place, take
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Semantics
from elsinore.template.build import position_templates
from elsinore.template.placement import Placement, placements_of
from elsinore.template.template import ALWAYS, State, Template
from elsinore.timeline import Interval

#: The most queries of a group: their states are reset in each window of each query.
_LARGEST = 50


def can_reach_together(query: BoundQuery) -> bool:
    """Return whether a query with conditions on pairs of events can share a graph.

    Each condition must be a single comparison, so that columns of values decide it.
    """
    if query.semantics is not Semantics.ANY or query.window.span is not None:
        return False
    return all(
        not template.guards
        and all(t.condition == ALWAYS or is_comparison(t.condition) for t in template.transitions)
        for template in position_templates(query)
    )


def placed_alike(queries: Sequence[BoundQuery]) -> list[list[BoundQuery]]:
    """Return groups of queries in which events of each type have the same placements.

    So an event has no more entries in the graph of a group than in the graph of one of its queries.

    Args:
        queries: queries with one template each, whose trends are partitioned alike.
    """
    groups: list[tuple[dict[str, Counter[Placement]], list[BoundQuery]]] = []
    for query in queries:
        own = _placements_by_type(query)
        for placed, held in groups:
            alike = all(placed.get(kind, mine) == mine for kind, mine in own.items())
            if alike and len(held) < _LARGEST:
                placed |= own
                held.append(query)
                break
        else:
            groups.append((own, [query]))
    return [held for _, held in groups]


def _placements_by_type(query: BoundQuery) -> dict[str, Counter[Placement]]:
    found: dict[str, Counter[Placement]] = {}
    for placement in placements_of([query], position_templates(query)).by_place.values():
        found.setdefault(placement.type, Counter())[placement] += 1
    return found


class _Weighed(NamedTuple):
    """The weights of entries or of events, each with int64[N], the index of each entry in them."""

    of_entries: Weights
    entries: np.ndarray
    of_events: Weights
    events: np.ndarray


class ReachTogether(Pass):
    """The templates of several queries of `can_reach_together`, one each."""

    def found(self, kinds: Sequence[int], owned: Interval | None) -> Iterator[Found]:
        """Yield the windows with a trend; see `Pass.found`."""
        numbers = _number_states(self.placements.by_place)
        places = {place: (state, 0) for place, state in numbers.items()}
        placed = at_states(self.entries, self.placements, places)
        spans = spans_of(self.sought.queries[0], placed.offsets, placed.times, owned)
        if not spans.shape[0]:
            return
        templates = [
            _renumbered(template, number, numbers) for number, template in enumerate(self.templates)
        ]
        members, weighed = self.buffer(0), self._weighed(placed)
        for number, drawn in enumerate(_draw(templates, self.sought.columns, placed)):
            own = from_first_start(spans, placed.states, drawn.template)
            if own.shape[0]:
                yield from self._of_query(number, drawn, own, kinds, weighed, members)

    def _weighed(self, placed: StateEntries) -> _Weighed:
        """Return the weights of entries; the kernel reads them much faster in this order."""
        weights, rows = self.sought.weights, placed.rows
        of_events = Weights(weights.longs, weights.doubles, weights.ranks)
        of_entries = Weights(*(np.take(each, rows, axis=1) for each in of_events))
        return _Weighed(of_entries, np.arange(rows.size), of_events, rows)

    def _of_query(
        self,
        number: int,
        drawn: _Drawn,
        spans: np.ndarray,
        kinds: Sequence[int],
        weighed: _Weighed,
        members: Members,
    ) -> Iterator[Found]:
        """Yield the rows of a query for some windows."""
        states, sought = drawn.states, self.sought
        asked = asked_of(self, kinds, number, states)
        read_row = read_twice(self, kinds, number, states)
        read = np.zeros((int(read_row.max(initial=-1)) + 1, sought.columns.times.size), np.int64)
        longest = int((spans[:, 1] - spans[:, 0]).max())
        work = make_reach_work(drawn.graph, drawn.checks, longest, drawn.marks, read_row, read)
        # An event can be several entries. Then the kernel needs the events.
        weights, rows = weighed[2:] if read.size else weighed[:2]
        given = drawn.graph, spans, drawn.checks, work, asked, weights, rows, members
        members.state[At.RUN], done = 0, False
        while not done:
            done = bool(find_reached(*given))
            found = take(sought.queries[number], members, done=done)
            found.rows.keys[:, 2] = number
            yield found


def _number_states(by_place: Mapping[Place, Placement]) -> dict[Place, int]:
    """Return the number of each state among the common states.

    States of several queries are one if events have the same placement there. If a query has
    several states with a placement, they are matched in their order.
    """
    numbers: dict[tuple[Placement, int], int] = {}
    taken: Counter[tuple[int, Placement]] = Counter()
    found = {}
    for (query, state), placement in sorted(by_place.items(), key=lambda item: item[0]):
        mark = placement, taken[query, placement]
        taken[query, placement] += 1
        found[query, state] = numbers.setdefault(mark, len(numbers))
    return found


class _Renumbered(NamedTuple):
    """A template over the common states."""

    template: Template
    states: tuple[State | None, ...]  #: its states by number; None for a state of other queries


def _renumbered(template: Template, query: int, numbers: Mapping[Place, int]) -> _Renumbered:
    """Return the template of a query over the common states."""
    size = max(numbers.values()) + 1
    states: list[State | None] = [None] * size
    for state, each in enumerate(template.states):
        states[numbers[query, state]] = each
    nothing = State(frozenset(), frozenset(), frozenset(), frozenset())
    arrows = [
        replace(arrow, earlier=numbers[query, arrow.earlier], later=numbers[query, arrow.later])
        for arrow in template.transitions
    ]
    over = replace(
        template,
        states=tuple(state or nothing for state in states),
        transitions=tuple(sorted(arrows, key=lambda arrow: (arrow.later, arrow.earlier))),
        starts={numbers[query, state]: floor for state, floor in template.starts.items()},
        ends={numbers[query, state]: floor for state, floor in template.ends.items()},
    )
    return _Renumbered(over, tuple(states))


class _Drawn(NamedTuple):
    """The graph of a query, with its checks."""

    template: Template
    states: tuple[State | None, ...]
    graph: Graph
    checks: Checks
    marks: tuple[int, int]  #: the shape of `ReachWork.marks`


def _draw(
    templates: Sequence[_Renumbered], columns: EventColumns, placed: StateEntries
) -> list[_Drawn]:
    """Return the graph of each template. All of them have the same entries and values."""
    programs = Programs()
    layouts = [lay_out(each.template, programs) for each in templates]
    # An expression has the same value at any state, so one column is enough.
    column_of = {
        expression: number
        for number, expression in enumerate(dict.fromkeys(s.expression for s in programs.slots))
    }
    at = [column_of[slot.expression] for slot in programs.slots]
    anywhere = placed._replace(states=np.zeros_like(placed.states))
    slots = tuple(Slot(0, expression) for expression in column_of)
    none = np.empty(0, np.int64)
    common = build_graph(replace(layouts[0], slots=slots), columns, anywhere, NO_WEIGHTS, none)
    compared = Compared(common, of_states=False)
    found = []
    for each, layout in zip(templates, layouts, strict=True):
        arrays: dict[str, Any] = {"states": placed.states, **layout.arrays}
        graph = common._replace(**arrays)
        orders = [(arrow, _reading(order, at)) for arrow, order in layout.orders]
        checks = checks_of(graph, orders, compared)
        found.append(_Drawn(*each, graph, checks, (marks_of(checks), 0)))
    distinct = compared.number_equal()
    values, usable = compared.stacked()
    return [
        each._replace(
            checks=each.checks._replace(values=values, usable=usable),
            marks=(each.marks[0], distinct),
        )
        for each in found
    ]


def _reading(order: Order, at: Sequence[int]) -> Order:
    """Return an order that reads other columns; `at` has the new number of each."""

    def side(found: Side) -> Side:
        return replace(found, slot=at[found.slot], only=tuple(at[slot] for slot in found.only))

    return replace(order, earlier=side(order.earlier), later=side(order.later))
