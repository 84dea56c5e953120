"""Whether published hours are replayed."""

from __future__ import annotations

from typing import Any

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.run_params import is_worth_replaying


def found(published: int, *others: str) -> dict[str, Any]:
    return {"hours": 3, "published_hours": published, "other_queries": list(others)}


@pytest.mark.parametrize(("published", "worth"), [(0, True), (2, True), (3, False)])
def test_one_hour_that_is_not_published_is_enough(published: int, worth: bool) -> None:
    assert is_worth_replaying(found(published), force=False) is worth


@pytest.mark.parametrize("published", [0, 3])
def test_results_of_other_queries_are_never_replaced_by_accident(published: int) -> None:
    with pytest.raises(ParameterError, match=r"other queries: a, b.*set force"):
        is_worth_replaying(found(published, "a", "b"), force=False)


def test_force_replays_whatever_is_there() -> None:
    assert is_worth_replaying(found(3), force=True)
    assert is_worth_replaying(found(3, "a"), force=True)
