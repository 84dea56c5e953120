"""Sorting by packed words is sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.sorting import ascending

SMALL, LARGE = 3, 2**62
KEYS = st.integers(1, 3)


@given(
    st.lists(st.tuples(*[st.sampled_from([-LARGE, -1, 0, 1, SMALL, LARGE - 1])] * 3), max_size=30),
    KEYS,
)
def test_rows_come_by_the_first_key_then_the_next_and_stay_in_order_where_they_agree(
    rows: list[tuple[int, int, int]], number: int
) -> None:
    keys = [np.array([row[n] for row in rows], np.int64) for n in range(number)]
    expected = sorted(range(len(rows)), key=lambda row: rows[row][:number])
    assert ascending(*keys).tolist() == expected


@pytest.mark.parametrize("bits", [10, 30, 45, 62])
def test_keys_too_wide_for_one_word_are_sorted_one_after_the_other(bits: int) -> None:
    dice = np.random.default_rng(bits)
    keys = [dice.integers(0, 2**bits, 5_000) for _ in range(3)] + [np.arange(5_000)[::-1]]
    keys[0] //= 2 ** (bits - 2)
    rows = list(zip(*(key.tolist() for key in keys), strict=True))
    assert ascending(*keys).tolist() == sorted(range(5_000), key=rows.__getitem__)


def test_small_integers_of_other_widths_are_keys_too() -> None:
    assert ascending(np.array([2, 1, 2], np.int32), np.array([0, 5, -1])).tolist() == [1, 2, 0]


def test_the_range_of_small_integers_may_be_wider_than_they_are() -> None:
    ends = np.array([2**31 - 1, -(2**31), 0], np.int32)
    assert ascending(ends).tolist() == [1, 2, 0]
