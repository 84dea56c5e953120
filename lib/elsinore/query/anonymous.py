"""Expressions without the positions that they were bound to, so that queries compare by meaning.

What an expression reads of an event depends on the attribute alone; the position says only at
which state of which query it is read.
"""

from __future__ import annotations

from dataclasses import replace

from elsinore.query.expressions import (
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Constant,
    Either,
    Field,
    Function,
    Inverse,
    IsNull,
    Like,
    Negative,
)


def anonymous(expression: BoundExpression) -> BoundExpression:
    """The expression with every field read at position 0."""
    match expression:
        case Constant():
            return expression
        case Field():
            return replace(expression, position=0)
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return replace(expression, left=anonymous(left), right=anonymous(right))
        case Both(parts) | Either(parts):
            return replace(expression, parts=tuple(anonymous(part) for part in parts))
        case Function(operands=operands):
            return replace(expression, operands=tuple(anonymous(each) for each in operands))
        case Negative(operand) | Inverse(operand) | IsNull(operand) | Like(operand):
            return replace(expression, operand=anonymous(operand))
    raise AssertionError(expression)
