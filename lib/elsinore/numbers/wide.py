"""Integers of L 64-bit limbs (little-endian, two's complement) and doubles with wide exponents.

Every addition reports if a value no longer fits with two bits to spare, so no value wraps
unnoticed.
"""

from __future__ import annotations

import math

import numpy as np

from elsinore.numbers.compiled import inlined, outlined

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ROOM = 2**62


@inlined
def crowded(limb):
    """Return whether a value with this highest limb has fewer than two bits to spare."""
    top = np.int64(limb)
    return top >= _ROOM or top < -_ROOM


@inlined
def add_wide(target, more):
    """Add `more` to `target`, uint64[L] each; return True if the result needs more limbs."""
    carry = _ZERO
    for i in range(target.size):
        partial = target[i] + more[i]
        wrapped = _ONE if partial < more[i] else _ZERO
        target[i] = partial + carry
        carry = wrapped + (_ONE if target[i] < partial else _ZERO)
    return crowded(target[target.size - 1])


@inlined
def multiply(left, right):
    """Return the high and low halves of a 64 x 64 bit product."""
    a, b = left >> _HALF, left & _LOW
    c, d = right >> _HALF, right & _LOW
    low = b * d
    middle = a * d + (low >> _HALF)
    other = b * c + (middle & _LOW)
    return a * c + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (low & _LOW)


@outlined
def add_product(target, count, weight, scratch):
    """Add `count * weight` to `target`, uint64[L]; return True if it is crowded.

    `count` is uint64[L] in two's complement; `weight` is int64 and not 0.
    """
    size = target.size
    factor = np.uint64(weight) if weight >= 0 else np.uint64(-(weight + 1)) + _ONE
    carry = _ZERO
    for i in range(size):
        high, low = multiply(count[i], factor)
        scratch[i] = low + carry
        carry = high + (_ONE if scratch[i] < low else _ZERO)
    # A negative count is 2**(64 * L) too large, and so the product is `factor` times that.
    spare = factor - _ONE if np.int64(count[size - 1]) < 0 else _ZERO
    if carry != spare or crowded(scratch[size - 1]):
        return True
    if weight < 0:  # two's complement: invert and add one
        carry = _ONE
        for i in range(size):
            scratch[i] = ~scratch[i] + carry
            carry = _ONE if carry == _ONE and scratch[i] == _ZERO else _ZERO
    return add_wide(target, scratch)


@inlined
def is_zero(limbs):
    """Return whether all limbs are 0."""
    for i in range(limbs.size):  # noqa: SIM110 (numba compiles the loop, not any())
        if limbs[i] != _ZERO:
            return False
    return True


@outlined
def normal(mantissa, exponent):
    """Return the same value with a mantissa in [0.5, 1), or 0, or not finite."""
    if mantissa == 0.0 or not math.isfinite(mantissa):
        return mantissa, 0
    fraction, shift = math.frexp(mantissa)
    return fraction, exponent + shift


@outlined
def to_scaled(limbs):
    """Return a count that is not negative as (mantissa, exponent), from its top 128 bits."""
    top = limbs.size - 1
    while top > 0 and limbs[top] == _ZERO:
        top -= 1
    value = np.float64(limbs[top])
    if top == 0:
        return normal(value, 0)
    return normal(value * 2.0**64 + np.float64(limbs[top - 1]), 64 * (top - 1))


@outlined
def add_scaled(left, left_exponent, right, right_exponent):
    """Return the sum of two scaled doubles."""
    if not math.isfinite(left) or not math.isfinite(right):
        return left + right, 0
    if left == 0.0:
        return right, right_exponent
    if right == 0.0:
        return left, left_exponent
    if left_exponent >= right_exponent:
        distance = int(max(right_exponent - left_exponent, -1100))
        return normal(left + math.ldexp(right, distance), left_exponent)
    distance = int(max(left_exponent - right_exponent, -1100))
    return normal(right + math.ldexp(left, distance), right_exponent)
