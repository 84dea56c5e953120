"""Find the participating events of a template with conditions on pairs of events.

It uses the graph of `run_template`, for a template with a state per position. Two passes over each
window mark the events of trends (`kernels.reach`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.guards import make_guards
from elsinore.executors.graph.kernels.orders import no_orders
from elsinore.executors.graph.kernels.pairs import make_pairs
from elsinore.executors.graph.kernels.reach import Check, Checks, ReachWork, find_reached
from elsinore.executors.graph.kernels.upkeep import find_upkeep
from elsinore.executors.graph.layout import lay_out
from elsinore.executors.graph.run_template import build_graph, last_events
from elsinore.executors.graph.span_counts import is_linear
from elsinore.executors.graph.span_members import members_in_spans
from elsinore.executors.input.anchors import windows_of
from elsinore.executors.input.conditions import Order, Side
from elsinore.executors.input.entries import at_states
from elsinore.executors.input.kernels.pair_program import Op
from elsinore.executors.input.weights import EventWeights
from elsinore.executors.joined_lists import joined_lists
from elsinore.executors.output.kernels.members import LISTED, Asked, Weights
from elsinore.executors.output.participation import Found, Pass, take
from elsinore.template.placement import type_of
from elsinore.template.template import State, Template
from elsinore.timeline import Interval

#: No weights of any event.
NO_WEIGHTS = EventWeights(
    np.zeros((0, 0), np.int64), np.zeros((0, 0)), np.zeros((0, 0), np.int64), {}
)
#: All bits of a double but the sign.
_SIZE = np.int64(2**63 - 1)


class Reach(Pass):
    """The template of one query, with conditions on pairs of events."""

    def found(self, kinds: Sequence[int], owned: Interval | None) -> Iterator[Found]:
        """Yield the windows with a trend; see `Pass.found`."""
        [query], [template], columns = self.sought.queries, self.templates, self.sought.columns
        places = {place: (place[1], 0) for place in self.placements.by_place}
        placed = at_states(self.entries, self.placements, places)
        asked = asked_of(self, kinds, 0, template.states)
        read_row = read_twice(self, kinds, 0, template.states)
        if query.window.span is not None and is_linear(template):
            yield from members_in_spans(self, lay_out(template), placed, asked, read_row, owned)
            return
        spans = windows_of(query, template, placed, owned)
        if query.window.span is None and not (template.guards or template.contiguous):
            spans = from_first_start(spans, placed.states, template)
        if not spans.shape[0]:
            return
        last = np.empty(0, np.int64)
        if template.contiguous:
            schema, keys = columns.events.schema, self.entries.keys
            last = last_events(query, schema, self.codes, columns, placed, keys)
        layout = lay_out(template)
        graph = build_graph(layout, columns, placed, NO_WEIGHTS, last)
        checks, marks = make_checks(graph, layout.orders)
        longest = int((spans[:, 1] - spans[:, 0]).max())
        read = np.zeros((int(read_row.max(initial=-1)) + 1, columns.times.size), np.int64)
        seen = 0 if query.window.span is None else placed.times.size
        work = make_reach_work(graph, checks, longest, marks, read_row, read, seen)
        members = self.buffer(longest * int(asked.listed[0]))
        weights = self.sought.weights
        weighed = Weights(weights.longs, weights.doubles, weights.ranks)
        done = False
        while not done:
            done = find_reached(graph, spans, checks, work, asked, weighed, placed.rows, members)
            yield take(query, members, done=bool(done))


def asked_of(
    found: Pass, kinds: Sequence[int], number: int, states: Sequence[State | None]
) -> Asked:
    """Return the accumulators of a query in the form that the kernels read.

    Args:
        found: the pass over all queries.
        kinds: the kind of each accumulator.
        number: the number of the query.
        states: its states by their numbers in the graph; None for a state of other queries.
    """
    accumulators = found.sought.accumulators
    own = [k for k, each in enumerate(accumulators) if each.query == number and kinds[k] >= 0]
    of_states = [
        [k for k in own if state and accumulators[k].of.counts_at(state.positions)]
        for state in states
    ]
    listed = np.array([kinds.count(LISTED)])
    return Asked(*joined_lists(of_states), found.columns_of(kinds), listed)


def read_twice(
    found: Pass, kinds: Sequence[int], number: int, states: Sequence[State | None]
) -> np.ndarray:
    """Return `ReachWork.read_row`: an event can be at several states that are counted.

    The arguments are as in `asked_of`.
    """
    query, numbers, count = found.sought.queries[number], np.full(len(kinds), -1, np.int64), 0
    for k, (each, kind) in enumerate(zip(found.sought.accumulators, kinds, strict=True)):
        counted = (s for s in states if s and each.of.counts_at(s.positions))
        types = Counter(type_of(query, state) for state in counted)
        if kind >= 0 and each.query == number and max(types.values(), default=0) > 1:
            numbers[k] = count
            count += 1
    return numbers


def from_first_start(spans: np.ndarray, states: np.ndarray, template: Template) -> np.ndarray:
    """Return windows from their first entry that can start a trend on; the others are left out.

    Only NOT and `contiguous` read entries before it.

    Args:
        spans: int64[*, 4], the windows.
        states: int32[N], the state of each entry.
        template: the template, without NOT and `contiguous`.
    """
    starting = np.zeros(states.size, np.bool_)
    for state in template.starts:
        starting |= states == state
    begins = np.flatnonzero(starting)
    first = np.searchsorted(begins, spans[:, 0])
    filled = np.flatnonzero(first < np.searchsorted(begins, spans[:, 1]))
    found = spans[filled]
    found[:, 0] = begins[first[filled]]
    return found


def make_reach_work(
    graph: Graph,
    checks: Checks,
    buffer: int,
    marks: tuple[int, int],
    read_row: np.ndarray,
    read: np.ndarray,
    seen: int = 0,
) -> ReachWork:
    """Return scratch for windows of up to `buffer` entries.

    Args:
        graph: the graph.
        checks: its checks.
        buffer: the most entries of a window.
        marks: the shape of `ReachWork.marks`.
        read_row: see `ReachWork`.
        read: see `ReachWork`.
        seen: the size of `ReachWork.seen`.
    """
    upkeep = find_upkeep(graph, no_orders(graph))
    states, size = graph.starts.size, checks.kinds.size
    width = buffer if checks.listed.any() or upkeep.kept.any() else 0
    closable = buffer if (checks.kinds == Check.ONE_BY_ONE).any() else 0
    closed, closed_first, closed_next, chosen = np.empty((4, closable), np.int64)
    return ReachWork(
        upkeep, make_pairs(graph, buffer), make_guards(graph, upkeep, buffer),
        np.empty((states, width), np.int64), np.zeros(states, np.int64),
        np.empty(buffer, np.bool_), np.empty(buffer, np.bool_), np.empty(states, np.int64),
        np.empty(size, np.bool_), np.empty(size, np.int64), np.zeros(marks, np.int64),
        closed, closed_first, closed_next, chosen,
        read_row, read, np.zeros(seen, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip


# ---- how transitions are checked


def make_checks(
    graph: Graph, ordered: Sequence[tuple[int, Order]]
) -> tuple[Checks, tuple[int, int]]:
    """Return the checks of a graph, and the shape of `ReachWork.marks`.

    Args:
        graph: the entries of all partitions.
        ordered: the transitions whose condition is one comparison.
    """
    columns = Compared(graph)
    checks = checks_of(graph, ordered, columns)
    distinct = columns.number_equal()
    values, usable = columns.stacked()
    return checks._replace(values=values, usable=usable), (marks_of(checks), distinct)


def checks_of(graph: Graph, ordered: Sequence[tuple[int, Order]], columns: Compared) -> Checks:
    """Return the checks of a graph without their values, which `columns` then has.

    Args:
        graph: the entries of all partitions.
        ordered: the transitions whose condition is one comparison.
        columns: receives the compared values.
    """
    size, states = graph.transition_from.size, graph.starts.size
    later = np.repeat(np.arange(states), np.diff(graph.transition_start))
    kinds = np.full(size, Check.ALWAYS, np.int64)
    kinds[graph.transition_floor >= 0] = Check.FLOOR
    kinds[graph.transition_program >= 0] = Check.PAIRS
    kinds[(np.diff(graph.open_start) > 0)[graph.transition_from]] = Check.ONE_BY_ONE
    sources, targets, marks = (np.full(size, -1, np.int64) for _ in range(3))
    strict = np.zeros(size, np.bool_)
    for t, order in ordered:
        kinds[t] = Check.EQUAL if order.equal else Check.ORDER
        strict[t] = order.strict
        turned = order.falling and not order.equal
        sources[t] = columns.row(int(graph.transition_from[t]), order.earlier, turned, order.equal)
        targets[t] = columns.row(int(later[t]), order.later, turned, order.equal)
    equal = np.flatnonzero(kinds == Check.EQUAL)
    marks[equal] = np.arange(equal.size)
    listed = np.zeros(states, np.bool_)
    listed[graph.transition_from[kinds >= Check.PAIRS]] = True
    outs = np.argsort(graph.transition_from, kind="stable").astype(np.int64)
    begins = np.searchsorted(graph.transition_from[outs], np.arange(states + 1)).astype(np.int64)
    no_values, none_usable = np.empty((0, 0), np.int64), np.empty((0, 0), np.bool_)
    return Checks(
        kinds, _floors_of(graph), sources, targets, strict, marks,
        no_values, none_usable, begins, outs, listed,
    )  # fmt: skip


def marks_of(checks: Checks) -> int:
    """Return the number of transitions with a comparison for equality."""
    return int(np.count_nonzero(checks.kinds == Check.EQUAL))


def _floors_of(graph: Graph) -> np.ndarray:
    """Return the floor that each transition requires; -1 for none."""
    floors = graph.transition_floor.copy()
    for t in np.flatnonzero(graph.transition_program >= 0):
        begin, end = graph.program_start[graph.transition_program[t] :][:2]
        steps = graph.program[begin:end]
        required = steps[steps[:, 0] == Op.REACHES, 1]
        # All parts of a condition between positions are joined by AND.
        floors[t] = required[0] if required.size else -1
    return floors


class Compared:
    """The compared values of entries as int64 in the order of the values, each column once.

    Args:
        graph: the entries, and the columns of their values.
        of_states: whether a column has the values of one state; otherwise, of all states.
    """

    def __init__(self, graph: Graph, *, of_states: bool = True) -> None:
        self.graph, self._of_states = graph, of_states
        self.rows: dict[tuple[int, Side, bool, bool], int] = {}
        self.values: list[np.ndarray] = []
        self.usable: list[np.ndarray] = []

    def row(self, state: int, side: Side, turned: bool, equal: bool) -> int:
        """Return the row of a side of a comparison at a state.

        Args:
            state: the state.
            side: the side.
            turned: whether greater values come first.
            equal: whether values are compared for equality.
        """
        key = state if self._of_states else -1, side, turned, equal
        if key not in self.rows:
            self.rows[key] = len(self.values)
            values, usable = self._values(state, side)
            self.values.append(~values if turned else values)
            self.usable.append(usable)
        return self.rows[key]

    def number_equal(self) -> int:
        """Number the values that are compared for equality; return how many there are."""
        rows = [row for (*_, equal), row in self.rows.items() if equal]
        if not rows:
            return 0
        held = [self.values[row][self.usable[row]] for row in rows]
        distinct, numbers = np.unique(np.concatenate(held), return_inverse=True)
        ends = np.cumsum([part.size for part in held])[:-1]
        for row, part in zip(rows, np.split(numbers, ends), strict=True):
            self.values[row] = np.zeros(self.usable[row].size, np.int64)
            self.values[row][self.usable[row]] = part
        return int(distinct.size)

    def stacked(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all values and whether they are usable, int64[*, N] and bool[*, N]."""
        shape = len(self.values), self.graph.times.size
        return (
            np.array(self.values, np.int64).reshape(shape),
            np.array(self.usable, np.bool_).reshape(shape),
        )

    def _values(self, state: int, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of a side, and whether they are comparable; NULL and NaN are not."""
        graph = self.graph
        usable = graph.known[side.slot].copy()
        if self._of_states:
            usable &= graph.states == state
        for slot in side.only:
            usable &= graph.known[slot] & (graph.slots_l[slot] != 0)
        if not (side.doubles or side.widened):
            return graph.slots_l[side.slot], usable
        doubles = (graph.slots_d if side.doubles else graph.slots_l)[side.slot].astype(np.float64)
        usable &= doubles == doubles
        bits = (doubles + 0.0).view(np.int64)  # 0.0 and -0.0 are equal
        return bits ^ ((bits >> 63) & _SIZE), usable
