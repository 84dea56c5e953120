"""Digits of 56 bits against Python's integers."""

from __future__ import annotations

import random

import numpy as np
import pytest

from elsinore.executors.linear.kernels.digits import (
    DIGIT,
    SMALL,
    add,
    add_multiple,
    add_shifted,
    as_scaled,
    double_digits,
)
from elsinore.numbers.compiled import kernel

ADD, SHIFT, MULTIPLY, DOUBLE = range(4)
ROOM = 60


@kernel
def _operate(kind, numbers, row, other, number, less, spare):  # type: ignore[no-untyped-def]
    if kind == ADD:
        add(numbers, row, numbers, other, number, spare)
    elif kind == SHIFT:
        add_shifted(numbers[row], numbers[other], number, less, spare[0])
    elif kind == MULTIPLY:
        add_multiple(numbers[row], numbers[other], number, less, spare)
    else:
        double_digits(numbers[row], numbers[other], number, spare)


@kernel
def _top(numbers, row, out):  # type: ignore[no-untyped-def]
    out[0], out[1] = as_scaled(numbers, row)


def _value(number: np.ndarray) -> int:
    return sum(int(digit) << (DIGIT * n) for n, digit in enumerate(number[1:]))


@pytest.mark.slow
def test_operations_are_those_of_integers_and_sizes_do_not_creep() -> None:
    for seed in range(150):
        dice = random.Random(seed)
        numbers, spare = np.zeros((4, 1 + ROOM), np.int64), np.zeros((3, 1 + ROOM), np.int64)
        numbers[0, :2] = 1
        values = [1, 0, 0, 0]
        for _ in range(60):
            row, other = dice.sample(range(4), 2)
            kind, less = dice.randrange(4), dice.randrange(2)
            small = max(abs(value).bit_length() for value in values) > 1_500
            if kind == ADD:
                number = 1 if small else dice.choice((1, 2, 7, SMALL, SMALL + 1, -1))
                values[row] += number * values[other]
            elif kind == SHIFT:
                number = 0 if small else dice.choice((1, 3, 28, 55, 56, 57, 112))
                values[row] += (values[other] << number) - less * values[other]
            elif kind == MULTIPLY:
                number = (
                    -1 if small else dice.choice((1, -1, 2**62, -(2**63), 2**28, 12_345_678_901))
                )
                less = 0 if small else dice.choice((0, 5, 56))
                values[row] += (values[other] * number) << less
            else:
                number = 1 if small else dice.choice((1, 7, 52))
                values[row] = ((values[row] + values[other]) << number) - values[other]
            _operate(kind, numbers, row, other, number, less, spare)
            assert list(map(_value, numbers)) == values
            for n, value in enumerate(values):
                size = int(numbers[n, 0])
                assert not numbers[n, 1 + size :].any()
                assert size <= abs(value).bit_length() // DIGIT + 2


def test_the_highest_digits_as_a_scaled_double() -> None:
    for bits in (1, 50, 56, 57, 200, 1_000):
        numbers = np.zeros((1, 1 + ROOM), np.int64)
        value = (1 << bits) - 1
        for place in range(-(-bits // DIGIT)):
            numbers[0, 1 + place] = value >> (DIGIT * place) & ((1 << DIGIT) - 1)
            numbers[0, 0] = place + 1
        out = np.zeros(2)
        _top(numbers, 0, out)
        assert out[0] * 2.0 ** (out[1] - bits) == float(value / (1 << bits))
