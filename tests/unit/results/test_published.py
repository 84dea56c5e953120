"""The columns of an aggregate."""

from __future__ import annotations

import math

import pytest

from elsinore.errors import DataError
from elsinore.results.published import numbers_of, same_group


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8, (8.0, "8", 3.0)),
        (-8, (-8.0, "-8", 3.0)),
        (0, (0.0, "0", None)),
        (-0.25, (-0.25, None, -2.0)),
        (2**1100, (math.inf, str(2**1100), 1100.0)),
        (-(2**1100), (-math.inf, str(-(2**1100)), 1100.0)),
        (math.inf, (math.inf, None, None)),
        (-math.inf, (-math.inf, None, None)),
        (None, (None, None, None)),
    ],
)
def test_a_number_its_digits_and_the_logarithm_of_its_size(
    value: float | None, expected: tuple[float | None, str | None, float | None]
) -> None:
    assert numbers_of(value) == expected


@pytest.mark.parametrize("text", ["{nope", "[1]", "null", "[" * 100_000])
def test_a_group_that_is_not_a_json_object_is_an_error(text: str) -> None:
    with pytest.raises(DataError, match="a result has an invalid group"):
        same_group(text, {"carrier": "UA"})
