"""The commonest pair program, one comparison of the two events, without its interpreter.

5 ns a pair, its addition included, against 13 by the interpreter.
"""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.pair_program import Op, compare

_EARLIER_L, _EARLIER_D = int(Op.EARLIER_L), int(Op.EARLIER_D)
_LATER_L, _LATER_D = int(Op.LATER_L), int(Op.LATER_D)
_EQUAL_L, _EQUAL_D, _AT_MOST_D = int(Op.EQUAL_L), int(Op.EQUAL_D), int(Op.AT_MOST_D)


@inlined
def is_comparison(program):
    """Whether a program only compares a slot of the earlier event with one of the later."""
    if program.shape[0] != 3:
        return False
    first, second, last = program[0, 0], program[1, 0], program[2, 0]
    if first > second:
        first, second = second, first
    sides = (first == _EARLIER_L and second == _LATER_L) or (
        first == _EARLIER_D and second == _LATER_D
    )
    return sides and last >= _EQUAL_L and last <= _AT_MOST_D


@inlined
def scan_comparison(program, columns, candidates, count, later, hits):
    """Write the candidates that compare as asked to `hits`; how many they are."""
    flipped = program[0, 0] >= _LATER_L
    own, other = (program[1, 1], program[0, 1]) if flipped else (program[0, 1], program[1, 1])
    op, known = program[2, 0], columns.known
    if not known[other, later]:
        return 0
    if op < _EQUAL_D:
        return _scan(
            op - _EQUAL_L, flipped, columns.slots_l[own], columns.slots_l[other, later], known[own],
            candidates, count, hits,
        )  # fmt: skip
    return _scan(
        op - _EQUAL_D, flipped, columns.slots_d[own], columns.slots_d[other, later], known[own],
        candidates, count, hits,
    )  # fmt: skip


@inlined
def _scan(which, flipped, values, bound, known, candidates, count, hits):
    found = 0
    for c in range(count):
        value = values[candidates[c]]
        holds = compare(which, bound, value) if flipped else compare(which, value, bound)
        numbers = value == value and bound == bound
        hits[found] = candidates[c]
        found += 1 if holds != 0 and numbers and known[candidates[c]] else 0
    return found
