"""The greta executor beside the two-step reference on one case."""

from __future__ import annotations

import math
import re

import pytest

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.errors import UnsupportedQueryError
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.template.support import greta_refusals
from tests.property.random_cases import RandomCase
from tests.property.random_cases.streams import Event

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


def greta(query: BoundQuery, events: EventTable) -> list[ResultRow]:
    """The rows of the compiled executor."""
    return finish(Workload(events.schema, (query,)), aggregate_query(query, events))


def judge_greta(case: RandomCase, expected: list[ResultRow] | None) -> tuple[str, ...]:
    """Compare greta with the reference; its reasons to refuse the query, if it does.

    `expected` is None where the reference found the query ambiguous on these events.

    Raises:
        AssertionError: greta gives other rows, refuses on unstated grounds, or answers what is
            ambiguous; the message has the smallest stream that still shows it.
    """
    try:
        reasons = tuple(_stated(case, reason) for reason in greta_refusals(case.query))
        if reasons:
            return reasons
        assert expected is not None, "greta answers what is ambiguous"
        if _differs(case, expected) is None:
            return ()
    except Exception as error:
        error.add_note(f"{case.name}: {described(case)}")
        raise
    smallest = _shrunk(case)
    raise AssertionError(f"{case.name}: {_differs(smallest, None)}\n{described(smallest)}")


def _stated(case: RandomCase, reason: str) -> str:
    for name, wording in STATED_REASONS.items():
        if wording.search(reason):
            return name
    raise AssertionError(f"refused, which is none of the stated reasons: {reason}")


def assert_same_rows(found: list[ResultRow], expected: list[ResultRow]) -> None:
    """The same rows: integers and extremes exactly, sums of doubles to their last digits."""
    assert [row.key for row in found] == [row.key for row in expected]
    for mine, theirs in zip(found, expected, strict=True):
        for (label, value), (_, wanted) in zip(mine.values, theirs.values, strict=True):
            assert type(value) is type(wanted), (label, value, wanted)
            if isinstance(wanted, float) and math.isfinite(wanted):
                assert value == pytest.approx(wanted, rel=1e-9, abs=1e-12), label
            else:
                assert value == wanted or (value != value and wanted != wanted), label


def described(case: RandomCase) -> str:
    """A case in the notation of the golden cases."""
    events = " ".join(_event_text(event) for event in sorted(case.rows, key=lambda e: e[1]))
    return f"{case.query.text}events: {events}"


def _event_text(event: Event) -> str:
    kind, time, values = event
    inside = ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)
    return f"{kind.lower()}{time}" + (f"({inside})" if inside else "")


def _differs(case: RandomCase, expected: list[ResultRow] | None) -> str | None:
    """How greta, given the events in another order, differs from the reference; None if not."""
    rows = two_step(case.query, case.events) if expected is None else expected
    found = greta(case.query, case.shuffled())
    try:
        assert_same_rows(found, rows)
    except AssertionError:
        mine, theirs = ([(row.key, row.values) for row in side] for side in (found, rows))
        return f"found {mine}, expected {theirs}"
    return None


def _shrunk(case: RandomCase) -> RandomCase:
    """The case without all events that the difference does not need."""
    left = list(case.rows)
    for event in case.rows:
        fewer = RandomCase(
            case.name, case.query, case.schema, tuple(e for e in left if e is not event)
        )
        try:
            needless = _differs(fewer, None) is not None
        except UnsupportedQueryError:  # without an event of a NOT there may be more trends
            needless = False
        if needless:
            left = list(fewer.rows)
    return RandomCase(case.name, case.query, case.schema, tuple(left))
