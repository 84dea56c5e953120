"""Prints bound conditions in the words of the query language, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from elsinore.catalog.stream import AttributeType
from elsinore.query.expressions import (
    TIME,
    Arithmetic,
    Both,
    BoundExpression,
    Comparison,
    Constant,
    Either,
    Field,
    Function,
    FunctionName,
    Inverse,
    IsNull,
    Like,
    Negative,
)
from elsinore.timeline import UNITS, format_instant

_PARTS = (FunctionName.HOUR, FunctionName.WEEKDAY)


def print_bound(expression: BoundExpression, aliases: Mapping[int, str]) -> str:
    """An expression as text, every attribute with its alias.

    Args:
        expression: a whole expression or a part of one.
        aliases: the alias of each position.
    """
    return _Printer(aliases).text(expression)


def print_length(ticks: int) -> str:
    """Microseconds in the largest unit that divides them.

    >>> print_length(5_400_000_000), print_length(86_400_000_000)
    ('90 minutes', '1 day')
    """
    unit, length = max(
        ((unit, length) for unit, length in UNITS.items() if ticks % length == 0),
        key=lambda each: each[1] if ticks else -each[1],
    )
    count = ticks // length
    return f"{count} {unit}{'' if count == 1 else 's'}"


class _Printer:
    def __init__(self, aliases: Mapping[int, str]) -> None:
        self.aliases = aliases

    def text(self, node: BoundExpression) -> str:
        match node:
            case Constant():
                return _constant(node)
            case Field(position, attribute, _, following):
                alias = self.aliases[position]
                name = "time" if attribute == TIME else attribute
                return f"NEXT({alias}).{name}" if following else f"{alias}.{name}"
            case Arithmetic(operator, left, right) | Comparison(operator, left, right):
                sides = self.span(left, beside=right), self.span(right, beside=left)
                return f"{sides[0]} {operator} {sides[1]}"
            case Negative(operand):
                return f"-{self.inner(operand)}"
            case Function(name, operands):
                parts = ", ".join(map(self.text, operands))
                return f"extract({name} FROM {parts})" if name in _PARTS else f"{name}({parts})"
            case Both((Comparison(">=", left, low), Comparison("<=", other, high))) if (
                left == other
            ):
                sides = self.span(low, beside=left), self.span(high, beside=left)
                return f"{self.inner(left)} BETWEEN {sides[0]} AND {sides[1]}"
            case Both(parts):
                return " AND ".join(map(self.inner, parts))
            case Either(parts):
                return self.choice(parts)
            case IsNull(operand):
                return f"{self.inner(operand)} IS NULL"
            case Like():
                return self.like(node, "LIKE")
            case Inverse(operand):
                return self.inverse(operand)

    def inverse(self, operand: BoundExpression) -> str:
        match operand:
            case IsNull(inner):
                return f"{self.inner(inner)} IS NOT NULL"
            case Like():
                return self.like(operand, "NOT LIKE")
        return f"NOT {self.inner(operand)}"

    def inner(self, node: BoundExpression) -> str:
        """Text of an operand, in parentheses where it is an operation itself."""
        plain = isinstance(node, Constant | Field | Function | Negative)
        return self.text(node) if plain else f"({self.text(node)})"

    def span(self, node: BoundExpression, *, beside: BoundExpression) -> str:
        """Text of an operand; a number beside a length of time, or an instant, is a length."""
        length = isinstance(node, Constant) and node.type is AttributeType.LONG
        if length and _is_time(beside):
            assert isinstance(node, Constant)
            return print_length(int(node.value or 0))
        return self.inner(node)

    def like(self, node: Like, operator: str) -> str:
        escape = f" ESCAPE {_quoted(node.escape)}" if node.escape is not None else ""
        return f"{self.inner(node.operand)} {operator} {_quoted(node.pattern)}{escape}"

    def choice(self, parts: Iterable[BoundExpression]) -> str:
        """OR, or IN where one expression is compared with several."""
        parts = tuple(parts)
        equal = [p for p in parts if isinstance(p, Comparison) and p.operator == "="]
        if len(equal) == len(parts) and len({p.left for p in equal}) == 1:
            values = ", ".join(self.span(p.right, beside=p.left) for p in equal)
            return f"{self.inner(equal[0].left)} IN ({values})"
        return " OR ".join(map(self.inner, parts))


def _is_time(node: BoundExpression) -> bool:
    """Whether an expression is an instant, or the difference of two."""
    difference = isinstance(node, Arithmetic) and node.left.type is AttributeType.TIMESTAMP
    return node.type is AttributeType.TIMESTAMP or difference


def _constant(node: Constant) -> str:
    value = node.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quoted(value)
    if node.type is AttributeType.TIMESTAMP:
        return _quoted(format_instant(int(value)))
    return str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
