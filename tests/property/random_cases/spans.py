"""Random spans in place of windows, and offsets of either."""

from __future__ import annotations

from dataclasses import replace

from elsinore.query import syntax
from elsinore.query.bound import BoundQuery
from tests.property.random_cases.dice import Dice

#: What spans are combined with; a case that aims at `span with X` also aims at X.
_TOGETHER = (
    "NOT between", "NOT leading", "NOT trailing", "NOT nested", "next-match", "contiguous",
    "edge predicate", "EACH",
)  # fmt: skip
_WITH = "span with "
_MEASURE = "span with a measure"
_BOTH_ENDS = "span with NOT at both ends"
OFFSET = "OFFSET"
_SPAN_OFFSET = "span with OFFSET"
#: Constructs of this module.
OF_SPANS = (
    _SPAN_OFFSET,
    "span", "span BY FIRST", "parameter in SPAN", _MEASURE, _BOTH_ENDS,
    *(_WITH + name for name in _TOGETHER),
)  # fmt: skip

_LENGTHS = (1, 2, 3, 3, 5, 8, 12, 60)
_PERIODS = (1, 2, 3, 4, 7, 10, 25)
_LONGEST = 2**61 - 1


def beside_span(aim: str) -> str:
    """Return the construct that a case aims at in addition to a span, or its aim."""
    if aim == _MEASURE:
        return "LENGTH"
    if aim == _SPAN_OFFSET:
        return OFFSET
    return "NOT leading" if aim == _BOTH_ENDS else aim.removeprefix(_WITH)


def with_span(dice: Dice, query: syntax.Query) -> syntax.Query:
    """Return the query with a span; one in four has one, and no AND.

    The unit of the span is that of WITHIN.
    """
    if isinstance(query.pattern, syntax.Conjunction) or not dice.chance(0.25, *OF_SPANS):
        return query
    assert isinstance(query.within, syntax.Duration)
    unit = query.within.unit
    length, period = dice.pick(_LENGTHS), dice.pick(_PERIODS)
    if query.within.amount == _LONGEST:
        length, period = dice.pick((3, _LONGEST // 5, _LONGEST)), dice.pick((10**6, _LONGEST))
    by_first = dice.chance(0.4, "span BY FIRST")
    span = syntax.Span(syntax.Duration(length, unit), syntax.Duration(period, unit), by_first)
    return replace(query, within=None, slide=None, span=span)


def with_offset(dice: Dice, query: syntax.Query) -> syntax.Query:
    """Return the query with an OFFSET; one in ten has one."""
    if not dice.chance(0.1, OFFSET, _SPAN_OFFSET):
        return query
    step = query.span.period if query.span else query.slide or query.within
    assert isinstance(step, syntax.Duration)
    offsets = (0, 1, int(step.amount) // 3, int(step.amount) // 2, int(step.amount) - 1)
    offset = min(dice.pick(offsets), int(step.amount) - 1)
    return replace(query, offset=syntax.Duration(offset, step.unit))


def spans_in(query: BoundQuery, others: set[str]) -> set[str]:
    """What a query with a span has, given all other constructs."""
    if query.window.span is None:
        return {OFFSET} if query.window.offset else set()
    found = {_SPAN_OFFSET} if query.window.offset else set()
    found |= {"span"} | {_WITH + name for name in others & set(_TOGETHER)}
    found |= {"span BY FIRST"} if query.window.span.by_first else set()
    found |= {_BOTH_ENDS} if {"NOT leading", "NOT trailing"} <= others else set()
    return found | ({_MEASURE} if query.measured else set())
