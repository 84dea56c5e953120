"""Every golden case by the reference and every way to run it: its rows, or a refusal by name."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import pytest

from elsinore.errors import UnsupportedQueryError
from elsinore.executors.plan import REFUSALS, Executor, require
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.template.support import aseq_refusals, greta_refusals
from tests.golden_cases import GoldenCase, case_names, golden_cases, row_texts
from tests.property.ways import ways

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

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
#: Those of fixed length, and some of those that ask nothing of pairs of events.
FIXED = [name for name in FIGURES if name.startswith("Sharon figure")]
SWEPT = {
    *("GRETA figure 4a", "GRETA figure 4b", "GRETA figure 6", "GRETA section 9, star"),
    *("Hamlet table 3, a burst of a Kleene type", "Sharon figure 7"),
}


@cache
def _cases_by_name() -> dict[str, GoldenCase]:
    """Return the cases of the reference."""
    return {case.name: case for case in golden_cases("twostep")}


def _with_twin(case: GoldenCase) -> Workload:
    """The query beside a second one like it, so that there is something to share."""
    clauses = case.query.text.split("\n", 1)[1]
    return read_workload(f"QUERY q {clauses} QUERY twin {clauses}", case.events.schema)


@pytest.mark.slow
@pytest.mark.parametrize("name", case_names("twostep"))
def test_the_rows_worked_out_by_hand_or_a_refusal_by_name(name: str) -> None:
    """By itself and beside its twin, which greta and aseq run as they do one alone.

    Greta refuses none of its cases, for all have one meaning.
    """
    case = _cases_by_name()[name]
    assert row_texts(two_step(case.query, case.events)) == case.rows
    assert not greta_refusals(case.query) or case.executors == ("twostep",)
    for workload in (Workload(case.events.schema, (case.query,)), _with_twin(case)):
        found = ways(workload, case.events, case.name, plans=len(workload.queries))
        same = ("greta", "aseq") if len(workload.queries) == 1 else ()
        for way in (way for way in found if not way.name.startswith(same)):
            rows = way.rows(case.events)
            assert row_texts(row for row in rows if row.query == "q") == case.rows, way.name
            each = Counter(row.query for row in rows)
            assert {each[query.name] for query in way.queries} == {len(case.rows)}, way.name
        for executor, refusals in REFUSALS.items():
            names = {way.name.split(",")[0] for way in found}
            if refusals(case.query):
                _assert_refused(workload, executor)
            else:
                require(workload.queries, executor)
                assert executor in names or executor.startswith("hamlet") or not len(case.events)


def _assert_refused(workload: Workload, executor: Executor) -> None:
    with pytest.raises(UnsupportedQueryError) as refusal:
        require(workload.queries, executor)
    assert refusal.value.fields["executor"] == executor
    assert refusal.value.fields["queries"] == tuple(query.name for query in workload.queries)
    said = re.findall(rf"{executor} cannot run (q|twin): ", str(refusal.value))
    assert len(said) == len(workload.queries)


def test_every_case_has_a_test() -> None:
    assert [*_cases_by_name()] == case_names("twostep")


def test_every_figure_of_the_papers_is_a_case() -> None:
    for executor in ("greta", "twostep"):
        cases = {case.name: case.query for case in golden_cases(executor)}
        assert sorted(set(FIGURES) - cases.keys()) == []
        assert not any(aseq_refusals(cases[name]) for name in FIXED)
        assert not any(REFUSALS[Executor.SWEEP](cases[name]) for name in SWEPT)
