"""Split what events add to exact sums into digits, which are ordinary integer weights.

A sum of products, of squares, or of doubles is exact if what each event adds is an exact integer
times a power of two. Such an integer can have thousands of bits. But a sum is linear, so the sums
of its digits are enough, and executors know only these. The values of a table decide on the width
of digits and on the power of two. A digit that is 0 for all events has no column. So ordinary
values need one to three digits, and any double can be added up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from elsinore.executors.aggregates import (
    Accumulator,
    Digit,
    DigitQuery,
    Digits,
    Source,
    Weight,
    accumulators_of,
)
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.exact import ExactColumn, exact_values
from elsinore.query.bound import BoundQuery, of_query

#: Maximum bits of a single digit; of each of several digits, whose sums should rarely exceed 64
#: bits; and of digits of numbers to be squared, because sums of their products fit 64 bits.
_ALONE, _WIDTH, _SQUARED = 62, 48, 28
#: Powers of two are multiples of this, so that the tables of one stream mostly have the same ones.
_STEP = 32
#: Bits of the mantissa of a double.
_MANTISSA = 53
_ONE = np.uint64(1)


@dataclass(frozen=True)
class _Amounts:
    """N integers times a power of two.

    Attributes:
        scale: the power.
        negative: bool[N].
        parts: the absolute value is the sum of the numbers, uint64[N], each times a power of two,
            int64[N] or a single one.
    """

    scale: int
    negative: np.ndarray
    parts: Sequence[tuple[np.ndarray, np.ndarray]]

    @property
    def bits(self) -> int:
        """Return a number of bits that holds each absolute value."""
        return max(int((_sizes(number) + shift).max(initial=0)) for number, shift in self.parts)

    def digit(self, first: int, width: int) -> np.ndarray:
        """Return int64[N], the bits from one on as a number without sign."""
        found = np.zeros(self.negative.size, np.uint64)
        for number, shift in self.parts:
            down = first - shift
            right = np.clip(down, 0, 63).astype(np.uint64)
            left = np.clip(-down, 0, 63).astype(np.uint64)
            bits = (number >> right) << left
            found |= np.where((down > 63) | (-down >= width), np.uint64(0), bits)
        return (found & np.uint64((1 << width) - 1)).view(np.int64)


def _sizes(numbers: np.ndarray) -> np.ndarray:
    """Return int64[N], at least the number of bits of each number; 0 for 0, wherever it is."""
    _, exponents = np.frexp(numbers.astype(np.float64))
    return np.where(numbers == 0, -(2**40), exponents.astype(np.int64))


def _of_integers(values: ExactColumn) -> _Amounts:
    column = values.column
    small = np.where(column.known, column.values, 0)
    negative = small < 0
    magnitudes = small.view(np.uint64)
    magnitudes = np.where(negative, ~magnitudes + _ONE, magnitudes)
    parts = [(magnitudes, np.zeros(1, np.int64))]
    if values.rows.size:
        negative[values.rows] = [value < 0 for value in values.wide]
        limbs = max(value.bit_length() for value in values.wide) // 64 + 1
        held = b"".join(abs(value).to_bytes(8 * limbs, "little") for value in values.wide)
        for number, limb in enumerate(np.frombuffer(held, np.uint64).reshape(-1, limbs).T):
            part = np.zeros(small.size, np.uint64)
            part[values.rows] = limb
            parts.append((part, np.full(1, 64 * number)))
    return _Amounts(0, negative, parts)


def _of_doubles(values: ExactColumn) -> _Amounts:
    column = values.column
    usable = column.known & np.isfinite(column.values)
    fractions, exponents = np.frexp(np.where(usable, column.values, 0.0))
    mantissas = np.abs(np.ldexp(fractions, _MANTISSA)).astype(np.uint64)
    lowest = mantissas & (~mantissas + _ONE)
    _, zeros = np.frexp(lowest.astype(np.float64))
    zeros = np.maximum(zeros.astype(np.int64) - 1, 0)
    shifts = exponents.astype(np.int64) - _MANTISSA + zeros
    mantissas = mantissas >> zeros.astype(np.uint64)
    there = mantissas != 0
    scale = int(shifts[there].min(initial=2**20)) // _STEP * _STEP if there.any() else 0
    return _Amounts(scale, fractions < 0, [(mantissas, np.where(there, shifts - scale, 0))])


# ---- columns of digits


@dataclass(frozen=True)
class _Columns:
    """The digits of what events add to an exact sum.

    Attributes:
        width, scale: see `Digit`.
        columns: int64[N] by number of the digit; the others are 0 for all events.
    """

    width: int
    scale: int
    columns: Mapping[int, np.ndarray]


def _columns_of(
    source: Source, weight: Weight, columns: EventColumns, digit: Digit | None = None
) -> _Columns:
    """Return the digits of an exact sum.

    Args:
        source: what it reads of events.
        weight: what events add.
        columns: the events.
        digit: one of the digits; None: choose their width.
    """
    values = exact_values(source, columns)
    if weight is Weight.NOT_FINITE:
        odd = values.column.known & ~np.isfinite(values.column.values)
        return _Columns(1, 0, {0: odd.astype(np.int64)} if odd.any() else {})
    is_double = values.column.values.dtype == np.float64
    amounts = _of_doubles(values) if is_double else _of_integers(values)
    squares = weight is Weight.SQUARE
    bits = amounts.bits
    if digit is not None:
        width = digit.width
        shift = amounts.scale - (digit.scale // 2 if squares else digit.scale)
        amounts = _Amounts(0, amounts.negative, [(n, s + shift) for n, s in amounts.parts])
        bits += shift
        scale = digit.scale
    else:
        widest = _SQUARED if squares else _ALONE if bits <= _ALONE else _WIDTH
        width = -(-bits // max(1, -(-bits // widest)))
        scale = 2 * amounts.scale if squares else amounts.scale
    digits = {}
    for number in range(-(-bits // width) if bits > 0 else 0):
        part = amounts.digit(number * width, width)
        if part.any():
            digits[number] = part
    if squares:
        return _Columns(width, scale, _squared(digits))
    signed = {n: np.where(amounts.negative, -part, part) for n, part in digits.items()}
    return _Columns(width, scale, signed)


def _squared(digits: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return the digits of squares; they overlap."""
    found: dict[int, np.ndarray] = {}
    for one, left in digits.items():
        for other, right in digits.items():
            if one <= other:
                product = left * right * (1 if one == other else 2)
                if product.any():
                    found[one + other] = found.get(one + other, 0) + product
    return found


def _cached(accumulator: Accumulator, columns: EventColumns) -> _Columns:
    """Return the digits of an exact sum; of a digit, those of its exact sum."""
    source, digit = accumulator.attribute, accumulator.digit
    assert source is not None
    weight = accumulator.weight if digit is None else digit.of
    if digit is None:
        return columns.once(
            ("digits", source, weight), lambda: _columns_of(source, weight, columns)
        )
    chosen = columns.once(("digits", source, weight), lambda: _columns_of(source, weight, columns))
    if (chosen.width, chosen.scale) == (digit.width, digit.scale):
        return chosen
    name = ("digits", source, weight, digit.width, digit.scale)
    return columns.once(name, lambda: _columns_of(source, weight, columns, digit))


def digit_weights(accumulator: Accumulator, columns: EventColumns) -> np.ndarray:
    """Return int64[N], the digit of each event of a table."""
    assert accumulator.digit is not None
    found = _cached(accumulator, columns).columns.get(accumulator.digit.number)
    return np.zeros(columns.times.size, np.int64) if found is None else found


# ---- queries


@dataclass
class _Variants:
    """The queries of digits that were made of a query."""

    made: dict[tuple[tuple[Digit, ...], ...], DigitQuery] = field(default_factory=dict)


@of_query
def _variants(query: BoundQuery) -> _Variants:
    return _Variants()


def in_digits(query: BoundQuery, columns: EventColumns) -> BoundQuery:
    """Return the query that executors run for a query: without exact sums, with their digits.

    `executors.output.digits.restored` turns its partial rows into rows of the query.

    Args:
        query: the query.
        columns: the events, which decide on the digits.
    """
    exact = accumulators_of(query).exact
    if not exact:
        return query
    digits: Digits = {each: _digits_of(each, columns) for each in exact}
    made = _variants(query).made
    name = tuple(digits.values())
    if name not in made:
        made[name] = DigitQuery.of(query, digits)
    return made[name]


def _digits_of(accumulator: Accumulator, columns: EventColumns) -> tuple[Digit, ...]:
    found = _cached(accumulator, columns)
    numbers = sorted(found.columns)
    return tuple(Digit(accumulator.weight, n, found.width, found.scale) for n in numbers)
