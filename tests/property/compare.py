"""All ways to answer a query or a workload beside the two-step reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundOutput,
    BoundQuery,
    MeasureTerm,
    Workload,
)
from elsinore.query.expressions import Slot
from elsinore.reference.outputs import Output, outputs_of_row
from elsinore.reference.two_step import two_step
from elsinore.results.row import LOST_AT_EACH_EVENT, Bounds, ResultRow, within
from elsinore.template.support import aseq_refusals, greta_refusals
from elsinore.timeline import Interval
from tests.property.random_cases import RandomCase, constructs_of
from tests.property.ways import Way, alone, ways

#: How the names of counts of constructs begin.
CONSTRUCT = "construct: "
#: The only grounds on which greta may refuse a query of the language (spec section 1).
STATED_REASONS: dict[str, re.Pattern[str]] = {
    "an event may stand for several aliases, and an aggregate counts only some": re.compile(
        r"one event of a trend can match .* counts only "
    ),
    "an event may stand for several aliases, and a key binds only some": re.compile(
        r"one event of a trend can match .* a key applies only to some of them"
    ),
    "too many ways to match one trend": re.compile(
        r"it can match a trend in too many ways|too many of its positions have separate conditions"
    ),
    "a key of events within NOT that no trend has, past an event without it": re.compile(
        r"is a key of some events under a NOT, but not of a trend"
    ),
    "too many copies of quantified parts": re.compile(r"quantifiers have more than .* copies"),
    "too many states for a measure": re.compile(r"its measures need too many states"),
    "the group of a trend depends on its match": re.compile(
        r"the group of a trend can depend on how it is matched"
    ),
}


def greta(query: BoundQuery, events: EventTable, owned: Interval | None = None) -> list[ResultRow]:
    """The rows of the compiled executor, with bounds to judge those of the others by."""
    return with_bounds(_greta(query, events, owned), query, events, owned)


def _greta(query: BoundQuery, events: EventTable, owned: Interval | None) -> list[ResultRow]:
    return next(alone([query])).rows(events, owned)


def with_bounds(
    rows: list[ResultRow], query: BoundQuery, events: EventTable, owned: Interval | None = None
) -> list[ResultRow]:
    """Rows of a query with the bounds of their sums of doubles, which may be too many for the
    reference: the sums of all values less, and plus, what rounding may take from each.
    """
    summed = {item: names for item in query.aggregates if (names := _summed_doubles(item))}
    if not summed:
        return rows
    every = [
        *query.aggregates,
        *(_at_end(item, side) for side in ("low", "high") for item in summed),
    ]
    plain = tuple(
        BoundOutput(one.label, Slot(number, one.value_type), one.value_type, False, False)
        for number, one in enumerate(every)
    )
    beside = _beside(events, sorted(set(chain.from_iterable(summed.values()))))
    whole = replace(query, aggregates=tuple(every), outputs=plain, having=None)
    bounded = {}
    for other in _greta(whole, beside, owned):
        ends: dict[str, Any] = dict(other.values)
        slots = [Output(ends[one.label], _ends(one.label, ends)) for one in query.aggregates]
        outputs = outputs_of_row(query, (slots, [value for _, value in other.group]))
        if outputs is not None:
            bounded[repr(other.key)] = tuple(output.bounds for output in outputs)
    assert len(bounded) == len(rows)
    return [replace(row, bounds=bounded[repr(row.key)]) for row in rows]


def _summed_doubles(item: BoundAggregate) -> list[str]:
    """The attributes of doubles that an aggregate adds up, of events or over a trend."""
    if item.measure is not None:
        if item.function.is_dispersion or item.function is AggregateFunction.COUNT:
            return []
        return [str(term.value) for term in item.measure.terms if _is_rounded(term)]
    sums = (AggregateFunction.SUM, AggregateFunction.AVG)
    is_sum = item.type is AttributeType.DOUBLE and item.function in sums
    return [str(item.attribute)] if is_sum else []


def _is_rounded(term: MeasureTerm) -> bool:
    return term.type is AttributeType.DOUBLE and isinstance(term.value, str)


def _at_end(item: BoundAggregate, side: str) -> BoundAggregate:
    """The aggregate of the least or of the most that rounding may make of its values."""
    label, measure = f"{side} {item.label}", item.measure
    if measure is None:
        return replace(item, label=label, attribute=f"{side} {item.attribute}")
    other = {"low": "high", "high": "low"}[side]
    terms = tuple(
        replace(term, value=f"{side if term.factor > 0 else other} {term.value}")
        if _is_rounded(term)
        else term
        for term in measure.terms
    )
    return replace(item, label=label, measure=replace(measure, terms=terms))


def _ends(label: str, ends: dict[str, Any]) -> Bounds | None:
    """The least and the most that rounding may make of an aggregate."""
    low, high = (ends.get(f"{side} {label}") for side in ("low", "high"))
    return None if low is None or high is None else (low, high)


def _beside(events: EventTable, names: list[str]) -> EventTable:
    """Events with, beside some attributes, the least and most that rounding may make of them."""
    schema, table = events.schema, events.table
    for name in names:
        values = table[name]
        lost = pc.multiply(pc.abs(values), len(events) * LOST_AT_EACH_EVENT)
        lost = pc.if_else(pc.is_finite(values), lost, 0.0)
        table = table.append_column(f"low {name}", pc.subtract(values, lost))
        table = table.append_column(f"high {name}", pc.add(values, lost))
    types = tuple(
        replace(kind, attributes=kind.attributes + tuple(
            replace(of, name=f"{side} {of.name}")
            for of in kind.attributes if of.name in names for side in ("low", "high")
        ))
        for kind in schema.types
    )  # fmt: skip
    return EventTable(replace(schema, types=types), table)


@dataclass
class EveryWay:
    """Judges cases of one query by all ways, and counts the cases that each answered rightly."""

    ran: Counter[str] = field(default_factory=Counter)

    def __call__(self, case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
        """Compare all ways with the reference; greta's reasons to refuse the query, if it does.

        `expected` is None where the reference found the query ambiguous on these events.

        Raises:
            AssertionError: one gives other rows, or greta refuses on unstated grounds or answers
                what is ambiguous.
        """
        try:
            reasons = tuple(_stated(reason) for reason in greta_refusals(case.query))
            assert reasons or expected is not None, "greta answers what is ambiguous"
        except AssertionError as error:
            error.add_note(case.described())
            raise
        if expected is not None:
            twin = replace(case.query, source=replace(case.query.source, name="twin"))
            both = Workload(case.workload.schema, (case.query, twin))  # something to share
            beside = [replace(row, query=twin.name) for row in expected]
            rows = {case.query.name: expected, twin.name: beside}
            found = ways(both, case.events, case.name)
            assert_answers(replace(case, workload=both), found, rows)
            self.ran.update({way.name for way in found})
        return reasons

    def __str__(self) -> str:
        return "compared: " + ", ".join(f"{name} {times}" for name, times in self.ran.items())


def judge_workload(
    case: RandomCase, tally: Counter[str], owned: Interval | None = None, steps: int = 3_000
) -> None:
    """Compare all ways to run a workload, over the windows that end in an interval.

    What is expected is what the reference says, or greta where a query takes it more steps or some
    windows alone are asked for. Counts, by way, the queries that have rows.

    Raises:
        AssertionError: they differ.
    """
    expected = {}
    for query in case.workload.queries:
        if not greta_refusals(query) or not aseq_refusals(query):
            expected[query.name], by = _expected(query, case.events, owned, steps)
            tally[by] += 1
            if expected[query.name]:
                tally["answers"] += 1
                schema = case.workload.schema
                own = constructs_of(query, schema, case.rows)
                tally.update(f"{CONSTRUCT}{each}" for each in own)
    tally["workloads"] += 1
    found = ways(case.workload, case.events, case.name, plans=4)
    assert_answers(case, found, expected, owned)
    for way in found:
        tally[way.name] += sum(bool(expected[query.name]) for query in way.queries)
        tally.update({f"{way.name}: {name}": n for name, n in way.shared().items() if n})


def _expected(
    query: BoundQuery, events: EventTable, owned: Interval | None, steps: int = 4_000
) -> tuple[list[ResultRow], str]:
    """The rows of a query, and who says so."""
    if owned is None:
        try:
            return two_step(query, events, budget=steps), "against the reference"
        except BudgetError:
            return greta(query, events), "beyond the reference"
    return greta(query, events, owned), "of an interval"


def assert_answers(
    case: RandomCase,
    found: Iterable[Way],
    expected: Mapping[str, list[ResultRow]],
    owned: Interval | None = None,
) -> None:
    """Compare ways to run the queries of a case with the rows expected, by query.

    Raises:
        AssertionError: they differ; the message has the smallest stream that still shows it.
    """
    for way in found:
        try:
            if _differs(way, case, owned, expected) is None:
                continue
        except Exception as error:
            error.add_note(f"{way.name}, {way.shared()}, {case.described()}")
            raise
        smallest = _shrunk(way, case, owned)
        raise AssertionError(
            f"{way.name}, {way.shared()}: {_differs(way, smallest, owned)}\n{smallest.described()}"
        )


def _stated(reason: str) -> str:
    for name, wording in STATED_REASONS.items():
        if wording.search(reason):
            return name
    raise AssertionError(f"refused, which is none of the stated reasons: {reason}")


def assert_same_rows(found: list[ResultRow], expected: list[ResultRow]) -> None:
    """The same rows: everything exactly, but sums of doubles within the bounds of `expected`."""
    assert [row.key for row in found] == [row.key for row in expected]
    for mine, theirs in zip(found, expected, strict=True):
        every = theirs.bounds or (None,) * len(theirs.values)
        for (label, value), (_, wanted), bounds in zip(
            mine.values, theirs.values, every, strict=True
        ):
            assert type(value) is type(wanted), (label, value, wanted)
            if isinstance(value, float) and isinstance(wanted, float):
                assert within(value, bounds or (wanted, wanted)), (label, value, wanted, bounds)
            else:
                assert value == wanted, label


def _differs(
    way: Way,
    case: RandomCase,
    owned: Interval | None,
    expected: Mapping[str, list[ResultRow]] | None = None,
) -> str | None:
    """How a way, given the events in another order, differs from what is expected."""
    rows = way.rows(case.shuffled, owned)
    for query in way.queries:
        if expected is None:
            wanted, _ = _expected(query, case.events, owned)
        else:
            wanted = expected[query.name]
        found = [row for row in rows if row.query == query.name]
        try:
            assert_same_rows(found, wanted)
        except AssertionError:
            mine, theirs = ([(row.key, row.values) for row in side] for side in (found, wanted))
            return f"found {mine}, expected {theirs}"
    return None


def _shrunk(way: Way, case: RandomCase, owned: Interval | None) -> RandomCase:
    """The case without all events that the difference does not need."""
    for event in case.rows:
        fewer = replace(case, rows=tuple(e for e in case.rows if e is not event))
        try:
            needless = _differs(way, fewer, owned) is not None
        except UnsupportedQueryError:  # without an event of a NOT there may be more trends
            needless = False
        if needless:
            case = fewer
    return case
