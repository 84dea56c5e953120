"""Every golden case on the compiled executor; what it cannot run it must refuse by name."""

from __future__ import annotations

import pytest

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.errors import UnsupportedQueryError
from elsinore.query.bound import Workload
from elsinore.template.support import greta_refusals
from tests.golden_cases import GoldenCase, golden_cases, row_texts

CASES = golden_cases("greta")
REFUSED = [case for case in CASES if greta_refusals(case.query)]
RUN = [case for case in CASES if not greta_refusals(case.query)]


@pytest.mark.parametrize("case", RUN, ids=str)
def test_greta_gives_the_rows_worked_out_by_hand(case: GoldenCase) -> None:
    partial = aggregate_query(case.query, case.events)
    rows = finish(Workload(case.events.schema, (case.query,)), partial)
    assert row_texts(rows) == case.rows


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_greta_refuses_what_it_lacks(case: GoldenCase) -> None:
    with pytest.raises(UnsupportedQueryError, match="greta cannot run q"):
        aggregate_query(case.query, case.events)


def test_greta_runs_the_positive_figures_of_its_paper() -> None:
    figures = {
        "GRETA figure 4a",
        "GRETA figure 4b",
        "GRETA figure 4c",
        "GRETA figure 6",
        "edge predicate as in GRETA figure 7",
    }
    assert figures <= {case.name for case in RUN}
    assert len(RUN) >= 40
