"""Every golden case of fixed length on the executors aseq and sharon."""

from __future__ import annotations

import pytest

from elsinore.engine.finish import finish
from elsinore.engine.segments import aggregate_segments
from elsinore.errors import UnsupportedQueryError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.candidates import mine_candidates
from elsinore.template.support import aseq_refusals
from tests.golden_cases import GoldenCase, golden_cases, row_texts

CASES = [case for case in golden_cases("greta") if not aseq_refusals(case.query)]
REFUSED = [case for case in golden_cases("greta") if aseq_refusals(case.query)]
FIGURES = (
    "Sharon figure 6a before b4",
    "Sharon figure 6a after b4",
    "Sharon figure 6b",
    "Sharon figure 7",
)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_the_paper_is_a_case(name: str) -> None:
    assert name in {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_aseq_gives_the_rows_worked_out_by_hand(case: GoldenCase) -> None:
    partial = aggregate_segments([case.query], case.events)
    rows = finish(Workload(case.events.schema, (case.query,)), partial)
    assert row_texts(rows) == case.rows


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sharon_gives_them_whatever_the_query_shares(case: GoldenCase) -> None:
    """The query beside a second one like it, under each plan of one candidate."""
    clauses = case.query.text.split("\n", 1)[1]
    workload = bind_workload(
        parse_workload(f"QUERY q {clauses} QUERY twin {clauses}"), case.events.schema
    )
    plans = [[], *([list(candidate.occurrences)] for candidate in mine_candidates(workload))]
    for shared in plans:
        rows = finish(workload, aggregate_segments(workload.queries, case.events, shared))
        assert row_texts(row for row in rows if row.query == "q") == case.rows
        assert len(rows) == 2 * len(case.rows)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_everything_else_is_refused_by_name(case: GoldenCase) -> None:
    with pytest.raises(UnsupportedQueryError, match="aseq cannot run q: ") as refusal:
        aggregate_segments([case.query], case.events)
    assert refusal.value.fields["executor"] == "aseq"
    assert refusal.value.fields["queries"] == ("q",)
