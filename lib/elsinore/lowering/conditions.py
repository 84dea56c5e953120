"""Conditions on pairs of events lowered to pair programs and the columns ("slots") they read.

Everything that depends on one event of the pair becomes a slot, worked out once per event; what is
left is a few steps per pair (`kernels.pair_program`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from elsinore.catalog.stream import AttributeType
from elsinore.errors import UnsupportedQueryError
from elsinore.kernels.pair_program import MAX_STACK, Op
from elsinore.query.expressions import (
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Either,
    Function,
    FunctionName,
    Inverse,
    IsNull,
    Negative,
    sides_of,
)
from elsinore.template.template import (
    Condition,
    Every,
    Floor,
    Holds,
    Never,
    Open,
    Reaches,
    Some,
)

_DOUBLE = AttributeType.DOUBLE
_ARITHMETIC = {
    "+": (Op.ADD_L, Op.ADD_D),
    "-": (Op.SUBTRACT_L, Op.SUBTRACT_D),
    "*": (Op.MULTIPLY_L, Op.MULTIPLY_D),
    "/": (Op.DIVIDE_D, Op.DIVIDE_D),
    "%": (Op.REMAINDER_L, Op.REMAINDER_D),
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
#: Functions of two operands; longer ones are chains.
_CHAINED = {
    FunctionName.LEAST: (Op.LEAST_L, Op.LEAST_D),
    FunctionName.GREATEST: (Op.GREATEST_L, Op.GREATEST_D),
    FunctionName.COALESCE: (Op.COALESCE_L, Op.COALESCE_D),
}
_OF_ONE = {
    FunctionName.ABS: (Op.ABS_L, Op.ABS_D),
    FunctionName.HOUR: (Op.HOUR_L, Op.HOUR_L),
    FunctionName.WEEKDAY: (Op.WEEKDAY_L, Op.WEEKDAY_L),
}
_UNARY = frozenset(
    [Op.TO_DOUBLE, Op.NEGATE_L, Op.NEGATE_D, Op.NOT, Op.IS_NULL, Op.IS_TRUE]
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
            case Both(parts) | Either(parts):
                op = Op.AND if isinstance(node, Both) else Op.OR
                return _chained([self._lower(part) for part in parts], op)
            case Inverse(operand):
                return [*self._lower(operand), (Op.NOT, 0)]
            case IsNull(operand):
                return [*self._lower(operand), (Op.IS_NULL, 0)]
            case Negative(operand, kind):
                op = Op.NEGATE_D if kind is _DOUBLE else Op.NEGATE_L
                return [*self._lower(operand), (op, 0)]
            case Comparison(operator, left, right):
                in_longs, in_doubles, swapped = _COMPARISONS[operator]
                double = _DOUBLE in (left.type, right.type)
                sides = (right, left) if swapped else (left, right)
                return self._joined(sides, in_doubles if double else in_longs, double)
            case Arithmetic(operator, left, right, kind):
                double = kind is _DOUBLE
                return self._joined((left, right), _ARITHMETIC[operator][double], double)
            case Function(name, operands, kind):
                return self._function(name, operands, kind is _DOUBLE)
        raise AssertionError(node)

    def _function(
        self, name: FunctionName, operands: tuple[BoundExpression, ...], double: bool
    ) -> Steps:
        if name in _OF_ONE:
            return [*self._operand(operands[0], double), (_OF_ONE[name][double], 0)]
        return self._joined(operands, _CHAINED[name][double], double)

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
