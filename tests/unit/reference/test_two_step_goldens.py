"""The reference against rows worked out by hand."""

from __future__ import annotations

import pytest

from elsinore.reference.two_step import two_step
from tests.golden_cases import GoldenCase, golden_cases, row_texts


@pytest.mark.parametrize("case", golden_cases("twostep"), ids=str)
def test_golden(case: GoldenCase) -> None:
    assert row_texts(two_step(case.query, case.events)) == case.rows
