"""Edge predicates lowered to pair programs and the columns ("slots") that they read.

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
    Inverse,
    IsNull,
    Negative,
    operands_of,
    sides_of,
)
from elsinore.template.template import Template, Transition

_DOUBLE, _STRING = AttributeType.DOUBLE, AttributeType.STRING
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


@dataclass(frozen=True, slots=True)
class Slot:
    """A column read from the events of one state.

    `alphabet` groups the string slots that are compared with each other: they share one dictionary.
    """

    state: int
    expression: BoundExpression
    alphabet: int | None


@dataclass
class EdgePrograms:
    """The programs of a template.

    Attributes:
        slots: columns by slot number.
        programs: the steps `(operation, slot)` of each program.
        of_transition: program number by transition, for those with an edge predicate.
    """

    slots: list[Slot] = field(default_factory=list)
    programs: list[list[tuple[int, int]]] = field(default_factory=list)
    of_transition: dict[Transition, int] = field(default_factory=dict)


def lower_edges(template: Template) -> EdgePrograms:
    """The edge predicates of a template as programs.

    Raises:
        UnsupportedQueryError: a predicate nests deeper than the kernels' stack.
    """
    lowered = EdgePrograms()
    for transition in template.transitions:
        if transition.predicates:
            conditions = tuple(edge.condition for edge in transition.predicates)
            condition = conditions[0] if len(conditions) == 1 else Both(conditions)
            steps = _Lowering(lowered, transition).steps(condition)
            lowered.of_transition[transition] = len(lowered.programs)
            lowered.programs.append(steps)
    return lowered


@dataclass
class _Lowering:
    """Lowers the condition of one transition."""

    target: EdgePrograms
    transition: Transition

    def steps(self, condition: BoundExpression) -> list[tuple[int, int]]:
        if _depth(condition) > MAX_STACK:
            raise UnsupportedQueryError("an edge predicate is nested too deeply for the kernels")
        return self._lower(condition, None)

    def _lower(self, node: BoundExpression, alphabet: int | None) -> list[tuple[int, int]]:
        if len(sides_of(node)) < 2:
            return [self._slot(node, alphabet)]
        match node:
            case Both(parts) | Either(parts):
                return self._joined(parts, Op.AND if isinstance(node, Both) else Op.OR)
            case Inverse(operand):
                return [*self._lower(operand, None), (Op.NOT, 0)]
            case IsNull(operand):
                return [*self._lower(operand, None), (Op.IS_NULL, 0)]
            case Negative(operand, kind):
                op = Op.NEGATE_D if kind is _DOUBLE else Op.NEGATE_L
                return [*self._lower(operand, None), (op, 0)]
            case Comparison(operator, left, right):
                in_longs, in_doubles, swapped = _COMPARISONS[operator]
                double = _DOUBLE in (left.type, right.type)
                first, second = (right, left) if swapped else (left, right)
                letters = len(self.target.slots) if left.type is _STRING else None
                return [
                    *self._operand(first, double, letters),
                    *self._operand(second, double, letters),
                    (in_doubles if double else in_longs, 0),
                ]
            case Arithmetic(operator, left, right, kind):
                double = kind is _DOUBLE
                return [
                    *self._operand(left, double, None),
                    *self._operand(right, double, None),
                    (_ARITHMETIC[operator][double], 0),
                ]
        raise AssertionError(node)

    def _joined(self, parts: tuple[BoundExpression, ...], op: Op) -> list[tuple[int, int]]:
        steps = self._lower(parts[0], None)
        for part in parts[1:]:
            steps += [*self._lower(part, None), (op, 0)]
        return steps

    def _operand(
        self, node: BoundExpression, double: bool, alphabet: int | None
    ) -> list[tuple[int, int]]:
        steps = self._lower(node, alphabet)
        return [*steps, (Op.TO_DOUBLE, 0)] if double and node.type is not _DOUBLE else steps

    def _slot(self, node: BoundExpression, alphabet: int | None) -> tuple[int, int]:
        later = True in sides_of(node)  # a constant is read from the earlier event, as good as any
        state = self.transition.later if later else self.transition.earlier
        self.target.slots.append(Slot(state, node, alphabet))
        double = node.type is _DOUBLE
        if later:
            op = Op.LATER_D if double else Op.LATER_L
        else:
            op = Op.EARLIER_D if double else Op.EARLIER_L
        return op, len(self.target.slots) - 1


def _depth(node: BoundExpression) -> int:
    return 1 + max((_depth(operand) for operand in operands_of(node)), default=0)
