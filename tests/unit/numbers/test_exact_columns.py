"""Columns of integers of any size, compared with Python's integers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elsinore.numbers.exact_columns import (
    Integers,
    from_limbs,
    nearest_doubles,
    ratios,
    sum_segments,
    to_python,
    to_scaled,
    to_text,
    wide_rows,
)
from elsinore.results.row import nearest_double
from tests.draws import draws


def limbs_of(values: Sequence[int], limbs: int) -> np.ndarray:
    """uint64[R, L], in two's complement."""
    held = b"".join(value.to_bytes(8 * limbs, "little", signed=True) for value in values)
    return np.frombuffer(held, np.uint64).reshape(len(values), limbs)


def column(values: Sequence[int], spare: int = 0) -> Integers:
    """A column made of limbs that all have the width of the widest value, and some more."""
    widest = max((max(n, ~n).bit_length() // 64 + 1 for n in values), default=1)
    (made,) = from_limbs(limbs_of(values, widest + spare)[:, None])
    return made


def values_of(made: Integers) -> list[int]:
    """The values, if each is stored in the narrowest format and bands are in order."""
    assert made.small.dtype == np.int64
    widths = [band.limbs.shape[1] for band in made.wide]
    assert widths == sorted(set(widths))
    seen: set[int] = set()
    for band, width in zip(made.wide, widths, strict=True):
        assert band.rows.size == band.limbs.shape[0] > 0
        assert (np.diff(band.rows) > 0).all()
        assert seen.isdisjoint(band.rows.tolist())
        seen.update(band.rows.tolist())
        assert not made.small[band.rows].any()
        assert width & (width - 1) == 0
        for limbs in band.limbs:
            value = int.from_bytes(limbs.tobytes(), "little", signed=True)
            assert not -(2 ** (32 * width - 1)) <= value < 2 ** (32 * width - 1)
    return to_python(made).tolist()


#: Values at the borders of halves, limbs and bands, and any others.
BORDERS = [31, 32, 33, 62, 63, 64, 95, 96, 127, 128, 129, 191, 192, 255, 256, 511, 512, 10_047]
at_borders = st.builds(
    lambda bits, more, sign: sign * (2**bits + more),
    st.sampled_from(BORDERS), st.integers(-2, 2), st.sampled_from([1, -1]),
)  # fmt: skip
near_zero = st.integers(-3, 3)
of_64_bits = st.integers(-(2**63), 2**63 - 1)
integers = near_zero | of_64_bits | at_borders | st.integers(-(2**300), 2**300)
cases = settings(max_examples=draws(100, 4_000))


@st.composite
def segments(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Rows, and where segments of them begin."""
    parts = draw(st.lists(st.lists(integers, min_size=1, max_size=6), max_size=6))
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    return [n for part in parts for n in part], ends[:-1]


def sums_of(rows: Sequence[int], begins: Sequence[int]) -> list[int]:
    return [sum(rows[low:high]) for low, high in pairwise([*begins, len(rows)])]


# ---- sums of segments


@cases
@given(segments())
@example(([2**63 - 1, 1], [0]))
@example(([-(2**63), -1, -(2**63), 2**63], [0, 2]))
@example(([2**32 - 1, 1, 2**64 - 1, 1, 2**128 - 1, 1], [0, 2, 4]))
@example(([2**64, -(2**64)], [0]))
@example(([2**10_047, 7, -(2**10_047)], [0]))
@example(([0xFFFFFFFF] * 9, [0]))
def test_sums_are_those_of_python(case: tuple[list[int], list[int]]) -> None:
    rows, begins = case
    found = sum_segments(column(rows), np.array(begins, np.int64))
    assert values_of(found) == sums_of(rows, begins)


def test_many_rows_of_the_largest_values() -> None:
    size = 100_000
    rows = np.full(size, 2**63 - 1)
    found = sum_segments(Integers(rows), np.array([0, 1, size // 2]))
    half = size // 2
    assert values_of(found) == [(2**63 - 1) * n for n in (1, half - 1, half)]
    found = sum_segments(Integers(~rows), np.array([0]))
    assert values_of(found) == [-(2**63) * size]
    found = sum_segments(column([2**256 - 1] * 1_000 + [-(2**255)] * 1_000), np.array([0, 1_000]))
    assert values_of(found) == [(2**256 - 1) * 1_000, -(2**255) * 1_000]


def test_single_row_and_no_row() -> None:
    nothing = Integers(np.empty(0, np.int64))
    assert values_of(sum_segments(nothing, np.empty(0, np.int64))) == []
    for value in (0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**10_048):
        assert values_of(sum_segments(column([value]), np.array([0]))) == [value]


def test_one_very_wide_row_does_not_pad_the_others() -> None:
    rows = np.arange(100_000)
    made = Integers.joined([Integers(rows), column([2**10_047, 2**70])])
    assert [band.limbs.shape for band in made.wide] == [(1, 2), (1, 256)]
    found = sum_segments(made, np.arange(0, 100_002, 2))
    assert [band.limbs.shape for band in found.wide] == [(1, 256)]
    assert found.small.nbytes == 8 * 50_001


# ---- operations on rows


@cases
@given(st.lists(st.tuples(integers, integers), max_size=8))
@example([(2**63 - 1, 1), (-(2**63), -1), (2**32, 2**31), (-(2**63), -1), (2**64, 0)])
@example([(2**62, 2), (-(2**62), 2), (2**31, 2**31), (3, 2**61), (2**64, 2**64)])
def test_sums_and_products_of_two_columns(rows: list[tuple[int, int]]) -> None:
    left, right = (column([pair[n] for pair in rows]) for n in (0, 1))
    assert values_of(left.plus(right)) == [a + b for a, b in rows]
    assert values_of(left.times(right)) == [a * b for a, b in rows]


@cases
@given(st.lists(integers, min_size=1, max_size=8), st.data())
def test_rows_are_taken_and_joined(rows: list[int], data: st.DataObject) -> None:
    made = column(rows, spare=data.draw(st.integers(0, 3)))
    assert values_of(made) == rows
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=12))
    taken = made.take(np.array(places, np.int64))
    assert values_of(taken) == [rows[place] for place in places]
    joined = Integers.joined([taken, made, made.zero(2), made.zero(0)])
    assert values_of(joined) == [*(rows[place] for place in places), *rows, 0, 0]
    assert (len(joined), joined.nonzero.tolist()) == (
        len(places) + len(rows) + 2, [n != 0 for n in values_of(joined)],
    )  # fmt: skip


# ---- conversions


@pytest.fixture(scope="module", autouse=True)
def _python_converts_all() -> Iterator[None]:
    """Compare with Python's own conversion, which refuses long integers otherwise."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


@cases
@given(st.lists(integers, max_size=8))
def test_text_is_that_of_python(rows: list[int]) -> None:
    text = to_text(column(rows))
    assert (text.type, text.to_pylist()) == (pa.string(), [str(n) for n in rows])
    places, wide = wide_rows(column(rows))
    assert wide == [rows[place] for place in places.tolist()]
    assert wide == [n for n in rows if not -(2**63) <= n < 2**63]


def test_columns_of_one_width() -> None:
    counts = np.array([[5, -7], [2**63 - 1, -(2**63)]])
    assert [values_of(each) for each in from_limbs(counts)] == counts.T.tolist()
    assert all(each.small.flags.c_contiguous for each in from_limbs(counts))
    wide = np.stack([limbs_of([2**70, -1], 3), limbs_of([-(2**130), 2**63], 3)], axis=1)
    assert [values_of(each) for each in from_limbs(wide)] == [[2**70, -1], [-(2**130), 2**63]]
    assert from_limbs(np.zeros((3, 0), np.int64)) == from_limbs(np.zeros((0, 0, 2), np.uint64))
    (empty,) = from_limbs(np.zeros((0, 1, 2), np.uint64))
    assert values_of(empty) == []


def test_integers_without_wide_rows_stay_numbers() -> None:
    assert to_python(column([1, -2])).dtype == np.int64
    assert to_python(column([1, 2**63])).dtype == object


@cases
@given(st.lists(integers, max_size=8))
def test_doubles_are_the_nearest(rows: list[int]) -> None:
    made = column(rows)
    assert nearest_doubles(made).tolist() == list(map(nearest_double, rows))
    for value, mantissa, exponent in zip(rows, *to_scaled(made), strict=True):
        near = Fraction(float(mantissa)) * Fraction(2) ** int(exponent)
        assert abs(near - value) <= abs(value) * Fraction(1, 2**52)


@cases
@given(st.lists(st.tuples(integers, integers.map(abs)), max_size=8))
@example([(-(2**63), 3), (2**53 + 1, 1), (2**53 - 1, 3), (5, 2**53 + 1), (5, 0), (0, 7)])
def test_quotients_are_rounded_once(rows: list[tuple[int, int]]) -> None:
    totals, counts = (column([pair[n] for pair in rows]) for n in (0, 1))
    wanted = [nearest_double(Fraction(total, max(count, 1))) for total, count in rows]
    assert ratios(totals, counts).tolist() == wanted


def test_quotients_beyond_doubles_are_infinite() -> None:
    found = ratios(column([2**2_000, -(2**2_000)]), column([1, 1]))
    assert found.tolist() == [math.inf, -math.inf]
