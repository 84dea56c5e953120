"""Every golden case on the compiled executor, and the figures of the papers by name."""

from __future__ import annotations

import pytest

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.query.automaton import adjacency
from elsinore.query.bound import Workload
from elsinore.template.support import greta_refusals
from tests.golden_cases import GoldenCase, bound_query, golden_cases, row_texts, stream_schema

CASES = golden_cases("greta")
LETTERS = stream_schema({letter: {} for letter in "ABCDE"})

#: The numbers that the papers give, each a golden case.
FIGURES = (
    "GRETA figure 4a",
    "GRETA figure 4b",
    "GRETA figure 4c",
    "GRETA figure 4d",
    "GRETA figure 6",
    "edge predicate as in GRETA figure 7",
    "stock down-trends, skip-till-any-match",
    "stock down-trends, skip-till-next-match",
    "stock down-trends, contiguous",
    "GRETA section 9, disjunction without overlap",
    "GRETA section 9, disjunction with one side inside of the other",
    "GRETA section 9, disjunction with overlap",
    "GRETA section 9, conjunction with overlap",
    "GRETA section 9, conjunction of equal sides",
    "GRETA section 9, conjunction over the stream of Figure 4",
    "GRETA section 9, star",
    "GRETA section 9, star as a disjunction",
    "GRETA section 9, option",
    "GRETA section 9, option as a disjunction",
    "Hamlet q1",
    "Hamlet q2",
    "Hamlet q3",
    "Sharon figure 6a before b4",
    "Sharon figure 6a after b4",
    "Sharon figure 6b",
    "Sharon figure 7",
    "Hamlet table 3, a burst of a Kleene type",
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_greta_gives_the_rows_worked_out_by_hand(case: GoldenCase) -> None:
    """No golden case is one that greta may refuse: all of them have one meaning."""
    assert greta_refusals(case.query) == ()
    partial = aggregate_query(case.query, case.events)
    rows = finish(Workload(case.events.schema, (case.query,)), partial)
    assert row_texts(rows) == case.rows


@pytest.mark.parametrize("executor", ["greta", "twostep"])
def test_every_figure_of_the_papers_is_a_case(executor: str) -> None:
    names = {case.name for case in golden_cases(executor)}
    assert sorted(set(FIGURES) - names) == []


def test_figure_3_the_template_of_the_running_example() -> None:
    """GRETA Figure 3: A starts, B ends; an a follows a's and b's, a b follows a's."""
    query = bound_query("RETURN COUNT(*) PATTERN (SEQ(A+, B))+ WITHIN 9", LETTERS)
    found = adjacency(query.pattern)
    assert (found.first, found.last) == (frozenset("A"), frozenset("B"))
    assert found.pairs == {("A", "A"), ("A", "B"), ("B", "A")}


def test_figure_5_the_templates_of_nested_negation() -> None:
    """GRETA Figure 5: the negated C and D have a transition of their own, E has none."""
    text = "RETURN COUNT(*) PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+ WITHIN 9"
    query = bound_query(text, LETTERS)
    found = adjacency(query.pattern)
    assert (found.first, found.last) == (frozenset("A"), frozenset("B"))
    assert found.pairs == {("A", "A"), ("A", "B"), ("B", "A"), ("C", "D")}
    assert [p.alias for p in query.positions if p.negated] == ["C", "E", "D"]
