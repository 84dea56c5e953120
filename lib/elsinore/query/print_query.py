"""Prints a query in its canonical spelling; what is printed parses to an equal tree."""

from __future__ import annotations

from elsinore.query.syntax import (
    Aggregate,
    Call,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    EventPattern,
    Expression,
    KleenePlus,
    KleeneStar,
    Literal,
    Maybe,
    Negation,
    Operation,
    Pattern,
    Query,
    Reference,
    Semantics,
    Sequence,
)

#: How NOT is written with the operators that take it inside, which keeps what is printed from
#: nesting deeper than what was read.
_NEGATED_INSIDE = {name: f"NOT {name}" for name in ("IN", "BETWEEN", "LIKE")}
_NEGATED_INSIDE["IS NULL"] = "IS NOT NULL"

_SUFFIX: dict[type, str] = {KleenePlus: "+", KleeneStar: "*", Maybe: "?"}


def print_query(query: Query) -> str:
    """The canonical text of a query, on several lines, ending with `;`."""
    lines = [
        f"QUERY {query.name}",
        "RETURN " + ", ".join(_print_returned(item) for item in query.returns),
        "PATTERN " + print_pattern(query.pattern),
    ]
    if query.where is not None:
        lines.append("WHERE " + print_expression(query.where))
    if query.group_by:
        lines.append("GROUP-BY " + ", ".join(_print_reference(key) for key in query.group_by))
    if query.within is not None:
        slide = f" SLIDE {_print_duration(query.slide)}" if query.slide is not None else ""
        lines.append(f"WITHIN {_print_duration(query.within)}{slide}")
    if query.semantics is not Semantics.ANY:
        lines.append(f"SEMANTICS {query.semantics}")
    return "\n".join(lines) + ";\n"


def print_pattern(pattern: Pattern) -> str:
    """A pattern as text.

    >>> print_pattern(KleenePlus(Sequence((EventPattern("A", "a"), EventPattern("B", "B")))))
    'SEQ(A a, B)+'
    """
    match pattern:
        case EventPattern(type=kind, alias=alias):
            return kind if kind == alias else f"{kind} {alias}"
        case Sequence(parts):
            return "SEQ(" + ", ".join(map(print_pattern, parts)) + ")"
        case Negation(body):
            return "NOT " + _wrapped(body)
        case Disjunction(parts):
            return " OR ".join(map(_wrapped, parts))
        case Conjunction(parts):
            return " AND ".join(map(_wrapped, parts))
        case _:
            return _wrapped(pattern.body) + _SUFFIX[type(pattern)]


def _wrapped(pattern: Pattern) -> str:
    text = print_pattern(pattern)
    plain = isinstance(pattern, EventPattern | Sequence | KleenePlus | KleeneStar | Maybe)
    return text if plain else f"({text})"


def print_expression(expression: Expression) -> str:
    """An expression as text, with parentheses around every operation inside another."""
    match expression:
        case Literal(value, unit):
            return _print_literal(value, unit)
        case Reference():
            return _print_reference(expression)
        case Call(function, arguments, part):
            source = f"{part} FROM " if part is not None else ""
            return f"{function}({source}{', '.join(map(print_expression, arguments))})"
        case Equivalence(keys):
            return "[" + ", ".join(map(_print_reference, keys)) + "]"
        case Operation("NOT", (Operation(name, operands),)) if name in _NEGATED_INSIDE:
            return _print_operation(_NEGATED_INSIDE[name], [_inner(o) for o in operands])
        case Operation(name, operands):
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


def _inner(expression: Expression) -> str:
    text = print_expression(expression)
    return f"({text})" if isinstance(expression, Operation) else text


def _print_literal(value: int | float | str | bool | None, unit: str | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value} {unit}" if unit else str(value)


def _print_reference(reference: Reference) -> str:
    if reference.following:
        return f"NEXT({reference.qualifier}).{reference.attribute}"
    qualifier = f"{reference.qualifier}." if reference.qualifier else ""
    return f"{qualifier}{reference.attribute}"


def _print_returned(item: Aggregate | Reference) -> str:
    return item.label if isinstance(item, Aggregate) else _print_reference(item)


def _print_duration(duration: Duration) -> str:
    return f"{duration.amount} {duration.unit}" if duration.unit else str(duration.amount)
