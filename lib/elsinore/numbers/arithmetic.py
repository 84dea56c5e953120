"""Arithmetic and scalar functions for kernels, with SQL's rules for NULL.

Arithmetic returns `(value, known)`. If `known` is False, the result is NULL.
"""

from __future__ import annotations

import numpy as np

from elsinore.numbers.compiled import inlined, kernel

INT64_MIN = np.iinfo(np.int64).min
INT64_MAX = np.iinfo(np.int64).max

#: Operators. int64 supports the first four, doubles support all.
PLUS, MINUS, TIMES, REMAINDER, DIVIDE = range(5)

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR


@inlined
def _wrapped(number):
    # Compiled signed arithmetic may assume that it never overflows; unsigned arithmetic wraps.
    return np.uint64(number)


@inlined
def _magnitude(number):
    return _wrapped(number) if number >= 0 else ~_wrapped(number) + np.uint64(1)


@inlined
def long_arithmetic(op, left, right):
    """Return `(value, known)` of int64 `+ - * %`.

    `known` is False if the result overflows or the divisor is 0.
    """
    if op == PLUS:
        value = np.int64(_wrapped(left) + _wrapped(right))
        return value, ((left ^ value) & (right ^ value)) >= 0
    if op == MINUS:
        value = np.int64(_wrapped(left) - _wrapped(right))
        return value, ((left ^ right) & (left ^ value)) >= 0
    if op == REMAINDER:
        if right == 0:
            return np.int64(0), False
        if right == -1:
            return np.int64(0), True
        value = left % right  # floored; SQL's remainder has the sign of the dividend
        if value != 0 and (value ^ left) < 0:
            value -= right
        return value, True
    if left == 0 or right == 0:
        return np.int64(0), True
    limit = np.uint64(INT64_MAX) + np.uint64((left < 0) != (right < 0))
    fits = _magnitude(left) <= limit // _magnitude(right)
    return np.int64(_wrapped(left) * _wrapped(right)), fits


@inlined
def double_arithmetic(op, left, right):
    """Return `(value, known)` of double arithmetic; division and remainder by 0 are unknown."""
    if op == PLUS:
        return left + right, True
    if op == MINUS:
        return left - right, True
    if op == TIMES:
        return left * right, True
    if right == 0.0:
        return 0.0, False
    if op == DIVIDE:
        return left / right, True
    return np.fmod(left, right), True


@inlined
def takes_left(greatest, left, right):
    """Return whether LEAST (or GREATEST, if `greatest`) of two known values is the left one.

    NaN ranks above all numbers.
    """
    if left != left:
        return greatest
    if right != right:
        return not greatest
    return left >= right if greatest else left <= right


@inlined
def hour_of(microseconds):
    """Return the UTC hour of the day, 0 to 23, of microseconds since 1970 (negative ones too)."""
    return microseconds // _HOUR % 24


@inlined
def weekday_of(microseconds):
    """Return the ISO day of the week in UTC, Monday 1 to Sunday 7, of microseconds since 1970."""
    return (microseconds // _DAY + 3) % 7 + 1  # 1970-01-01 was a Thursday


# ---- columns

_OPS = {"+": PLUS, "-": MINUS, "*": TIMES, "%": REMAINDER}


@kernel
def _fill(op, left, right, values, fits):
    for i in range(values.size):
        values[i], fits[i] = long_arithmetic(op, left[i], right[i])


def long_columns(
    operator: str, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Apply an int64 operator to two columns.

    Args:
        operator: one of `+ - * %`.
        left: int64[N].
        right: int64[N].

    Returns:
        `(int64[N], bool[N])`: the results, and whether each one is exact.
    """
    values = np.empty(left.size, np.int64)
    fits = np.empty(left.size, np.bool_)
    # A repeated constant is not writable, which would compile the kernel for more types.
    operands = (np.require(each, np.int64, ["C", "W"]) for each in (left, right))
    _fill(_OPS[operator], *operands, values, fits)
    return values, fits
