"""Conditions on pairs of events lowered to pair programs and the columns ("slots") they read.

Everything that depends on one event of the pair becomes a slot, worked out once per event; what is
left is a few steps per pair (`kernels.pair_program`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.errors import UnsupportedQueryError
from elsinore.kernels.pair_program import MAX_STACK, Op
from elsinore.query.expressions import (
    Applied,
    BoundExpression,
    sides_of,
)
from elsinore.template.template import Condition, Every, Floor, Holds, Never, Open, Reaches, Some

_DOUBLE = AttributeType.DOUBLE
#: What takes two operands; more of them are a chain.
_CHAINED = {
    "+": (Op.ADD_L, Op.ADD_D),
    "-": (Op.SUBTRACT_L, Op.SUBTRACT_D),
    "*": (Op.MULTIPLY_L, Op.MULTIPLY_D),
    "/": (Op.DIVIDE_D, Op.DIVIDE_D),
    "%": (Op.REMAINDER_L, Op.REMAINDER_D),
    "least": (Op.LEAST_L, Op.LEAST_D),
    "greatest": (Op.GREATEST_L, Op.GREATEST_D),
    "coalesce": (Op.COALESCE_L, Op.COALESCE_D),
}
#: Comparisons by operation, and whether their sides swap.
_COMPARISONS = {
    "=": (Op.EQUAL_L, Op.EQUAL_D, False),
    "!=": (Op.UNEQUAL_L, Op.UNEQUAL_D, False),
    "<": (Op.LESS_L, Op.LESS_D, False),
    "<=": (Op.AT_MOST_L, Op.AT_MOST_D, False),
    ">": (Op.LESS_L, Op.LESS_D, True),
    ">=": (Op.AT_MOST_L, Op.AT_MOST_D, True),
}
_OF_ONE = {
    "neg": (Op.NEGATE_L, Op.NEGATE_D),
    "abs": (Op.ABS_L, Op.ABS_D),
    "hour": (Op.HOUR_L, Op.HOUR_L),
    "weekday": (Op.WEEKDAY_L, Op.WEEKDAY_L),
}
_UNARY = frozenset(
    [Op.TO_DOUBLE, Op.NOT, Op.IS_NULL, Op.IS_TRUE]
    + [op for pair in _OF_ONE.values() for op in pair]
)
_PUSHING = frozenset([Op.EARLIER_L, Op.EARLIER_D, Op.LATER_L, Op.LATER_D, Op.REACHES, Op.OPEN])

Steps = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A column read from the events of one state.

    All string slots of a query share one dictionary, so that their codes compare.
    """

    state: int
    expression: BoundExpression


@dataclass
class Programs:
    """The conditions of a template, lowered.

    Attributes:
        slots: columns, numbered in this order.
        floors: numbered in this order; `Op.REACHES` names them.
        programs: the steps `(operation, argument)` of each program.
    """

    slots: dict[Slot, int] = field(default_factory=dict)
    floors: dict[Floor, int] = field(default_factory=dict)
    programs: list[Steps] = field(default_factory=list)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The steps of all programs, and where those of each begin, as kernels read them."""
        steps = [step for program in self.programs for step in program]
        return {
            "program_start": np.cumsum([0, *map(len, self.programs)], dtype=np.int64),
            "program": np.array(steps, np.int64).reshape(-1, 2),
        }

    def floor(self, floor: Floor | None) -> int:
        """The number of a floor; -1 for none."""
        return -1 if floor is None else self.floors.setdefault(floor, len(self.floors))

    def program(self, condition: Condition | None, earlier: int, later: int) -> int:
        """The number of the program of a condition on events at two states; -1 for none.

        Raises:
            UnsupportedQueryError: the condition nests deeper than the kernels' stack.
        """
        if condition is None:
            return -1
        steps = _Lowering(self, earlier, later).condition(condition)
        if _height(steps) > MAX_STACK:
            raise UnsupportedQueryError("an edge predicate is nested too deeply for the kernels")
        if steps not in self.programs:
            self.programs.append(steps)
        return self.programs.index(steps)


def _height(steps: Steps) -> int:
    """The places that a program takes on the stack."""
    height = highest = 0
    for op, _ in steps:
        height += 1 if op in _PUSHING else 0 if op in _UNARY else -1
        highest = max(highest, height)
    return highest


@dataclass
class _Lowering:
    """Lowers the condition of one pair of states."""

    target: Programs
    earlier: int
    later: int

    def condition(self, condition: Condition) -> Steps:
        match condition:
            case Every(parts) | Some(parts):
                op = Op.AND if isinstance(condition, Every) else Op.OR
                return _chained([self.condition(part) for part in parts], op)
            case Never(part):
                return [*self.condition(part), (Op.IS_TRUE, 0), (Op.NOT, 0)]
            case Holds(expression):
                return self._lower(expression)
            case Reaches(floor):
                return [(Op.REACHES, self.target.floor(floor))]
            case Open(slot):
                return [(Op.OPEN, slot)]

    def _lower(self, node: BoundExpression) -> Steps:
        if len(sides_of(node)) < 2:
            return [self._slot(node)]
        match node:
            case Applied("AND" | "OR" as name, parts):
                op = Op.AND if name == "AND" else Op.OR
                return _chained([self._lower(part) for part in parts], op)
            case Applied("NOT", (operand,)):
                return [*self._lower(operand), (Op.NOT, 0)]
            case Applied("IS NULL", (operand,)):
                return [*self._lower(operand), (Op.IS_NULL, 0)]
            case Applied(name, (operand,), kind) if name in _OF_ONE:
                double = kind is _DOUBLE
                return [*self._operand(operand, double), (_OF_ONE[name][double], 0)]
            case Applied(operator, (left, right)) if operator in _COMPARISONS:
                in_longs, in_doubles, swapped = _COMPARISONS[operator]
                double = _DOUBLE in (left.type, right.type)
                sides = (right, left) if swapped else (left, right)
                return self._joined(sides, in_doubles if double else in_longs, double)
            case Applied(name, operands, kind):
                double = kind is _DOUBLE
                return self._joined(operands, _CHAINED[name][double], double)
        raise AssertionError(node)

    def _joined(self, operands: tuple[BoundExpression, ...], op: Op, double: bool) -> Steps:
        return _chained([self._operand(operand, double) for operand in operands], op)

    def _operand(self, node: BoundExpression, double: bool) -> Steps:
        steps = self._lower(node)
        return [*steps, (Op.TO_DOUBLE, 0)] if double and node.type is not _DOUBLE else steps

    def _slot(self, node: BoundExpression) -> tuple[int, int]:
        later = True in sides_of(node)  # a constant is read from the earlier event, as good as any
        slot = Slot(self.later if later else self.earlier, node)
        number = self.target.slots.setdefault(slot, len(self.target.slots))
        double = node.type is _DOUBLE
        if later:
            return (Op.LATER_D if double else Op.LATER_L), number
        return (Op.EARLIER_D if double else Op.EARLIER_L), number


def _chained(parts: list[Steps], op: Op) -> Steps:
    steps = list(parts[0])
    for part in parts[1:]:
        steps += [*part, (op, 0)]
    return steps


# ---- comparisons, which order statistics answer

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
            stack[-1] = [[*_chained(stack[-1], Op.AND), step]]
        else:
            right, left = stack.pop(), stack.pop()
            both = [[*_chained(left, Op.AND), *_chained(right, Op.AND), step]]
            stack.append(left + right if op == Op.AND else both)
    return stack[0]


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
