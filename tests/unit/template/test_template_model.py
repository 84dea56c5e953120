"""Templates alone, without kernels: what they say of random queries against the reference."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.query.syntax import Conjunction
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.template.build import build_templates
from elsinore.template.support import greta_refusals
from elsinore.timeline import Instant
from tests.golden_cases import bound_query, stream_schema
from tests.property.random_cases import RandomCase, random_case
from tests.unit.template.template_model import Place, count_trends

SEEDS = 150


def test_templates_count_the_trends_of_the_reference() -> None:
    answered = 0
    for seed in range(SEEDS):
        case = random_case(seed)
        expected = _expected(case)
        if expected is not None:
            answered += bool(expected)
            counted = count_trends(case.query, build_templates(case.query), case.events)
            assert counted == expected, f"seed {seed}: {case.query.text}"
    assert answered > SEEDS // 3


def _expected(case: RandomCase) -> Counter[Place] | None:
    """COUNT(*) by the reference; None where it is not returned, or the query is refused."""
    query = case.query
    counts_trends = query.aggregates[0].counts_trends
    if isinstance(query.pattern, Conjunction) or not counts_trends or greta_refusals(query):
        return None
    try:
        rows = two_step(query, case.events, budget=Budget(10_000))
    except (BudgetError, UnsupportedQueryError):
        return None
    return Counter({_place(row, query.window.slide): int(str(row.values[0][1])) for row in rows})


def _place(row: ResultRow, slide: int) -> Place:
    group = [int(value) if isinstance(value, Instant) else value for _, value in row.group]
    return json.dumps(group, ensure_ascii=False), int(row.window_start) // slide


@pytest.mark.parametrize(
    ("pattern", "states"),
    [("SEQ(A a+, A b+)", 2), ("SEQ(A a+, A b+, A c+)", 3)],
)
def test_an_ambiguous_pattern_has_a_state_for_each_set_of_positions(
    pattern: str, states: int
) -> None:
    """After i events a trend of A+ A+ can be at a, or at a or b; and so on."""
    query = bound_query(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 5", stream_schema({"A": {}}))
    (template,) = build_templates(query)
    assert len(template.states) == states
