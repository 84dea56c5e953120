"""Bound the integers that an expression can have, whatever the events are."""

from __future__ import annotations

from elsinore.query.expressions import EXTRACT_PARTS, Applied, BoundExpression, Constant

#: Bits of any long or timestamp, of the length of a string, and of a part of a timestamp.
_LONG, _LENGTH, _PART = 64, 21, 20
#: Maximum bits of absolute values that fit int64.
_FITTING = 63


def fits_64_bits(expression: BoundExpression) -> bool:
    """Return whether all values of an expression of integers fit 64 bits.

    >>> from elsinore.catalog.stream import AttributeType
    >>> x = Applied("length", (Constant("text", AttributeType.STRING),), AttributeType.LONG)
    >>> fits_64_bits(Applied("*", (x, x, x), AttributeType.LONG))
    True
    """
    return _bits(expression) <= _FITTING


def _bits(expression: BoundExpression) -> int:
    """Return a number of bits that holds the absolute value."""
    match expression:
        case Constant(int(value)):
            return value.bit_length()
        case Constant(None):
            return 0
        case Applied(name) if name in EXTRACT_PARTS or name == "sign":
            return _PART
        case Applied("length"):
            return _LENGTH
        case Applied("+" | "-", operands):
            return max(map(_bits, operands)) + 1
        case Applied("*", operands):
            return sum(map(_bits, operands))
        case Applied("%", (dividend, divisor)):
            return min(_bits(dividend), _bits(divisor))
        case Applied("neg" | "abs" | "floor" | "ceil" | "nullif", (operand, *_)):
            return _bits(operand)
        case Applied("round", (operand, *decimals)):
            return _bits(operand) + (1 if decimals else 0)
        case Applied("coalesce" | "greatest" | "least", operands):
            return max(map(_bits, operands))
        case Applied("CASE", operands):
            return max(map(_bits, (*operands[1:-1:2], operands[-1])))
    return _LONG
