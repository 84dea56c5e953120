"""Pair programs over many earlier events at once: each operation is a loop over a block of them.

A program is a few steps; interpreting them pair by pair costs a dispatch a step and pair. Over a
block the dispatch is paid once, and the common operations are loops that the compiler vectorises.
The others go one by one through the interpreter's own functions, which also say what all of them
mean (`pair_program`).
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, ripened
from elsinore.kernels.pair_program import Op, Stack, binary, unary

#: Pairs of a block.
BLOCK = 128

_EARLIER_D, _LATER_L, _LATER_D = int(Op.EARLIER_D), int(Op.LATER_L), int(Op.LATER_D)
_AND, _OR, _NOT = int(Op.AND), int(Op.OR), int(Op.NOT)
_EQUAL_L, _UNEQUAL_L, _LESS_L = int(Op.EQUAL_L), int(Op.UNEQUAL_L), int(Op.LESS_L)
_AT_MOST_L, _EQUAL_D, _LESS_D = int(Op.AT_MOST_L), int(Op.EQUAL_D), int(Op.LESS_D)
_UNEQUAL_D, _AT_MOST_D = int(Op.UNEQUAL_D), int(Op.AT_MOST_D)
_ADD_L, _SUBTRACT_L, _REMAINDER_L = int(Op.ADD_L), int(Op.SUBTRACT_L), int(Op.REMAINDER_L)
_ADD_D, _SUBTRACT_D, _MULTIPLY_D = int(Op.ADD_D), int(Op.SUBTRACT_D), int(Op.MULTIPLY_D)


def scan(graph, block, number, start, first, last, later, into):
    """Write the places of members for which a program is true; how many they are.

    Compiled apart (`apart`), once for all rungs. The program, of that number, has no `Op.REACHES`
    and `Op.OPEN`; it is run on the members at places `first` to `last - 1` from `start` on in
    `block.entries` but for those of no trend, and writes to row `into` of `block.sets`.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    slots_l, slots_d, known = graph.slots_l, graph.slots_d, graph.known
    entries, alive = block.entries[start : start + last], block.alive[start : start + last]
    stack = Stack(block.stack.longs, block.stack.doubles, block.stack.sure)
    one = Stack(block.one.longs, block.one.doubles, block.one.sure)
    hits = block.sets[into]
    found = 0
    for begin in range(first, last, BLOCK):
        size = min(BLOCK, last - begin)
        top = 0
        for step in range(program.shape[0]):
            op, slot = program[step, 0], program[step, 1]
            if op <= _LATER_D:
                place = _place(stack, top)
                if op >= _LATER_L:
                    _spread(op, slot, later, size, slots_l, slots_d, known, place)
                else:
                    _collect(op, entries[begin : begin + size], slots_l[slot], slots_d[slot],
                             known[slot], place)  # fmt: skip
                top += 1
            elif op < _AND:
                _change(op, size, _place(stack, top - 1), one)
            else:
                top -= 1
                _combine(op, size, _place(stack, top - 1), _place(stack, top), one)
        for i in range(size):
            hits[found] = begin + i  # without a branch, which would be foretold wrongly
            found += 1 if stack.sure[0, i] and stack.longs[0, i] != 0 and alive[begin + i] else 0
    return found


@inlined
def _place(stack, number):
    return Stack(stack.longs[number], stack.doubles[number], stack.sure[number])


@ripened
def _spread(op, slot, later, size, slots_l, slots_d, known, stack):
    """The later event's value for every pair."""
    longs, doubles, sure = stack
    is_known = known[slot, later]
    if op == _LATER_D:
        value = slots_d[slot, later]
        for i in range(size):
            doubles[i] = value
            sure[i] = is_known
    else:
        number = slots_l[slot, later]
        for i in range(size):
            longs[i] = number
            sure[i] = is_known


@ripened
def _collect(op, entries, slots_l, slots_d, known, stack):
    """The earlier events' values."""
    longs, doubles, sure = stack
    if op == _EARLIER_D:
        for i in range(entries.size):
            doubles[i] = slots_d[np.uintp(entries[i])]
            sure[i] = known[np.uintp(entries[i])]
    else:
        for i in range(entries.size):
            longs[i] = slots_l[np.uintp(entries[i])]
            sure[i] = known[np.uintp(entries[i])]


@ripened
def _change(op, size, stack, one):
    """An operation on one operand."""
    longs, doubles, sure = stack
    if op == _NOT:
        for i in range(size):
            longs[i] = 1 - longs[i]
        return
    for i in range(size):
        one.longs[0], one.doubles[0], one.sure[0] = longs[i], doubles[i], sure[i]
        unary(op, 0, one)
        longs[i], doubles[i], sure[i] = one.longs[0], one.doubles[0], one.sure[0]


@ripened
def _combine(op, size, stack, more, one):
    """An operation on two operands."""
    longs, doubles, sure = stack
    more_l, more_d, more_s = more
    if op in (_AND, _OR):
        unit = 0 if op == _AND else 1
        for i in range(size):
            decided = (sure[i] and longs[i] == unit) or (more_s[i] and more_l[i] == unit)
            sure[i] = (sure[i] and more_s[i]) or decided
            longs[i] = unit if decided else 1 - unit
    elif op >= _EQUAL_L and op <= _AT_MOST_L:
        _compare_longs(op, size, longs, sure, more_l, more_s)
    elif op >= _EQUAL_D and op <= _AT_MOST_D:
        _compare_doubles(op, size, longs, doubles, sure, more_d, more_s)
    elif op in (_ADD_L, _SUBTRACT_L):
        _add_longs(op == _SUBTRACT_L, size, longs, sure, more_l, more_s)
    elif op in (_ADD_D, _SUBTRACT_D, _MULTIPLY_D):
        for i in range(size):
            sure[i] = sure[i] and more_s[i]
            if op == _ADD_D:
                doubles[i] += more_d[i]
            elif op == _SUBTRACT_D:
                doubles[i] -= more_d[i]
            else:
                doubles[i] *= more_d[i]
    else:
        for i in range(size):
            one.longs[0], one.doubles[0], one.sure[0] = longs[i], doubles[i], sure[i]
            one.longs[1], one.doubles[1], one.sure[1] = more_l[i], more_d[i], more_s[i]
            binary(op, 0, 1, one)
            longs[i], doubles[i], sure[i] = one.longs[0], one.doubles[0], one.sure[0]


@ripened
def _compare_longs(op, size, longs, sure, more_l, more_s):
    if op == _EQUAL_L:
        for i in range(size):
            longs[i] = longs[i] == more_l[i]
    elif op == _UNEQUAL_L:
        for i in range(size):
            longs[i] = longs[i] != more_l[i]
    elif op == _LESS_L:
        for i in range(size):
            longs[i] = longs[i] < more_l[i]
    else:
        for i in range(size):
            longs[i] = longs[i] <= more_l[i]
    for i in range(size):
        sure[i] = sure[i] and more_s[i]


@ripened
def _compare_doubles(op, size, longs, doubles, sure, more_d, more_s):
    if op == _EQUAL_D:
        for i in range(size):
            longs[i] = doubles[i] == more_d[i]
    elif op == _UNEQUAL_D:
        for i in range(size):
            longs[i] = doubles[i] != more_d[i]
    elif op == _LESS_D:
        for i in range(size):
            longs[i] = doubles[i] < more_d[i]
    else:
        for i in range(size):
            longs[i] = doubles[i] <= more_d[i]
    for i in range(size):
        numbers = doubles[i] == doubles[i] and more_d[i] == more_d[i]
        sure[i] = sure[i] and more_s[i] and numbers


@ripened
def _add_longs(minus, size, longs, sure, more_l, more_s):
    """Sums or differences; unknown where they leave 64 bits."""
    for i in range(size):
        left, right = np.uint64(longs[i]), np.uint64(more_l[i])
        total = np.int64(left - right if minus else left + right)
        if minus:
            fits = ((longs[i] ^ more_l[i]) & (longs[i] ^ total)) >= 0
        else:
            fits = ((longs[i] ^ total) & (more_l[i] ^ total)) >= 0
        longs[i] = total
        sure[i] = sure[i] and more_s[i] and fits
