"""What all two-step systems start from: the events of a query in stacks, with pointers.

SASE (GRETA section 10.1, Sharon section 8.1) stores each matched event in a stack and points from
it to the events that may come next to it in a trend. The pointers are worked out once a query for
all partitions and windows, in one compiled loop over pairs of events; a trend is a way along them.
Partitions, keys, and predicates on single events are the engine's, as the papers' two-step systems
stand on the platform of the online ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import kernels
from elsinore.catalog.stream import AttributeType
from elsinore.errors import UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import (
    Entries,
    StateEntries,
    at_states,
    key_codes,
    make_entries,
)
from elsinore.executors.input.evaluate import evaluate
from elsinore.executors.input.exact import fitting_values
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundQuery
from elsinore.query.expressions import Applied, BoundExpression, sides_of
from elsinore.query.syntax import Semantics
from elsinore.results.row import ResultRow, Value, sorted_rows
from elsinore.template.build import build_templates
from elsinore.template.placement import Placements, placements_of
from elsinore.template.template import TREND, Every, Floor, Holds, Reaches, Template, leaves_of
from elsinore.timeline import Instant

#: Bytes that a system may hold trends, sequences or pointers in, each.
BUDGET = 512 * 2**20
NEVER, FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_SIGNS = ("<", "<=", ">", ">=", "=", "!=")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}

#: The group of a row, with labels.
Group = tuple[tuple[str, Value], ...]


class OutOfMemoryError(Exception):
    """A system would hold more than `BUDGET` bytes."""


class Stacks(NamedTuple):
    """N entries, each an event at a state, by partition and time, and pointers between them.

    Attributes:
        times: int64[N], ticks; states: int32[N]; offsets: int64[P + 1], of partitions.
        starts, ends: bool[N], whether a trend may start or end there.
        first: int64[N + 1]; following: int32[E]; entry i points to
            `following[first[i]:first[i + 1]]`.
        spans: int64[N, 4], numbers of windows from `Partitions.base` on: the first and the last one
            of a trend that starts here, the first and the last one of a trend that ends here.
        weights: int64[C, N], what each aggregate beside COUNT(*) adds up.
        before: int64[N], the time of the last event of NOT before the entry, else `NEVER`.
        guarded: bool[S, S], state pairs between which no such event may lie.
        late: whether that is left to whoever constructs sequences.
    """

    times: np.ndarray
    states: np.ndarray
    offsets: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    first: np.ndarray
    following: np.ndarray
    spans: np.ndarray
    weights: np.ndarray
    before: np.ndarray
    guarded: np.ndarray
    late: bool


@dataclass(frozen=True)
class Partitions:
    """The events of queries that are partitioned alike, and how many windows there are.

    Attributes:
        entries: for each event the places at which it may stand, (number of the query, state).
        base, windows: the number of the first window that may hold an event, and how many there
            are from it on.
    """

    queries: tuple[BoundQuery, ...]
    templates: tuple[Template, ...]
    placements: Placements[tuple[int, int]]
    entries: Entries[tuple[int, int]]
    columns: EventColumns
    base: int
    windows: int

    @classmethod
    def of(cls, queries: Sequence[BoundQuery], events: EventTable, system: str) -> Partitions:
        """Of queries with the same keys and window.

        Raises:
            UnsupportedQueryError: a query has a shape that no figure of the papers has.
        """
        templates = tuple(_template(query, system) for query in queries)
        first = queries[0]
        for query in queries:
            alike = query.window == first.window and [*query.named_keys] == [*first.named_keys]
            refuse(query, system, [] if alike else ["other keys or another window than the rest"])
        columns, window = EventColumns(events), first.window
        codes = {name: found for q in queries for name, found in key_codes(q, columns).items()}
        placements = placements_of(queries, templates)
        entries = make_entries(placements, codes, columns, query.window)
        numbers = [0, -1]
        if len(events):
            times = columns.times
            numbers = [window.indices(int(times.min()))[0], window.indices(int(times.max()))[-1]]
        base, windows = numbers[0], numbers[1] - numbers[0] + 1
        return cls(tuple(queries), templates, placements, entries, columns, base, windows)

    def totals(self, number: int) -> np.ndarray:
        """int64[P, W + 1, C + 1] of zeros: by partition and window, as differences to the next."""
        partitions, aggregates = self.entries.offsets.size - 1, _weighed(self.queries[number])
        return np.zeros((partitions, self.windows + 1, len(aggregates) + 1), np.int64)

    def entries_of(self, number: int, kept: frozenset[int]) -> StateEntries:
        """The entries of one query at some states."""
        places = {(number, state): (state, 0) for state in kept}
        return at_states(self.entries, self.placements, places)

    def rows(self, number: int, totals: np.ndarray) -> list[ResultRow]:
        """The rows of one query, of what its trends added to `totals`."""
        query = self.queries[number]
        sums = np.cumsum(totals, axis=1)[:, :-1]
        codes = key_codes(query, self.columns)
        texts = self.entries.group_texts(query, codes).to_pylist()
        known = {text: query.labelled(json.loads(text)) for text in set(texts)}
        found: dict[tuple[Group, int], np.ndarray] = {}
        for partition, window in np.argwhere(sums[:, :, 0] > 0).tolist():
            key = known[texts[partition]], window + self.base
            found[key] = found.get(key, 0) + sums[partition, window]
        calendar = self.columns.events.schema.time_unit.is_calendar
        return sorted_rows(
            _row(query, group, window, values.tolist(), calendar=calendar)
            for (group, window), values in found.items()
        )


def make_stacks(
    parts: Partitions, number: int, *, late: bool = False, kept: frozenset[int] | None = None
) -> Stacks:
    """The stacks of one query.

    Args:
        parts: the events.
        number: of the query.
        late: whether NOT is left to whoever constructs sequences, between events.
        kept: the states that entries and pointers are wanted of; None for all.

    Raises:
        OutOfMemoryError: there are too many pointers.
    """
    template = parts.templates[number]
    every, size = frozenset(range(len(template.states))), len(template.states)
    nots = np.array([state.guard != TREND for state in template.states])
    kept = (every if kept is None else kept) | frozenset(np.flatnonzero(nots).tolist())
    found = parts.entries_of(number, kept)
    times, states = found.times, found.states
    before, after = np.full(times.size, NEVER), np.full(times.size, FOREVER)
    kernels.find_nots(times, states, found.offsets, nots, before, after)
    arrows, guarded = _arrows(template)
    wanted = np.array([s in kept for s in range(size)]) & ~nots
    arrows &= wanted[:, None] & wanted[None, :]
    spans = _spans(parts, template, states, times, before, after)
    tests = _Tests(parts.columns, found.rows)
    bounds, listed = tests.listed(template)
    starts = np.array([s in template.starts for s in range(size)]) & wanted
    ends = np.array([s in template.ends for s in range(size)]) & wanted
    stacks = Stacks(
        times, states, found.offsets, starts[states], ends[states],
        np.empty(times.size + 1, np.int64), np.empty(BUDGET // 4, np.int32), spans,
        _weights(parts, number, found), before, guarded, late,
    )  # fmt: skip
    used = kernels.link(stacks, arrows, bounds, listed, tests.values())
    if used < 0:
        raise OutOfMemoryError
    return stacks._replace(following=stacks.following[:used])


# ---- what a query must look like


def _template(query: BoundQuery, system: str) -> Template:
    """The one template of a query of the figures' shapes."""
    templates = build_templates(query)
    (template, *others) = templates
    plain = all(len(state.positions) == 1 for state in template.states)
    summed = all(
        a.function is AggregateFunction.COUNT
        or (a.function is AggregateFunction.SUM and a.type is AttributeType.LONG)
        for a in query.aggregates
    )
    reasons = {
        "semantics other than skip-till-any-match": query.semantics is not Semantics.ANY,
        "several ways to match a trend": bool(others) or not plain or bool(template.bars),
        "several NOT, or one of several events": sum(s.guard != TREND for s in template.states) > 1,
        "aggregates other than counts and sums of longs": not summed,
        "a condition that is no comparison of two events": not all(
            _comparable(leaf) for arrow in template.transitions for leaf in _conditions(arrow)
        ),
    }
    refuse(query, system, [reason for reason, found in reasons.items() if found])
    return template


def refuse(query: BoundQuery, system: str, reasons: Sequence[str]) -> None:
    """Refuse a query if there are reasons.

    Raises:
        UnsupportedQueryError: there are.
    """
    if reasons:
        text = f"query {query.name} is not for {system}: {', '.join(reasons)}"
        raise UnsupportedQueryError(text, query=query.name, executor=system, reasons=tuple(reasons))


def _conditions(arrow: Any) -> Iterator[BoundExpression | None]:
    """The comparisons on a transition; None for what is none."""
    if not isinstance(arrow.condition, Every | Holds | Reaches):
        yield None
    for leaf in leaves_of(arrow.condition):
        if isinstance(leaf, Holds):
            yield from _conjuncts(leaf.condition)
        elif not isinstance(leaf, Reaches):
            yield None


def _conjuncts(condition: BoundExpression) -> Iterator[BoundExpression]:
    if isinstance(condition, Applied) and condition.name == "AND":
        for part in condition.operands:
            yield from _conjuncts(part)
    else:
        yield condition


def _comparable(condition: BoundExpression | None) -> bool:
    """Whether each side reads one event, and one of each."""
    if not isinstance(condition, Applied) or condition.name not in _SIGNS:
        return False
    left, right = (sides_of(operand) for operand in condition.operands)
    numbers = all(o.type is not AttributeType.STRING for o in condition.operands)
    return numbers and len(left) <= 1 and len(right) <= 1 and not (left & right)


# ---- arrows, windows, comparisons, weights


def _arrows(template: Template) -> tuple[np.ndarray, np.ndarray]:
    """bool[S, S] of transitions, and of those that no event of NOT may lie between."""
    size = len(template.states)
    arrows, guarded = np.zeros((size, size), np.bool_), np.zeros((size, size), np.bool_)
    for arrow in template.transitions:
        arrows[arrow.earlier, arrow.later] = True
        guarded[arrow.earlier, arrow.later] = any(map(_is_guarded, arrow.floors()))
    return arrows, guarded


def _is_guarded(floor: Floor | None) -> bool:
    return floor is not None and all(way for way in floor.ways)


def _spans(
    parts: Partitions,
    template: Template,
    states: np.ndarray,
    times: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
) -> np.ndarray:
    """The windows of trends that start or end at each entry (`Stacks.spans`)."""
    within, slide = parts.queries[0].window.within, parts.queries[0].window.slide
    size = len(template.states)
    leading = np.array([_is_guarded(template.starts.get(s)) for s in range(size)])[states]
    trailing = np.array([_is_guarded(template.ends.get(s)) for s in range(size)])[states]
    spans = np.empty((times.size, 4), np.int64)
    spans[:, 0] = np.where(leading & (before != NEVER), before // slide + 1 - parts.base, 0)
    spans[:, 1] = times // slide - parts.base
    spans[:, 2] = (times - within) // slide + 1 - parts.base
    fits = (np.where(after == FOREVER, within, after) - within) // slide - parts.base
    spans[:, 3] = np.where(trailing & (after != FOREVER), fits, parts.windows - 1)
    return spans


class _Tests:
    """The comparisons of pairs of entries, with a column of doubles for each of their sides."""

    def __init__(self, columns: EventColumns, rows: np.ndarray) -> None:
        self._columns, self._rows = columns, rows
        self._sides: dict[BoundExpression, int] = {}
        self._values: list[np.ndarray] = []

    def listed(self, template: Template) -> tuple[np.ndarray, np.ndarray]:
        """Bounds int64[S, S, 2] of each pair of states in a list int64[T, 3]: sign, two columns."""
        size = len(template.states)
        bounds, tests = np.zeros((size, size, 2), np.int64), list[tuple[int, int, int]]()
        for arrow in template.transitions:
            begin = len(tests)
            tests += [self._test(c) for c in _conditions(arrow) if isinstance(c, Applied)]
            bounds[arrow.earlier, arrow.later] = begin, len(tests)
        return bounds, np.array(tests, np.int64).reshape(-1, 3)

    def values(self) -> np.ndarray:
        """float64[*, N]; NaN, which no comparison is true of, where there is no value."""
        return np.array(self._values, np.float64).reshape(len(self._values), self._rows.size)

    def _test(self, condition: Applied) -> tuple[int, int, int]:
        (left, right), sign = condition.operands, condition.name
        if True in sides_of(left) or False in sides_of(right):
            left, right, sign = right, left, _TURNED[sign]
        return _SIGNS.index(sign), self._side(left), self._side(right)

    def _side(self, expression: BoundExpression) -> int:
        if expression not in self._sides:
            found = evaluate(expression, self._columns, self._rows)
            self._sides[expression] = len(self._values)
            self._values.append(np.where(found.known, found.values, np.nan))
        return self._sides[expression]


def _weighed(query: BoundQuery) -> list[BoundAggregate]:
    return [aggregate for aggregate in query.aggregates if not aggregate.counts_trends]


def _weights(parts: Partitions, number: int, found: StateEntries) -> np.ndarray:
    query, states = parts.queries[number], parts.templates[number].states
    aggregates = _weighed(query)
    weights = np.zeros((len(aggregates), found.rows.size), np.int64)
    for row, aggregate in zip(weights, aggregates, strict=True):
        counted = np.array([state.positions <= aggregate.positions for state in states])
        mine = counted[found.states]
        row[mine] = 1
        if aggregate.attribute is not None:
            column = fitting_values(aggregate.attribute, parts.columns, found.rows[mine])
            assert column.known.all(), "sums of attributes that may be NULL are not for figures"
            row[mine] = column.values
    return weights


def _row(
    query: BoundQuery, group: Group, window: int, values: list[int], *, calendar: bool
) -> ResultRow:
    bounds, rest = query.window.bounds(window), iter(values[1:])
    found = tuple((a.label, values[0] if a.counts_trends else next(rest)) for a in query.aggregates)
    time = Instant if calendar else int
    return ResultRow(query.name, group, time(bounds.start), time(bounds.end), found)
