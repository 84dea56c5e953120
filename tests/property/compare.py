"""All ways to answer a query or a workload beside the two-step reference."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import AggregateFunction, BoundQuery, Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import LOST_AT_EACH_EVENT, ResultRow, within
from elsinore.template.support import aseq_refusals, greta_refusals
from elsinore.timeline import Interval
from tests.property.random_cases import RandomCase
from tests.property.random_cases.streams import Event
from tests.property.random_workloads import RandomWorkload
from tests.property.ways import Way, ways

#: The only grounds on which greta may refuse a query of the language (spec section 1).
STATED_REASONS: dict[str, re.Pattern[str]] = {
    "an event may stand for several aliases, and an aggregate counts only some": re.compile(
        r"one event of a trend can stand for .* counts only "
    ),
    "an event may stand for several aliases, and a key binds only some": re.compile(
        r"one event of a trend can stand for .* a key binds only some of them"
    ),
    "too many ways to match one trend": re.compile(
        r"its ways to match one trend are too many|too many of its positions have conditions"
    ),
    "a key of events within NOT that no trend has, past an event without it": re.compile(
        r"is a key of some events under a NOT, but of no trend"
    ),
}


def greta(query: BoundQuery, events: EventTable, owned: Interval | None = None) -> list[ResultRow]:
    """The rows of the compiled executor, with bounds to judge those of the others by."""
    return with_bounds(_greta(query, events, owned), query, events, owned)


def _greta(query: BoundQuery, events: EventTable, owned: Interval | None) -> list[ResultRow]:
    table = aggregate_query(query, events, owned=owned)
    return finish(Workload(events.schema, (query,)), table)


def with_bounds(
    rows: list[ResultRow], query: BoundQuery, events: EventTable, owned: Interval | None = None
) -> list[ResultRow]:
    """Rows of a query with the bounds of their sums of doubles, which may be too many for the
    reference: the sums of all values less, and plus, what rounding may take from each.
    """
    summed = [
        item
        for item in query.aggregates
        if item.type is AttributeType.DOUBLE
        and item.function in (AggregateFunction.SUM, AggregateFunction.AVG)
    ]
    if not summed:
        return rows
    every = [replace(i, label=f"{side} {i.label}", attribute=f"{side} {i.attribute}")
             for side in ("low", "high") for i in summed]  # fmt: skip
    beside = _beside(events, sorted({str(item.attribute) for item in summed}))
    judged = _greta(replace(query, aggregates=tuple(every)), beside, owned)
    bounded = []
    for row, other in zip(rows, judged, strict=True):
        assert row.key == other.key
        ends: dict[str, Any] = dict(other.values)
        bounds = (
            (ends[f"low {label}"], ends[f"high {label}"])
            if ends.get(f"low {label}") is not None
            else None
            for label, _ in row.values
        )
        bounded.append(replace(row, bounds=tuple(bounds)))
    return bounded


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
    """Judges cases by all ways to run them, and counts the cases that each has answered rightly."""

    ran: Counter[str] = field(default_factory=Counter)

    def __call__(self, case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
        """Compare all ways with the reference; greta's reasons to refuse the query, if it does.

        `expected` is None where the reference found the query ambiguous on these events.

        Raises:
            AssertionError: one gives other rows, or greta refuses on unstated grounds or answers
                what is ambiguous; the message has the smallest stream that still shows it.
        """
        try:
            reasons = tuple(_stated(reason) for reason in greta_refusals(case.query))
            assert reasons or expected is not None, "greta answers what is ambiguous"
        except AssertionError as error:
            error.add_note(f"{case.name}: {described(case)}")
            raise
        twin = replace(case.query, source=replace(case.query.source, name="twin"))
        both = Workload(case.schema, (case.query, twin))  # so that there is something to share
        found = ways(both, case.events, case.name) if expected is not None else []
        for way in found:
            assert_answers(way, case, expected or [])
        self.ran.update({way.name for way in found})
        return reasons

    def __str__(self) -> str:
        return "compared: " + ", ".join(f"{name} {times}" for name, times in self.ran.items())


def _answers(way: Way, case: RandomCase) -> list[list[ResultRow]]:
    """The rows of each query, all under one name: those of the query, then those of its twin."""
    rows = way.rows(case.shuffled())
    return [
        [replace(row, query=case.query.name) for row in rows if row.query == query.name]
        for query in way.plan.queries
    ]


def judge_workload(
    case: RandomWorkload, tally: Counter[str], owned: Interval | None = None, steps: int = 3_000
) -> None:
    """Compare all ways to run a workload, over the windows that end in an interval.

    What is expected is what the reference says, or greta where a query takes it more steps or some
    windows alone are asked for. Counts, by way, the queries that have rows.

    Raises:
        AssertionError: they differ; the message has queries and events.
    """
    expected = {}
    for query in case.workload.queries:
        if not greta_refusals(query) or not aseq_refusals(query):
            expected[query.name] = _expected(query, case, owned, steps, tally)
            tally["answers"] += bool(expected[query.name])
    tally["workloads"] += 1
    for way in ways(case.workload, case.events, case.name, plans=4):
        try:
            rows = way.rows(case.events, owned)
            for query in way.plan.queries:
                mine = [row for row in rows if row.query == query.name]
                assert_same_rows(mine, expected[query.name])
                tally[way.name] += bool(mine)
        except Exception as error:
            error.add_note(f"{way.name}: {case.described()}\n{way.shared()}")
            raise
        tally.update({f"{way.name}: {name}": n for name, n in way.shared().items() if n})


def _expected(
    query: BoundQuery, case: RandomWorkload, owned: Interval | None, steps: int, tally: Counter[str]
) -> list[ResultRow]:
    if owned is None:
        try:
            rows = two_step(query, case.events, budget=Budget(steps))
        except BudgetError:
            tally["beyond the reference"] += 1
        else:
            tally["against the reference"] += 1
            return rows
    return greta(query, case.events, owned)


def assert_answers(way: Way, case: RandomCase, expected: list[ResultRow]) -> None:
    """Compare what is found with the rows of the reference.

    Raises:
        AssertionError: they differ; the message has the smallest stream that still shows it.
    """
    try:
        if _differs(case, expected, way) is None:
            return
    except Exception as error:
        error.add_note(f"{way.name}, {case.name}: {described(case)}")
        raise
    smallest = _shrunk(case, way)
    raise AssertionError(
        f"{way.name}, {case.name}: {_differs(smallest, None, way)}\n{described(smallest)}"
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


def described(case: RandomCase) -> str:
    """A case in the notation of the golden cases."""
    events = " ".join(_event_text(event) for event in sorted(case.rows, key=lambda e: e[1]))
    return f"{case.query.text}events: {events}"


def _event_text(event: Event) -> str:
    kind, time, values = event
    inside = ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)
    return f"{kind.lower()}{time}" + (f"({inside})" if inside else "")


def _differs(case: RandomCase, expected: list[ResultRow] | None, way: Way) -> str | None:
    """How an executor, given the events in another order, differs from the reference."""
    rows = two_step(case.query, case.events) if expected is None else expected
    for found in _answers(way, case):
        try:
            assert_same_rows(found, rows)
        except AssertionError:
            mine, theirs = ([(row.key, row.values) for row in side] for side in (found, rows))
            return f"found {mine}, expected {theirs}"
    return None


def _shrunk(case: RandomCase, way: Way) -> RandomCase:
    """The case without all events that the difference does not need."""
    left = list(case.rows)
    for event in case.rows:
        fewer = RandomCase(
            case.name, case.query, case.schema, tuple(e for e in left if e is not event)
        )
        try:
            needless = _differs(fewer, None, way) is not None
        except UnsupportedQueryError:  # without an event of a NOT there may be more trends
            needless = False
        if needless:
            left = list(fewer.rows)
    return RandomCase(case.name, case.query, case.schema, tuple(left))
