"""Edge predicates as stack programs, which kernels run on pairs of events.

A program is int64[n, 2]: operations and their arguments. An expression that reads only one of the
two events is computed beforehand as a column ("slot"). So most programs are: earlier slot, later
slot, compare. Queries need no compilation. Truth is three-valued as in SQL.

Each operation is a loop over a block of earlier events. A program that is interpreted per pair
would cost a dispatch per step and pair; a block needs it once. The compiler vectorizes the loops of
the common operations. The others run pair by pair.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.numbers.arithmetic import (
    INT64_MIN,
    double_arithmetic,
    hour_of,
    long_arithmetic,
    takes_left,
    weekday_of,
)
from elsinore.numbers.compiled import inlined, ripened

#: Pairs in a block.
BLOCK = 128


class Op(IntEnum):
    """Operations; `_L` works on int64, `_D` on doubles.

    The first group pushes a value: its argument is the number of a slot, of a floor for REACHES, or
    of a closing slot for OPEN. The second group changes one value. The third group combines two.

    - REACHES: the earlier event reaches the floor of the later one.
    - OPEN: no event before the later one has closed the earlier one for this closing slot.
    - IS_TRUE: true if true, false if false or NULL.
    - LEAST, GREATEST: NULL operands are skipped, NaN ranks above all numbers.
    - COALESCE: the first value if it is known, else the second.
    - HOUR, WEEKDAY: of microseconds in UTC; Monday is 1, as in ISO.

    Arithmetic operations are in the order of the operators in `arithmetic`.
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


class Stack(NamedTuple):
    """Scratch of a program: each position has int64 (truth is 0 or 1) or doubles for a block.

    Attributes:
        longs, doubles: int64[*, BLOCK], float64[*, BLOCK].
        sure: bool[*, BLOCK], whether a value is known.
    """

    longs: np.ndarray
    doubles: np.ndarray
    sure: np.ndarray


def make_stack(program: np.ndarray, starts: np.ndarray, pairs: int) -> Stack:
    """Return a stack for programs, int64[n, 2], that begin at `starts`.

    It is empty if `pairs` is 0. Every step pushes a value, changes the top one, or combines the top
    two.
    """
    op = program[:, 0]
    held = np.cumsum((op <= Op.OPEN).astype(np.int64) - (op >= Op.AND))
    held -= np.repeat(np.arange(starts.size - 1), np.diff(starts))  # each earlier one left a value
    shape = int(held.max(initial=0)) if pairs else 0, BLOCK
    return Stack(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape, np.bool_))


@inlined
def run_step(program, step, graph, entries, later, stack, top):
    """Run an operation on a block of earlier entries and a later one; return the next step and top.

    A comparison of two slots is one step: an event with 25 pairs takes 290 ns, in three steps 420
    ns. `graph` has the slots. `Op.REACHES` and `Op.OPEN` need more data and are not supported.
    """
    op, slot = program[step, 0], program[step, 1]
    if _compares_slots(program, step):
        _compare_slots(program, step, graph, entries, later, place_of(stack, top))
        return step + 3, top + 1
    if op <= Op.LATER_D:
        place = place_of(stack, top)
        longs, doubles, known = graph.slots_l[slot], graph.slots_d[slot], graph.known[slot]
        if op >= Op.LATER_L:
            _spread(op, longs[later], doubles[later], known[later], entries.size, place)
        else:
            _collect(op, longs, doubles, known, entries, place)
        return step + 1, top + 1
    if op < Op.AND:
        _change(op, entries.size, place_of(stack, top - 1))
        return step + 1, top
    _combine(op, entries.size, place_of(stack, top - 2), place_of(stack, top - 1))
    return step + 1, top - 1


@inlined
def _compares_slots(program, step):
    """Return whether three steps from `step` compare a slot of the earlier event with the later."""
    if step + 2 >= program.shape[0] or program[step, 0] > Op.LATER_D:
        return False
    first, second, last = program[step, 0], program[step + 1, 0], program[step + 2, 0]
    of_both = second <= Op.LATER_D and abs(first - second) == Op.LATER_L - Op.EARLIER_L
    return of_both and last >= Op.EQUAL_L and last <= Op.AT_MOST_D


@inlined
def _compare_slots(program, step, graph, entries, later, stack):
    flipped = program[step, 0] >= Op.LATER_L
    own, other = program[step, 1], program[step + 1, 1]
    if flipped:
        own, other = other, own
    op, known, is_known = program[step + 2, 0], graph.known[own], graph.known[other, later]
    if op < Op.EQUAL_D:
        values, bound = graph.slots_l[own], graph.slots_l[other, later]
        _compare_all(op - Op.EQUAL_L, flipped, values, bound, known, is_known, entries, stack)
    else:
        numbers, limit = graph.slots_d[own], graph.slots_d[other, later]
        _compare_all(op - Op.EQUAL_D, flipped, numbers, limit, known, is_known, entries, stack)


@ripened
def _compare_all(which, flipped, values, bound, known, is_known, entries, stack):
    """Compare values of entries with one bound; `which` is in the order of the operations."""
    for i in range(entries.size):
        entry = np.uintp(entries[i])
        value = values[entry]
        left, right = (bound, value) if flipped else (value, bound)
        if which == 0:
            stack.longs[i] = left == right
        elif which == 1:
            stack.longs[i] = left != right
        elif which == 2:
            stack.longs[i] = left < right
        else:
            stack.longs[i] = left <= right
        stack.sure[i] = is_known and known[entry] and value == value and bound == bound


@inlined
def place_of(stack, number):
    """Return one position of the stack."""
    return Stack(stack.longs[number], stack.doubles[number], stack.sure[number])


@ripened
def _spread(op, number, value, is_known, size, stack):
    """Write the later event's value for every pair."""
    longs, doubles, sure = stack
    for i in range(size):
        sure[i] = is_known
    if op == Op.LATER_D:
        for i in range(size):
            doubles[i] = value
    else:
        for i in range(size):
            longs[i] = number


@ripened
def _collect(op, slot_l, slot_d, known, entries, stack):
    """Write the earlier events' values."""
    longs, doubles, sure = stack
    if op == Op.EARLIER_D:
        for i in range(entries.size):
            doubles[i] = slot_d[np.uintp(entries[i])]
            sure[i] = known[np.uintp(entries[i])]
    else:
        for i in range(entries.size):
            longs[i] = slot_l[np.uintp(entries[i])]
            sure[i] = known[np.uintp(entries[i])]


@ripened
def _change(op, size, stack):
    """Apply an operation to one operand."""
    longs, doubles, sure = stack
    if op == Op.NOT:
        for i in range(size):
            longs[i] = 1 - longs[i]
        return
    for i in range(size):
        if op == Op.TO_DOUBLE:
            doubles[i] = np.float64(longs[i])
        elif op == Op.IS_NULL:
            longs[i] = not sure[i]
            sure[i] = True
        elif op == Op.IS_TRUE:
            longs[i] = sure[i] and longs[i] != 0
            sure[i] = True
        elif op == Op.NEGATE_D:
            doubles[i] = -doubles[i]
        elif op == Op.ABS_D:
            doubles[i] = abs(doubles[i])
        elif op == Op.HOUR_L:
            longs[i] = hour_of(longs[i])
        elif op == Op.WEEKDAY_L:
            longs[i] = weekday_of(longs[i])
        else:
            sure[i] = sure[i] and longs[i] != INT64_MIN
            longs[i] = -longs[i] if op == Op.NEGATE_L else abs(longs[i])


@ripened
def _combine(op, size, stack, more):
    """Apply an operation to two operands."""
    longs, doubles, sure = stack
    more_l, more_d, more_s = more
    if op <= Op.OR:
        unit = 0 if op == Op.AND else 1  # one such operand decides the result
        for i in range(size):
            decided = (sure[i] and longs[i] == unit) or (more_s[i] and more_l[i] == unit)
            sure[i] = (sure[i] and more_s[i]) or decided
            longs[i] = unit if decided else 1 - unit
    elif op < Op.EQUAL_D:
        _compare(op - Op.EQUAL_L, size, longs, longs, more_l)
        for i in range(size):
            sure[i] = sure[i] and more_s[i]
    elif op < Op.ADD_L:
        _compare(op - Op.EQUAL_D, size, longs, doubles, more_d)
        for i in range(size):
            numbers = doubles[i] == doubles[i] and more_d[i] == more_d[i]
            sure[i] = sure[i] and more_s[i] and numbers
    elif op < Op.LEAST_L:
        _calculate(op, size, stack, more)
    else:
        _choose(op, size, stack, more)


@ripened
def _calculate(op, size, stack, more):
    """Apply arithmetic; the most common operations have separate loops."""
    longs, doubles, sure = stack
    more_l, more_d, more_s = more
    if op <= Op.SUBTRACT_L:
        _add_longs(op == Op.SUBTRACT_L, size, longs, sure, more_l, more_s)
    elif op >= Op.ADD_D and op <= Op.MULTIPLY_D:
        for i in range(size):
            sure[i] = sure[i] and more_s[i]
            if op == Op.ADD_D:
                doubles[i] += more_d[i]
            elif op == Op.SUBTRACT_D:
                doubles[i] -= more_d[i]
            else:
                doubles[i] *= more_d[i]
    else:
        for i in range(size):
            if op < Op.ADD_D:
                longs[i], fits = long_arithmetic(op - Op.ADD_L, longs[i], more_l[i])
            else:
                doubles[i], fits = double_arithmetic(op - Op.ADD_D, doubles[i], more_d[i])
            sure[i] = sure[i] and more_s[i] and fits


@ripened
def _compare(which, size, into, left, right):
    """Write whether values are equal, unequal, less, or at most, in the order of the operations."""
    if which == 0:
        for i in range(size):
            into[i] = left[i] == right[i]
    elif which == 1:
        for i in range(size):
            into[i] = left[i] != right[i]
    elif which == 2:
        for i in range(size):
            into[i] = left[i] < right[i]
    else:
        for i in range(size):
            into[i] = left[i] <= right[i]


@ripened
def _add_longs(minus, size, longs, sure, more_l, more_s):
    """Add or subtract int64 values; a result that overflows is unknown."""
    for i in range(size):
        left, right = np.uint64(longs[i]), np.uint64(more_l[i])
        total = np.int64(left - right if minus else left + right)
        if minus:
            fits = ((longs[i] ^ more_l[i]) & (longs[i] ^ total)) >= 0
        else:
            fits = ((longs[i] ^ total) & (more_l[i] ^ total)) >= 0
        longs[i] = total
        sure[i] = sure[i] and more_s[i] and fits


@inlined
def _choose(op, size, stack, more):
    """Apply LEAST, GREATEST or COALESCE."""
    longs, doubles, sure = stack
    more_l, more_d, more_s = more
    for i in range(size):
        stays = sure[i]
        if not more_s[i]:
            continue
        if stays and op < Op.COALESCE_L:
            stays = takes_left(op == Op.GREATEST_L, longs[i], more_l[i])
        elif stays and op > Op.COALESCE_L and op < Op.COALESCE_D:
            stays = takes_left(op == Op.GREATEST_D, doubles[i], more_d[i])
        if not stays:
            longs[i], doubles[i], sure[i] = more_l[i], more_d[i], True
