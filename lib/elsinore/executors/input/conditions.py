"""Lower conditions on pairs of events to pair programs and the columns ("slots") they read.

Everything that depends on only one event of the pair becomes a slot, computed once per event. Only
a few steps per pair remain (`executors.input.kernels.pair_program`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.executors.input.kernels.pair_program import Op
from elsinore.query.expressions import Applied, BoundExpression, operands_of, sides_of, turned
from elsinore.template.template import (
    ALWAYS,
    TREND,
    Condition,
    Every,
    Floor,
    Holds,
    Never,
    Open,
    Reaches,
    Some,
    Template,
)

_DOUBLE = AttributeType.DOUBLE
#: Operations on two operands; more operands form a chain.
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
#: The operations of comparisons, and whether their sides are swapped.
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
Steps = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Slot:
    """A column read from the events of one state.

    All string slots of a query share one dictionary, so their codes are comparable.
    """

    state: int
    expression: BoundExpression


@dataclass
class Programs:
    """The lowered conditions of a template."""

    slots: dict[Slot, int] = field(default_factory=dict)  #: columns, numbered in this order
    #: floors, numbered in this order; `Op.REACHES` refers to them.
    floors: dict[Floor, int] = field(default_factory=dict)
    #: the steps `(operation, argument)` of each program, numbered in this order.
    programs: dict[tuple[tuple[int, int], ...], int] = field(default_factory=dict)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the steps of all programs and the first step of each, for the kernels."""
        steps = [step for program in self.programs for step in program]
        return {
            "program_start": np.cumsum([0, *map(len, self.programs)], dtype=np.int64),
            "program": np.array(steps, np.int64).reshape(-1, 2),
        }

    def floor(self, floor: Floor | None) -> int:
        """Return the number of a floor; -1 for none."""
        return -1 if floor is None else self.floors.setdefault(floor, len(self.floors))

    def floor_alone(self, condition: Condition) -> int:
        """Return the number of the floor that is the whole condition; -1 for none."""
        return self.floor(condition.floor if isinstance(condition, Reaches) else None)

    def program(self, condition: Condition, earlier: int, later: int) -> int:
        """Return the number of the program of a condition on events in two states; -1 for none.

        A condition that is always true, or only a floor, needs no pairs.
        """
        if condition == ALWAYS or isinstance(condition, Reaches):
            return -1
        steps = _Lowering(self, earlier, later).condition(condition)
        return self.programs.setdefault(tuple(steps), len(self.programs))


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
                return self.expression(expression)
            case Reaches(floor):
                return [(Op.REACHES, self.target.floor(floor))]
            case Open(slot):
                return [(Op.OPEN, slot)]

    def expression(self, node: BoundExpression) -> Steps:
        if len(sides_of(node)) < 2:
            return [self.slot(node)]
        match node:
            case Applied("AND" | "OR" as name, parts):
                op = Op.AND if name == "AND" else Op.OR
                return _chained([self.expression(part) for part in parts], op)
            case Applied("NOT", (operand,)):
                return [*self.expression(operand), (Op.NOT, 0)]
            case Applied("IS NULL", (operand,)):
                return [*self.expression(operand), (Op.IS_NULL, 0)]
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
        steps = self.expression(node)
        return [*steps, (Op.TO_DOUBLE, 0)] if double and node.type is not _DOUBLE else steps

    def slot(self, node: BoundExpression) -> tuple[int, int]:
        later = True in sides_of(node)  # a constant is read from the earlier event
        slot = Slot(self.later, turned(node)) if later else Slot(self.earlier, node)
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


# ---- comparisons, which order statistics evaluate


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison."""

    slot: int  #: its column
    doubles: bool  #: whether the column has doubles; otherwise longs
    widened: bool  #: whether its longs are compared as doubles
    #: columns of truth values; if one of them is not true, the condition is not true.
    only: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """A condition `earlier OP later`."""

    #: the compared values.
    earlier: Side
    later: Side
    equal: bool  #: `=`; otherwise the earlier value is less or greater
    falling: bool  #: `>` or `>=`: the earlier value is greater; unused for `=`
    strict: bool  #: `<` or `>`


#: Comparisons with swapped sides, and negated comparisons. Both are unknown for NULL and NaN.
_SWAPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def find_orders(template: Template, programs: Programs) -> tuple[tuple[int, Order], ...]:
    """Return the transitions of a lowered template that trees can evaluate, by number.

    Transitions of NOT are left to pairs. If events close one by one, or if `contiguous` bounds
    them, a condition is more than a comparison.
    """
    found = []
    for number, arrow in enumerate(template.transitions):
        if template.states[arrow.later].guard == TREND:
            order = _order(_Lowering(programs, arrow.earlier, arrow.later), arrow.condition)
            if order is not None:
                found.append((number, order))
    return tuple(found)


def is_comparison(condition: Condition) -> bool:
    """Return whether trees can evaluate a condition between states of trends."""
    return _order(_Lowering(Programs(), 0, 1), condition) is not None


def _order(lowering: _Lowering, condition: Condition) -> Order | None:
    """Return the order that a condition requires; None if it is more than one comparison.

    Conditions on only one of the two events can be joined to the comparison by AND.
    """
    only: tuple[set[int], set[int]] = set(), set()
    compared = []
    for part in _conjuncts(condition):
        if not isinstance(part, BoundExpression):
            return None
        if len(sides_of(part)) == 2:
            compared.append(part)
        else:
            only[True in sides_of(part)].add(lowering.slot(part)[1])
    found = _comparison(compared[0]) if len(compared) == 1 else None
    if found is None:
        return None
    operator, values = found
    double = any(value.type is _DOUBLE for value in values)
    earlier, later = (
        Side(
            slot=lowering.slot(value)[1],
            doubles=value.type is _DOUBLE,
            widened=double and value.type is not _DOUBLE,
            only=tuple(sorted(asked)),
        )
        for value, asked in zip(values, only, strict=True)
    )
    return Order(earlier, later, operator == "=", operator[0] == ">", operator in ("<", ">"))


def _conjuncts(condition: Condition | BoundExpression) -> Iterator[Condition | BoundExpression]:
    """Yield the parts that are joined by AND; an expression over only one event is one part."""
    match condition:
        case Every(parts):
            for part in parts:
                yield from _conjuncts(part)
        case Holds(expression):
            yield from _conjuncts(expression)
        case Applied("AND", operands) if len(sides_of(condition)) == 2:
            for operand in operands:
                yield from _conjuncts(operand)
        case _:
            yield condition


def _comparison(
    node: BoundExpression,
) -> tuple[str, tuple[BoundExpression, BoundExpression]] | None:
    """Return the operator and its sides, the earlier event's first.

    Return None if trees cannot evaluate the comparison.
    """
    negated = isinstance(node, Applied) and node.name == "NOT"
    match operands_of(node)[0] if negated else node:
        case Applied(operator, (left, right)) if operator in _COMPARISONS:
            operator = _NEGATED[operator] if negated else operator
            if operator == "!=" or any(len(sides_of(side)) == 2 for side in (left, right)):
                return None
            if True in sides_of(left):
                return _SWAPPED[operator], (right, left)
            return operator, (left, right)
    return None
