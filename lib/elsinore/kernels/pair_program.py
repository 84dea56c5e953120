"""Edge predicates as small programs on a stack, run by the kernels for each pair of events.

A program is int64[n, 2]: an operation and its argument. What reads only one of the two events is
worked out beforehand as a column ("slot"), so that most programs are: earlier slot, later slot,
compare. No compilation takes place per query. Truth is three-valued as in SQL.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.kernels.arithmetic import (
    INT64_MIN,
    double_arithmetic,
    hour_of,
    long_arithmetic,
    takes_left,
    weekday_of,
)
from elsinore.kernels.compiled import inlined

MAX_STACK = 32


class Op(IntEnum):
    """Operations. `_L` works on int64, `_D` on doubles.

    First those that push a value (their argument is a slot's number, or a floor's for REACHES),
    then those on one value, then those on two.

    REACHES: the earlier event reaches a floor as it is for the later one. OPEN: nothing before the
    later event has closed the earlier one for this closing slot. IS_TRUE: true where true, false
    where false or NULL. LEAST, GREATEST: NULL operands are skipped, NaN ranks above all numbers.
    COALESCE: the first if known, else the second. HOUR, WEEKDAY: of microseconds in UTC, weekday
    by ISO (Monday is 1). Arithmetic is in the order of `arithmetic`.
    """

    EARLIER_L = 0
    EARLIER_D = 1
    LATER_L = 2
    LATER_D = 3
    REACHES = 4
    OPEN = 5

    TO_DOUBLE = 6
    NEGATE_L = 7
    NEGATE_D = 8
    NOT = 9
    IS_NULL = 10
    IS_TRUE = 11
    ABS_L = 12
    ABS_D = 13
    HOUR_L = 14
    WEEKDAY_L = 15

    AND = 16
    OR = 17
    EQUAL_L = 18
    UNEQUAL_L = 19
    LESS_L = 20
    AT_MOST_L = 21
    EQUAL_D = 22
    UNEQUAL_D = 23
    LESS_D = 24
    AT_MOST_D = 25
    ADD_L = 26
    SUBTRACT_L = 27
    MULTIPLY_L = 28
    REMAINDER_L = 29
    ADD_D = 30
    SUBTRACT_D = 31
    MULTIPLY_D = 32
    REMAINDER_D = 33
    DIVIDE_D = 34
    LEAST_L = 35
    GREATEST_L = 36
    COALESCE_L = 37
    LEAST_D = 38
    GREATEST_D = 39
    COALESCE_D = 40


#: Comparisons in the order of their operations; what is none of these is "at most".
_EQUAL, _UNEQUAL, _LESS = range(3)


class Stack(NamedTuple):
    """Scratch of a program: each place keeps an int64 (truth is 0 or 1) or a double.

    Attributes:
        longs, doubles: int64[*], float64[*].
        sure: bool[*], whether a place's value is known.
    """

    longs: np.ndarray
    doubles: np.ndarray
    sure: np.ndarray


class Columns(NamedTuple):
    """What programs read of N entries.

    Attributes:
        times: int64[N].
        slots_l, slots_d: int64[K, N], float64[K, N]; a slot is used in one of the two kinds.
        known: bool[K, N], False for NULL.
        floors: int64[F, *], by floor and place in the window.
        closed: bool[*, *], by closing slot and place in the window.
    """

    times: np.ndarray
    slots_l: np.ndarray
    slots_d: np.ndarray
    known: np.ndarray
    floors: np.ndarray
    closed: np.ndarray


@inlined
def pair_holds(program, columns, stack, earlier, later, low):
    """Whether a program, int64[n, 2] of `Op` and its argument, is *true* for two entries.

    `low` is the window's first entry.
    """
    longs, doubles, sure = stack
    top = 0
    for step in range(program.shape[0]):
        op = program[step, 0]
        if op <= Op.LATER_D:
            slot = program[step, 1]
            entry = later if op >= Op.LATER_L else earlier
            if op % 2 == Op.EARLIER_D:  # the odd ones are doubles
                doubles[top] = columns.slots_d[slot, entry]
            else:
                longs[top] = columns.slots_l[slot, entry]
            sure[top] = columns.known[slot, entry]
            top += 1
        elif op <= Op.OPEN:
            if op == Op.REACHES:
                floor = columns.floors[program[step, 1], later - low]
                longs[top] = columns.times[earlier] >= floor
            else:
                longs[top] = not columns.closed[program[step, 1], earlier - low]
            sure[top] = True
            top += 1
        elif op < Op.AND:
            unary(op, top - 1, stack)
        else:
            top -= 1
            binary(op, top - 1, top, stack)
    return sure[0] and longs[0] != 0


@inlined
def unary(op, a, stack):
    """Change stack place a."""
    longs, doubles, sure = stack
    if op == Op.TO_DOUBLE:
        doubles[a] = np.float64(longs[a])
    elif op == Op.NOT:
        longs[a] = 1 - longs[a]
    elif op == Op.IS_NULL:
        longs[a] = 0 if sure[a] else 1
        sure[a] = True
    elif op == Op.IS_TRUE:
        longs[a] = 1 if sure[a] and longs[a] != 0 else 0
        sure[a] = True
    elif op == Op.NEGATE_D:
        doubles[a] = -doubles[a]
    elif op == Op.ABS_D:
        doubles[a] = abs(doubles[a])
    elif op == Op.NEGATE_L:
        sure[a] = sure[a] and longs[a] != INT64_MIN
        longs[a] = -longs[a]
    elif op == Op.ABS_L:
        sure[a] = sure[a] and longs[a] != INT64_MIN
        longs[a] = abs(longs[a])
    else:
        longs[a] = hour_of(longs[a]) if op == Op.HOUR_L else weekday_of(longs[a])


@inlined
def binary(op, a, b, stack):
    """Combine stack places a and b into a."""
    longs, doubles, sure = stack
    both = sure[a] and sure[b]
    if op <= Op.OR:
        unit = 0 if op == Op.AND else 1  # the truth value that decides alone
        decided = (sure[a] and longs[a] == unit) or (sure[b] and longs[b] == unit)
        sure[a] = both or decided
        longs[a] = unit if decided else 1 - unit
    elif op < Op.EQUAL_D:
        longs[a] = compare(op - Op.EQUAL_L, longs[a], longs[b])
        sure[a] = both
    elif op < Op.ADD_L:
        sure[a] = both and doubles[a] == doubles[a] and doubles[b] == doubles[b]
        longs[a] = compare(op - Op.EQUAL_D, doubles[a], doubles[b])
    elif op < Op.ADD_D:
        longs[a], fits = long_arithmetic(op - Op.ADD_L, longs[a], longs[b])
        sure[a] = both and fits
    elif op < Op.LEAST_L:
        doubles[a], fits = double_arithmetic(op - Op.ADD_D, doubles[a], doubles[b])
        sure[a] = both and fits
    else:
        _choose(op, a, b, stack)


@inlined
def _choose(op, a, b, stack):
    """LEAST, GREATEST or COALESCE of stack places a and b."""
    longs, doubles, sure = stack
    if not sure[b]:
        return
    stays = sure[a]
    if stays and op < Op.COALESCE_L:
        stays = takes_left(op == Op.GREATEST_L, longs[a], longs[b])
    elif stays and op > Op.COALESCE_L and op < Op.COALESCE_D:
        stays = takes_left(op == Op.GREATEST_D, doubles[a], doubles[b])
    if not stays:
        longs[a] = longs[b]
        doubles[a] = doubles[b]
        sure[a] = True


@inlined
def compare(which, left, right):
    """1 where two values are equal, unequal, less or at most, else 0."""
    if which == _EQUAL:
        return np.int64(left == right)
    if which == _UNEQUAL:
        return np.int64(left != right)
    if which == _LESS:
        return np.int64(left < right)
    return np.int64(left <= right)
