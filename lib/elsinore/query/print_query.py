"""Prints queries, patterns and conditions in the words of the language.

A query is printed in its canonical spelling: what is printed parses to an equal tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from elsinore.catalog.stream import AttributeType
from elsinore.query import expressions, syntax
from elsinore.timeline import UNITS, format_instant

#: How NOT is written with the operators that take it inside, which keeps what is printed from
#: nesting deeper than what was read.
_NEGATED_INSIDE = {name: f"NOT {name}" for name in ("IN", "BETWEEN", "LIKE")}
_NEGATED_INSIDE["IS NULL"] = "IS NOT NULL"

#: What is written with FROM, as in `extract(hour FROM t)`.
_WITH_FROM = (expressions.FunctionName.HOUR, expressions.FunctionName.WEEKDAY)
_SUFFIX: dict[type, str] = {syntax.KleenePlus: "+", syntax.KleeneStar: "*", syntax.Maybe: "?"}


def print_query(query: syntax.Query) -> str:
    """The canonical text of a query, on several lines, ending with `;`."""
    lines = [
        f"QUERY {query.name}",
        "RETURN "
        + ", ".join(
            item.label if isinstance(item, syntax.Aggregate) else _print_reference(item)
            for item in query.returns
        ),
        "PATTERN " + print_pattern(query.pattern),
    ]
    if query.where is not None:
        lines.append("WHERE " + print_expression(query.where))
    if query.group_by:
        lines.append("GROUP-BY " + ", ".join(_print_reference(key) for key in query.group_by))
    if query.within is not None:
        slide = f" SLIDE {_print_duration(query.slide)}" if query.slide is not None else ""
        lines.append(f"WITHIN {_print_duration(query.within)}{slide}")
    if query.semantics is not syntax.Semantics.ANY:
        lines.append(f"SEMANTICS {query.semantics}")
    return "\n".join(lines) + ";\n"


def print_pattern(pattern: syntax.Pattern) -> str:
    """A pattern as text.

    >>> a, b = syntax.EventPattern("A", "a"), syntax.EventPattern("B", "B")
    >>> print_pattern(syntax.KleenePlus(syntax.Sequence((a, b))))
    'SEQ(A a, B)+'
    """
    match pattern:
        case syntax.EventPattern(type=kind, alias=alias):
            return kind if kind == alias else f"{kind} {alias}"
        case syntax.Sequence(parts):
            return "SEQ(" + ", ".join(map(print_pattern, parts)) + ")"
        case syntax.Negation(body):
            return "NOT " + _wrapped(body)
        case syntax.Disjunction(parts):
            return " OR ".join(map(_wrapped, parts))
        case syntax.Conjunction(parts):
            return " AND ".join(map(_wrapped, parts))
        case _:
            return _wrapped(pattern.body) + _SUFFIX[type(pattern)]


def _wrapped(pattern: syntax.Pattern) -> str:
    text = print_pattern(pattern)
    plain = not isinstance(pattern, syntax.Negation | syntax.Disjunction | syntax.Conjunction)
    return text if plain else f"({text})"


def print_expression(expression: syntax.Expression) -> str:
    """An expression as text, with parentheses around every operation inside another."""
    match expression:
        case syntax.Literal(value, unit):
            return _print_literal(value, unit)
        case syntax.Reference():
            return _print_reference(expression)
        case syntax.Call(function, arguments, part):
            source = f"{part} FROM " if part is not None else ""
            return f"{function}({source}{', '.join(map(print_expression, arguments))})"
        case syntax.Equivalence(keys):
            return "[" + ", ".join(map(_print_reference, keys)) + "]"
        case syntax.Operation("NOT", (syntax.Operation(name, operands),)) if (
            name in _NEGATED_INSIDE
        ):
            return _print_operation(_NEGATED_INSIDE[name], [_inner(o) for o in operands])
        case syntax.Operation(name, operands):
            return _print_operation(name, [_inner(operand) for operand in operands])


def _print_operation(name: str, operands: list[str]) -> str:
    first, *others = operands
    match name:
        case "neg":
            return f"-{first}"
        case "NOT":
            return f"NOT {first}"
        case "IS NULL" | "IS NOT NULL":
            return f"{first} {name}"
        case "IN" | "NOT IN":
            return f"{first} {name} ({', '.join(others)})"
        case "BETWEEN" | "NOT BETWEEN":
            return f"{first} {name} {' AND '.join(others)}"
        case "LIKE" | "NOT LIKE":
            return f"{first} {name} {' ESCAPE '.join(others)}"
        case _:
            return f" {name} ".join(operands)


def _inner(expression: syntax.Expression) -> str:
    text = print_expression(expression)
    return f"({text})" if isinstance(expression, syntax.Operation) else text


def _print_literal(value: int | float | str | bool | None, unit: str | None = None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _quoted(value)
    return f"{value} {unit}" if unit else str(value)


def _print_reference(reference: syntax.Reference) -> str:
    if reference.following:
        return f"NEXT({reference.qualifier}).{reference.attribute}"
    qualifier = f"{reference.qualifier}." if reference.qualifier else ""
    return f"{qualifier}{reference.attribute}"


def _print_duration(duration: syntax.Duration) -> str:
    return f"{duration.amount} {duration.unit}" if duration.unit else str(duration.amount)


# ---- bound conditions, for people


def print_bound(expression: expressions.BoundExpression, aliases: Mapping[int, str]) -> str:
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
    return count_of(ticks // length, unit)


def count_of(number: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "hour"), count_of(2_000, "query"), count_of(0, "mismatch")
    ('1 hour', '2,000 queries', '0 mismatches')
    """
    if number != 1:
        ending = "es" if noun.endswith("ch") else "s"
        noun = re.sub("(?<![aeiou])y$", "ie", noun) + ending
    return f"{number:,} {noun}"


class _Printer:
    def __init__(self, aliases: Mapping[int, str]) -> None:
        self.aliases = aliases

    def text(self, node: expressions.BoundExpression) -> str:
        match node:
            case expressions.Constant():
                return _constant(node)
            case expressions.Field(position, attribute, _, following):
                alias = self.aliases[position]
                name = "time" if attribute == expressions.TIME else attribute
                return f"NEXT({alias}).{name}" if following else f"{alias}.{name}"
            case expressions.Arithmetic(operator, left, right) | expressions.Comparison(
                operator, left, right
            ):
                sides = self.span(left, beside=right), self.span(right, beside=left)
                return f"{sides[0]} {operator} {sides[1]}"
            case expressions.Negative(operand):
                return f"-{self.inner(operand)}"
            case expressions.Function(name, operands):
                parts = ", ".join(map(self.text, operands))
                return f"extract({name} FROM {parts})" if name in _WITH_FROM else f"{name}({parts})"
            case expressions.Both(
                (expressions.Comparison(">=", left, low), expressions.Comparison("<=", other, high))
            ) if left == other:
                sides = self.span(low, beside=left), self.span(high, beside=left)
                return f"{self.inner(left)} BETWEEN {sides[0]} AND {sides[1]}"
            case expressions.Both(parts):
                return " AND ".join(map(self.inner, parts))
            case expressions.Either(parts):
                return self.choice(parts)
            case expressions.IsNull(operand):
                return f"{self.inner(operand)} IS NULL"
            case expressions.Like():
                return self.like(node, "LIKE")
            case expressions.Inverse(operand):
                return self.inverse(operand)

    def inverse(self, operand: expressions.BoundExpression) -> str:
        match operand:
            case expressions.IsNull(inner):
                return f"{self.inner(inner)} IS NOT NULL"
            case expressions.Like():
                return self.like(operand, "NOT LIKE")
        return f"NOT {self.inner(operand)}"

    def inner(self, node: expressions.BoundExpression) -> str:
        """Text of an operand, in parentheses where it is an operation itself."""
        plain = isinstance(
            node,
            expressions.Constant | expressions.Field | expressions.Function | expressions.Negative,
        )
        return self.text(node) if plain else f"({self.text(node)})"

    def span(
        self, node: expressions.BoundExpression, *, beside: expressions.BoundExpression
    ) -> str:
        """Text of an operand; a number beside a length of time, or an instant, is a length."""
        length = isinstance(node, expressions.Constant) and node.type is AttributeType.LONG
        if length and _is_time(beside):
            assert isinstance(node, expressions.Constant)
            return print_length(int(node.value or 0))
        return self.inner(node)

    def like(self, node: expressions.Like, operator: str) -> str:
        escape = f" ESCAPE {_quoted(node.escape)}" if node.escape is not None else ""
        return f"{self.inner(node.operand)} {operator} {_quoted(node.pattern)}{escape}"

    def choice(self, parts: Iterable[expressions.BoundExpression]) -> str:
        """OR, or IN where one expression is compared with several."""
        parts = tuple(parts)
        equal = [p for p in parts if isinstance(p, expressions.Comparison) and p.operator == "="]
        if len(equal) == len(parts) and len({p.left for p in equal}) == 1:
            values = ", ".join(self.span(p.right, beside=p.left) for p in equal)
            return f"{self.inner(equal[0].left)} IN ({values})"
        return " OR ".join(map(self.inner, parts))


def _is_time(node: expressions.BoundExpression) -> bool:
    """Whether an expression is an instant, or the difference of two."""
    difference = (
        isinstance(node, expressions.Arithmetic) and node.left.type is AttributeType.TIMESTAMP
    )
    return node.type is AttributeType.TIMESTAMP or difference


def _constant(node: expressions.Constant) -> str:
    if node.type is AttributeType.TIMESTAMP and node.value is not None:
        return _quoted(format_instant(int(node.value)))
    return _print_literal(node.value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
