"""Integers of any size as digits of 56 bits, whose carries are put off.

A number is a row of int64 digits, the lowest first, and a size; digits beyond the size are 0. After
each operation a digit is between -2^8 and 2^56 + 2^8: all carries go on by one digit at once, which
is one pass without any order in it, so that the compiler makes it SIMD. The highest digit has the
sign. Counts that are so wide are added and shifted, hardly ever multiplied.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined

#: Bits of a digit, and of its halves.
DIGIT = 56
_HALF = 28
#: A digit may be multiplied by this.
SMALL = 60
_MASK = (1 << DIGIT) - 1
_HALF_MASK = (1 << _HALF) - 1


class Numbers(NamedTuple):
    """R integers.

    Attributes:
        digits: int64[R, *].
        sizes: int64[R], digits of each in use.
    """

    digits: np.ndarray
    sizes: np.ndarray


@inlined
def forget(target, row):
    """Set a number to 0."""
    target.digits[row, : target.sizes[row]] = 0
    target.sizes[row] = 0


@inlined
def _settle(target, row, digits, size):
    """Set a number to digits, their carries taken on by one; the highest two are carries alone."""
    out, source = target.digits[row, :size], digits[:size]
    out[0] = source[0] & _MASK
    for i in range(1, size - 1):
        out[i] = (source[i] & _MASK) + (source[i - 1] >> DIGIT)
    out[size - 1] = source[size - 1] + (source[size - 2] >> DIGIT)
    while size > 0 and (out[size - 1] == 0 or (out[size - 1] == -1 and size > 1)):
        if out[size - 1] == -1:
            out[size - 1] = 0
            out[size - 2] -= 1 << DIGIT
        size -= 1
    target.sizes[row] = size


@outlined
def copy_digits(target, row, source, other):
    """Set a number to another."""
    size, sizes = source.sizes[other], target.sizes
    out, digits = target.digits[row], source.digits[other]
    for i in range(size):
        out[i] = digits[i]
    for i in range(size, sizes[row]):
        out[i] = 0
    sizes[row] = size


@outlined
def add_digits(target, row, source, other, factor, line):
    """Add `factor` times a number to another; not more than `SMALL`. `line` is scratch."""
    length = source.sizes[other]
    if length == 0:
        return
    size = max(target.sizes[row], length) + 3
    first, second = target.digits[row, :size], source.digits[other, :length]
    out = line[:size]
    for i in range(length):
        out[i] = first[i] + factor * second[i]
    for i in range(length, size):
        out[i] = first[i]
    _settle(target, row, line, size)


@outlined
def double_digits(target, row, source, other, times, line, spare):
    """Let a burst of a state that loops bear on its count: `count = (count + f << times) - f`.

    `times` is less than `DIGIT`; `line` and `spare` are scratch.
    """
    length = source.sizes[other]
    size = max(target.sizes[row], length) + 3
    rest = DIGIT - times
    low = (1 << rest) - 1
    count, more = target.digits[row, :size], source.digits[other, :length]
    total, out = spare[:size], line[:size]
    for i in range(size):
        total[i] = count[i]
    for i in range(length):
        total[i] += more[i]
    out[0] = (total[0] & low) << times
    for i in range(1, size):
        out[i] = ((total[i] & low) << times) + (total[i - 1] >> rest)
    for i in range(length):
        out[i] -= more[i]
    _settle(target, row, line, size)


@outlined
def add_shifted(target, row, source, other, shift, less, line):
    """Add `2^shift - less` times a number to another; less is 0 or 1."""
    length = source.sizes[other]
    if length == 0:
        return
    whole, part = shift // DIGIT, shift % DIGIT
    size = max(target.sizes[row], length + whole + 1) + 2
    more, out = source.digits[other, :length], line[:size]
    own = target.digits[row, :size]
    for i in range(size):
        out[i] = own[i]
    if less:
        for i in range(length):
            out[i] -= more[i]
    if part == 0:
        moved = line[whole : whole + length]
        for i in range(length):
            moved[i] += more[i]
    else:
        rest = DIGIT - part
        low = (1 << rest) - 1
        moved, carried = line[whole : whole + length], line[whole + 1 : whole + 1 + length]
        for i in range(length):
            moved[i] += (more[i] & low) << part
        for i in range(length):
            carried[i] += more[i] >> rest
    _settle(target, row, line, size)


@outlined
def add_multiple(target, row, source, other, factor, shift, spare, line):
    """Add `factor * 2^shift` times a number to another; `spare` is one of `target` to work in."""
    rest = np.int64(factor)
    for part in range(3):
        low = rest & _HALF_MASK if part < 2 else rest
        rest >>= _HALF
        if low == 0:
            continue
        length = source.sizes[other]
        if length == 0:
            return
        size = length + 3
        more, out = source.digits[other, :length], line[:size]
        out[:] = 0
        for i in range(length):
            product = (more[i] >> _HALF) * low
            out[i] += (more[i] & _HALF_MASK) * low + ((product & _HALF_MASK) << _HALF)
            out[i + 1] += product >> _HALF
        forget(target, spare)
        _settle(target, spare, line, size)
        add_shifted(target, row, target, spare, shift + part * _HALF, 0, line)


@outlined
def top_of(source, row):
    """A number that is not negative as `(mantissa, exponent)`, from its highest digits."""
    size = source.sizes[row]
    value, taken = 0.0, min(size, 4)
    for n in range(taken):
        value = value * 2.0**DIGIT + np.float64(source.digits[row, size - 1 - n])
    return value, DIGIT * (size - taken)
