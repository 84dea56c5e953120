"""Prints queries, patterns and conditions in the words of the language.

A query is printed in its canonical spelling: what is printed parses to an equal tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from elsinore.catalog.stream import AttributeType
from elsinore.query import syntax
from elsinore.query.expressions import (
    EXTRACT_PARTS,
    TIME,
    Applied,
    BoundExpression,
    Constant,
    Field,
    operands_of,
)
from elsinore.timeline import UNITS, format_instant
from elsinore.wording import plural

#: How NOT is written with the operators that take it inside, which keeps what is printed from
#: nesting deeper than what was read.
_NEGATED_INSIDE = {name: f"NOT {name}" for name in ("IN", "BETWEEN", "LIKE")}
_NEGATED_INSIDE["IS NULL"] = "IS NOT NULL"

_NO_ESCAPE = Constant(None, AttributeType.STRING)
_SUFFIX: dict[type, str] = {syntax.KleenePlus: "+", syntax.KleeneStar: "*", syntax.Maybe: "?"}


def print_query(query: syntax.Query) -> str:
    """The canonical text of a query, on several lines, ending with `;`."""
    lines = [
        f"QUERY {query.name}",
        "RETURN " + ("STEPS" if query.steps else ", ".join(map(print_item, query.returns))),
        "PATTERN " + print_pattern(query.pattern),
    ]
    if query.where is not None:
        lines.append("WHERE " + print_expression(query.where))
    if query.group_by:
        lines.append("GROUP-BY " + ", ".join(map(print_item, query.group_by)))
    if query.having is not None:
        lines.append("HAVING " + print_output(query.having))
    lines += print_windows(query)
    if query.semantics is not syntax.Semantics.ANY:
        lines.append(f"SEMANTICS {query.semantics}")
    return "\n".join(lines) + ";\n"


def print_windows(query: syntax.Query) -> list[str]:
    """Return the clauses WITHIN, SPAN and SESSION as text; a valid query has one of them."""
    clauses = []
    if query.within is not None:
        lengths = [query.within] if query.slide is None else [query.within, query.slide]
        texts = list(map(print_duration, lengths))
        clauses.append("WITHIN " + " SLIDE ".join(texts) + _print_offset(query))
    if query.span is not None:
        clauses.append(print_span(query.span, _print_offset(query)))
    if query.session is not None:
        clauses.append(print_session(query.session))
    return clauses


def _print_offset(query: syntax.Query) -> str:
    """Return the zone and the OFFSET of a query as text."""
    zone = "" if query.zone is None else f" IN {_print_literal(query.zone.name, None)}"
    return zone if query.offset is None else f"{zone} OFFSET {print_duration(query.offset)}"


def print_span(span: syntax.Span, offset: str = "") -> str:
    """Return a SPAN clause as text, given the text of its zone and OFFSET."""
    period = "" if span.period is None else f" PER {print_duration(span.period)}{offset}"
    return f"SPAN {print_duration(span.length)}{period}{' BY FIRST' if span.by_first else ''}"


def print_session(session: syntax.Session) -> str:
    """Return a SESSION clause as text."""
    up_to = "" if session.up_to is None else f" UP TO {print_duration(session.up_to)}"
    by = f" BY {', '.join(key.attribute for key in session.keys)}" if session.keys else ""
    return f"SESSION {print_duration(session.gap)}{up_to}{by}"


def print_duration(length: syntax.Duration | syntax.Parameter) -> str:
    """Return a length as it is written in a query."""
    if isinstance(length, syntax.Parameter):
        return f"${length.name}"
    return _print_literal(length.amount, length.unit)


def print_item(item: syntax.Item) -> str:
    """Return an item of RETURN or GROUP-BY as text."""
    text = print_output(item.expression)
    return text if item.name is None else f"{text} AS {item.name}"


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
        case syntax.AnyOf():
            types = ", ".join(leaf.type for leaf in pattern.leaves)
            # `ANY 2` is an alias that only a pattern in normal form has.
            is_named = pattern.alias.split()[0] != syntax.ANY
            return f"ANY({types}) {pattern.alias}" if is_named else f"ANY({types})"
        case syntax.Negation(body):
            return "NOT " + _wrapped(body)
        case syntax.Quantified(body, least, most):
            bounds = str(least) if least == most else f"{least},{'' if most is None else most}"
            return f"{_wrapped(body)}{{{bounds}}}"
        case syntax.Disjunction(parts):
            return " OR ".join(map(_wrapped, parts))
        case syntax.Conjunction(parts):
            return " AND ".join(map(_wrapped, parts))
        case _:
            return _wrapped(pattern.body) + _SUFFIX[type(pattern)]


def _wrapped(pattern: syntax.Pattern) -> str:
    text = print_pattern(pattern)
    binds_loosely = syntax.Negation, syntax.Disjunction, syntax.Conjunction
    if isinstance(pattern, binds_loosely) and not isinstance(pattern, syntax.AnyOf):
        return f"({text})"
    return text


def print_expression(expression: syntax.Expression) -> str:
    """An expression as text, with parentheses around every operation inside another."""
    match expression:
        case syntax.Literal(value, unit):
            return _print_literal(value, unit)
        case syntax.Reference():
            return _print_reference(expression)
        case syntax.Call():
            return _print_call(expression, print_expression)
        case syntax.Case():
            return _print_case(expression, print_expression)
        case syntax.Zoned(operand, zone):
            return f"{_inner(operand)} AT TIME ZONE {_print_literal(zone, None)}"
        case syntax.Parameter(name):
            return f"${name}"
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


def _print_call(call: syntax.Call, each: Callable[[syntax.Expression], str]) -> str:
    in_upper_case = call.is_aggregate or call.function in syntax.MEASURES
    name = call.function.upper() if in_upper_case else call.function
    source = f"{call.part} FROM " if call.part is not None else ""
    inside = "*" if call.star else ", ".join(map(each, call.arguments))
    modifier = f"{call.modifier} " if call.modifier else ""
    return f"{name}({source}{modifier}{inside})"


def _print_case(case: syntax.Case, each: Callable[[syntax.Expression], str]) -> str:
    parts = [f" WHEN {each(condition)} THEN {each(result)}" for condition, result in case.branches]
    otherwise = "" if case.otherwise is None else f" ELSE {each(case.otherwise)}"
    return f"CASE{''.join(parts)}{otherwise} END"


#: How strongly operators bind, and operands: an operand that binds less strongly than its operator
#: requires needs parentheses.
_BINDING = {
    "OR": 1, "AND": 2, "NOT": 3,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "IS NULL", "IN", "BETWEEN", "LIKE"), 4),
    "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "neg": 7,
}  # fmt: skip
_LEFT_TO_RIGHT = frozenset("+-*/%")


def print_output(expression: syntax.Expression, least: int = 0) -> str:
    """Return an expression of RETURN or HAVING as text, with parentheses only if they are needed.

    The text of a value without a name is its key in result rows.

    Args:
        expression: the expression.
        least: how strongly it must bind; otherwise it is printed in parentheses.

    >>> n = syntax.Call("count", (), star=True)
    >>> print_output(syntax.Operation("-", (n, syntax.Operation("-", (n, syntax.Literal(1))))))
    'COUNT(*) - (COUNT(*) - 1)'
    """
    match expression:
        case syntax.Call():
            return _print_call(expression, print_output)
        case syntax.Case():
            return _print_case(expression, print_output)
        case syntax.Zoned(operand, zone):
            inside = print_output(operand, _BINDING["+"])
            return f"{inside} AT TIME ZONE {_print_literal(zone, None)}"
        case syntax.Operation("NOT", (syntax.Operation(name, operands),)) if (
            name in _NEGATED_INSIDE
        ):
            shown, binding = _NEGATED_INSIDE[name], _BINDING[name]
        case syntax.Operation(name, operands):
            shown, binding = name, _BINDING[name]
        case _:
            return print_expression(expression)
    needed = [binding if name == "NOT" else binding + 1] * len(operands)
    if name in _LEFT_TO_RIGHT:
        needed[0] = binding
    texts = [print_output(operand, each) for operand, each in zip(operands, needed, strict=True)]
    text = _print_operation(shown, texts)
    return f"({text})" if binding < least else text


def _inner(expression: syntax.Expression) -> str:
    text = print_expression(expression)
    return f"({text})" if isinstance(expression, syntax.Operation) else text


def _print_literal(value: int | float | str | bool | None, unit: str | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"{value} {unit}" if unit else str(value)


def _print_reference(reference: syntax.Reference) -> str:
    if reference.following:
        return f"NEXT({reference.qualifier}).{reference.attribute}"
    qualifier = f"{reference.qualifier}." if reference.qualifier else ""
    return f"{qualifier}{reference.attribute}"


# ---- bound conditions, for people


def print_bound(expression: BoundExpression, aliases: Mapping[int, str] | None = None) -> str:
    """Return an expression as text; attributes have the alias of their position, if given."""
    return print_expression(_as_written(expression, aliases or {}))


def _as_written(node: BoundExpression, aliases: Mapping[int, str]) -> syntax.Expression:
    """A bound expression as its author might have written it."""

    def each(*operands: BoundExpression) -> tuple[syntax.Expression, ...]:
        return tuple(_as_written(operand, aliases) for operand in operands)

    match node:
        case Constant(int(ticks), length=True):
            number, unit = _in_units(ticks)
            return syntax.Literal(number, unit if number == 1 else f"{unit}s")
        case Constant(value, kind):
            is_instant = kind is AttributeType.TIMESTAMP and value is not None
            return syntax.Literal(format_instant(int(value or 0)) if is_instant else value)
        case Field(position, attribute, _, following):
            name = "time" if attribute == TIME else attribute
            return syntax.Reference(aliases.get(position), name, following)
        case Applied(name, (operand, *zone)) if name in EXTRACT_PARTS:
            return syntax.Call("extract", (_zoned(each(operand)[0], zone),), name)
        case Applied("date_trunc", (unit, operand, *zone)):
            unit_text, instant_text = each(unit, operand)
            return syntax.Call("date_trunc", (unit_text, _zoned(instant_text, zone)))
        case Applied("CASE", operands):
            written = each(*operands[:-1])
            is_null = isinstance(operands[-1], Constant) and operands[-1].value is None
            last = None if is_null else each(operands[-1])[0]
            return syntax.Case(tuple(zip(written[::2], written[1::2], strict=True)), last)
        case Applied(name, operands) if name.islower() and name != "neg":
            return syntax.Call(name, each(*operands))
        case Applied("AND", (Applied(">=", (left, low)), Applied("<=", (other, high)))) if (
            left == other
        ):
            return syntax.Operation("BETWEEN", each(left, low, high))
        case Applied("OR", (Applied("=", (left, _)), *_) as parts) if all(
            isinstance(part, Applied) and (part.name, part.operands[0]) == ("=", left)
            for part in parts
        ):
            values = [operands_of(part)[1] for part in parts]
            return syntax.Operation("IN", each(left, *values))
        case Applied("LIKE", (operand, pattern, escape)):
            texts = [text for text in (pattern, escape) if text != _NO_ESCAPE]
            return syntax.Operation("LIKE", each(operand, *texts))
    assert isinstance(node, Applied), "values of rows are printed as they are written"
    return syntax.Operation(node.name, each(*node.operands))


def _zoned(operand: syntax.Expression, zone: list[BoundExpression]) -> syntax.Expression:
    if zone and isinstance(zone[0], Constant):
        return syntax.Zoned(operand, str(zone[0].value))
    return operand


def print_length(ticks: int, *, calendar: bool = True) -> str:
    """Microseconds in the largest unit that divides them; ticks of no unit as they are.

    >>> print_length(5_400_000_000), print_length(86_400_000_000)
    ('90 minutes', '1 day')
    """
    if not calendar:
        return str(ticks)
    return count_of(*_in_units(ticks))


def _in_units(ticks: int) -> tuple[int, str]:
    """How many of the largest unit that divides some microseconds, and the unit."""
    unit, length = max(
        ((unit, length) for unit, length in UNITS.items() if ticks % length == 0),
        key=lambda each: each[1] if ticks else -each[1],
    )
    return ticks // length, unit


def count_of(number: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "hour"), count_of(2_000, "query"), count_of(0, "mismatch")
    ('1 hour', '2,000 queries', '0 mismatches')
    """
    return f"{number:,} {plural(noun, number)}"
