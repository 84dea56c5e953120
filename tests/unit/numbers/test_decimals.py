"""Decimal text of integers in two's complement, of any sign and width."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from elsinore.executors.output.window_rows import WindowRows
from elsinore.numbers.exact_columns import from_limbs, from_python, to_python, to_text


@pytest.fixture(autouse=True)
def _python_converts_all() -> Iterator[None]:
    """Compare with Python's own conversion, which refuses long integers otherwise."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("bits", [1, 27, 63, 64, 127, 500, 2_001, 17_920, 20_000])
def test_texts_are_those_of_python(bits: int) -> None:
    """Also of the extremes of a width, of powers of ten and those about them, odd in number."""
    dice = Random(bits)
    highest = (1 << bits) - 1
    values = [0, 1, -1, highest, -highest, -highest - 1]
    values += [dice.getrandbits(dice.randint(1, bits)) * dice.choice((1, -1)) for _ in range(400)]
    values += [10**n - more for n in range(1, bits * 3 // 10, 1 + bits // 40) for more in (0, 1)]
    values = values[: len(values) // 2 * 2 - 1]
    limbs = limbs_of(values, bits // 64 + 1)
    found = to_text(from_limbs(limbs[:, None])[0])
    assert found.equals(to_text(from_python(values)))
    assert found.to_pylist() == [str(value) for value in values[: len(found)]]


def limbs_of(values: list[int], limbs: int) -> np.ndarray:
    """uint64[R, L], in two's complement."""
    held = b"".join(value.to_bytes(8 * limbs, "little", signed=True) for value in values)
    return np.frombuffer(held, np.uint64).reshape(len(values), limbs)


def test_few_wide_ones_go_another_way() -> None:
    values = [3**20_000, -(3**20_000)]
    found = to_text(from_limbs(limbs_of(values, 600)[:, None])[0])
    assert found.to_pylist() == [str(value) for value in values]


def test_rows_of_different_widths_are_joined() -> None:
    parts = [_rows(np.array([[5], [-7]])), _rows(limbs_of([2**70], 2)[:, None])]
    (joined,) = from_limbs(WindowRows.joined(parts).counts)
    assert to_python(joined).tolist() == [5, -7, 2**70]


def _rows(counts: np.ndarray) -> WindowRows:
    size = counts.shape[0]
    nothing = np.zeros((size, 0))
    return WindowRows(np.zeros((size, 3), np.int64), counts, nothing, nothing, nothing)
