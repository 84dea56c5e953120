"""Which transitions can be answered from order statistics: those that compare two values.

A pair program that asks `earlier OP later` is such a one, with whatever it asks of one event alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from elsinore.kernels.pair_program import Op

Steps = list[tuple[int, int]]

_EARLIER = (Op.EARLIER_L, Op.EARLIER_D)
_LATER = (Op.LATER_L, Op.LATER_D)
_EQUAL = (Op.EQUAL_L, Op.EQUAL_D)
_LESS = (Op.LESS_L, Op.LESS_D)
_AT_MOST = (Op.AT_MOST_L, Op.AT_MOST_D)
_UNEQUAL = (Op.UNEQUAL_L, Op.UNEQUAL_D)


@dataclass(frozen=True, slots=True)
class Side:
    """One value of a comparison.

    Attributes:
        slot: its column.
        doubles: whether that is one of doubles; else one of longs.
        widened: whether its longs compare as doubles.
        only: columns of truth values; where one of them is not true, neither is the condition.
    """

    slot: int
    doubles: bool
    widened: bool
    only: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """A condition `earlier OP later`.

    Attributes:
        earlier, later: what is compared.
        equal: `=`; else the earlier event's value is on one side of the later one's.
        falling: `>` or `>=`, the earlier value lies above; of no account for `=`.
        strict: `<` or `>`.
    """

    earlier: Side
    later: Side
    equal: bool
    falling: bool
    strict: bool


def order_of(steps: Steps) -> Order | None:
    """The order that a pair program asks for; None where it is more than one comparison.

    Beside the comparison there may be truths about one of the two events, joined by AND.
    """
    parts = _conjuncts(steps)
    single = [part[0] for part in parts if len(part) == 1]
    compared = [order for order in map(_comparison, parts) if order is not None]
    if len(compared) != 1 or len(single) != len(parts) - 1:
        return None
    (order,) = compared
    earlier = tuple(sorted(slot for op, slot in single if op == Op.EARLIER_L))
    later = tuple(sorted(slot for op, slot in single if op == Op.LATER_L))
    if len(earlier) + len(later) != len(single):
        return None
    return replace(
        order,
        earlier=replace(order.earlier, only=earlier),
        later=replace(order.later, only=later),
    )


def _conjuncts(steps: Steps) -> list[Steps]:
    """The parts that a program joins by AND at its end; others are one part."""
    stack: list[list[Steps]] = []
    for step in steps:
        op = step[0]
        if op <= Op.OPEN:
            stack.append([[step]])
        elif op < Op.AND:
            stack[-1] = [[*_joined(stack[-1]), step]]
        else:
            right, left = stack.pop(), stack.pop()
            both = [[*_joined(left), *_joined(right), step]]
            stack.append(left + right if op == Op.AND else both)
    return stack[0]


def _joined(parts: list[Steps]) -> Steps:
    joined = list(parts[0])
    for part in parts[1:]:
        joined += [*part, (Op.AND, 0)]
    return joined


def _comparison(steps: Steps) -> Order | None:
    """The order that a comparison asks for; None for anything else.

    `NOT a < b` is `a >= b`, since both are unknown for NULL and NaN.
    """
    negated = steps[-1][0] == Op.NOT
    rest = list(steps[:-1] if negated else steps)
    if len(rest) < 3:
        return None
    op = rest.pop()[0]
    sides: list[tuple[int, Side]] = []
    while rest:
        widened = rest[-1][0] == Op.TO_DOUBLE
        if widened:
            rest.pop()
        if not rest or rest[-1][0] not in _EARLIER + _LATER:
            return None
        pushed, slot = rest.pop()
        sides.append((pushed, Side(slot, pushed in (Op.EARLIER_D, Op.LATER_D), widened)))
    if len(sides) != 2 or (sides[0][0] in _EARLIER) == (sides[1][0] in _EARLIER):
        return None
    (_, second), (pushed, first) = sides
    flipped = pushed in _LATER
    earlier, later = (second, first) if flipped else (first, second)
    if op in (_UNEQUAL if negated else _EQUAL):
        return Order(earlier, later, equal=True, falling=False, strict=False)
    if op in _LESS + _AT_MOST:
        strict = (op in _LESS) != negated
        return Order(earlier, later, equal=False, falling=flipped != negated, strict=strict)
    return None


def find_orders(
    arrays: Mapping[str, np.ndarray], programs: list[Steps]
) -> tuple[tuple[int, Order], ...]:
    """The transitions that trees can answer, by number.

    NOT's own transitions are left to pairs, and states whose events close one by one.

    Args:
        arrays: the states, transitions and ways out of a layout.
        programs: the steps of each program.
    """
    later = np.repeat(np.arange(arrays["starts"].size), np.diff(arrays["transition_start"]))
    closing = np.diff(arrays["open_start"]) > 0
    found = []
    for number, program in enumerate(arrays["transition_program"].tolist()):
        earlier = arrays["transition_from"][number]
        of_trends = arrays["guard_of"][later[number]] < 0
        if program >= 0 and of_trends and not closing[earlier]:
            order = order_of(programs[program])
            if order is not None:
                found.append((number, order))
    return tuple(found)
