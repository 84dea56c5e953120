"""Edge predicates as small programs on a stack, run by the kernels for each pair of events.

A program is int64[n, 2]: an operation and its argument. What reads only one of the two events is
worked out beforehand as a column ("slot"), so that most programs are: earlier slot, later slot,
compare. No compilation takes place per query. Truth is three-valued as in SQL.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numba import njit

MAX_STACK = 32


class Op(IntEnum):
    """Operations. `_L` works on int64, `_D` on doubles."""

    EARLIER_L = 0
    EARLIER_D = 1
    LATER_L = 2
    LATER_D = 3
    TO_DOUBLE = 4
    ADD_L = 5
    SUBTRACT_L = 6
    MULTIPLY_L = 7
    REMAINDER_L = 8
    NEGATE_L = 9
    ADD_D = 10
    SUBTRACT_D = 11
    MULTIPLY_D = 12
    DIVIDE_D = 13
    REMAINDER_D = 14
    NEGATE_D = 15
    EQUAL_L = 16
    UNEQUAL_L = 17
    LESS_L = 18
    AT_MOST_L = 19
    EQUAL_D = 20
    UNEQUAL_D = 21
    LESS_D = 22
    AT_MOST_D = 23
    AND = 24
    OR = 25
    NOT = 26
    IS_NULL = 27


_ADD_L, _SUBTRACT_L, _MULTIPLY_L = int(Op.ADD_L), int(Op.SUBTRACT_L), int(Op.MULTIPLY_L)
_REMAINDER_L, _NEGATE_L = int(Op.REMAINDER_L), int(Op.NEGATE_L)
_TO_DOUBLE, _NEGATE_D = int(Op.TO_DOUBLE), int(Op.NEGATE_D)
_NOT, _IS_NULL = int(Op.NOT), int(Op.IS_NULL)
_ADD_D, _SUBTRACT_D, _MULTIPLY_D = int(Op.ADD_D), int(Op.SUBTRACT_D), int(Op.MULTIPLY_D)
_DIVIDE_D, _REMAINDER_D = int(Op.DIVIDE_D), int(Op.REMAINDER_D)
_EQUAL_L, _EQUAL_D, _AND = int(Op.EQUAL_L), int(Op.EQUAL_D), int(Op.AND)

INT64_MIN = np.iinfo(np.int64).min
INT64_MAX = np.iinfo(np.int64).max


@njit(cache=True, forceinline=True)
def _wrapped(number):  # type: ignore[no-untyped-def]
    # Compiled signed arithmetic may assume that it never overflows; unsigned arithmetic wraps.
    return np.uint64(number)


@njit(cache=True, forceinline=True)
def _magnitude(number):  # type: ignore[no-untyped-def]
    return _wrapped(number) if number >= 0 else ~_wrapped(number) + np.uint64(1)


@njit(cache=True, forceinline=True)
def long_arithmetic(op, left, right):  # type: ignore[no-untyped-def]
    """`(value, known)` of int64 arithmetic; unknown where it overflows or has no answer."""
    if op == _ADD_L:
        value = np.int64(_wrapped(left) + _wrapped(right))
        return value, ((left ^ value) & (right ^ value)) >= 0
    if op == _SUBTRACT_L:
        value = np.int64(_wrapped(left) - _wrapped(right))
        return value, ((left ^ right) & (left ^ value)) >= 0
    if op == _REMAINDER_L:
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


@njit(cache=True, forceinline=True)
def double_arithmetic(op, left, right):  # type: ignore[no-untyped-def]
    """`(value, known)` of arithmetic on doubles; unknown for division and remainder by zero."""
    if op == _ADD_D:
        return left + right, True
    if op == _SUBTRACT_D:
        return left - right, True
    if op == _MULTIPLY_D:
        return left * right, True
    if right == 0.0:
        return 0.0, False
    if op == _DIVIDE_D:
        return left / right, True
    return np.fmod(left, right), True


@njit(cache=True, forceinline=True)
def pair_holds(  # type: ignore[no-untyped-def]
    program, earlier, later, slots_l, slots_d, known, longs, doubles, sure
):
    """Whether a program is *true* for entries `earlier` and `later`.

    Args:
        program: int64[n, 2], of `Op` and slot number.
        earlier: number of the earlier entry.
        later: number of the later entry.
        slots_l: int64[K, N], the columns read; a slot is used in one of the two kinds.
        slots_d: float64[K, N].
        known: bool[K, N], False for NULL.
        longs: scratch, int64[MAX_STACK].
        doubles: scratch, float64[MAX_STACK].
        sure: scratch, bool[MAX_STACK].
    """
    top = 0
    for step in range(program.shape[0]):
        op = program[step, 0]
        if op <= 3:
            slot = program[step, 1]
            entry = earlier if op <= 1 else later
            longs[top] = slots_l[slot, entry]
            doubles[top] = slots_d[slot, entry]
            sure[top] = known[slot, entry]
            top += 1
        elif op == _TO_DOUBLE:
            doubles[top - 1] = np.float64(longs[top - 1])
        elif op == _NOT:
            longs[top - 1] = 1 - longs[top - 1]
        elif op == _IS_NULL:
            longs[top - 1] = 0 if sure[top - 1] else 1
            sure[top - 1] = True
        elif op == _NEGATE_D:
            doubles[top - 1] = -doubles[top - 1]
        elif op == _NEGATE_L:
            sure[top - 1] = sure[top - 1] and longs[top - 1] != INT64_MIN
            longs[top - 1] = -longs[top - 1]
        else:
            top -= 1
            _binary(op, top - 1, top, longs, doubles, sure)
    return sure[0] and longs[0] != 0


@njit(cache=True, forceinline=True)
def _binary(op, a, b, longs, doubles, sure):  # type: ignore[no-untyped-def]
    """Combine stack places a and b into a."""
    both = sure[a] and sure[b]
    if op >= _AND:
        unit = 0 if op == _AND else 1  # the truth value that decides alone
        decided = (sure[a] and longs[a] == unit) or (sure[b] and longs[b] == unit)
        sure[a] = both or decided
        longs[a] = unit if decided else 1 - unit
    elif op < _ADD_D:
        longs[a], fits = long_arithmetic(op, longs[a], longs[b])
        sure[a] = both and fits
    elif op < _EQUAL_L:
        doubles[a], fits = double_arithmetic(op, doubles[a], doubles[b])
        sure[a] = both and fits
    elif op < _EQUAL_D:
        longs[a] = _compare(op - _EQUAL_L, longs[a], longs[b])
        sure[a] = both
    else:
        sure[a] = both and doubles[a] == doubles[a] and doubles[b] == doubles[b]
        longs[a] = _compare(op - _EQUAL_D, doubles[a], doubles[b])


@njit(cache=True, forceinline=True)
def _compare(which, left, right):  # type: ignore[no-untyped-def]
    if which == 0:
        return np.int64(left == right)
    if which == 1:
        return np.int64(left != right)
    if which == 2:
        return np.int64(left < right)
    return np.int64(left <= right)
