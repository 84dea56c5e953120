"""Random parameters: some constants of a query become values of parameters."""

from __future__ import annotations

from dataclasses import replace

from elsinore.query import syntax
from elsinore.query.given_values import Value, given_in_mapping
from elsinore.query.parameters import replace_parameters
from tests.property.random_cases.dice import Dice

#: Constructs of this module.
OF_PARAMETERS = ("parameter", "parameter in WITHIN", "list of values")
#: The parameter of WITHIN.
WITHIN = "w"
#: The parameter of SPAN.
SPAN = "d"
#: The parameter of SESSION.
GAP = "gap"


def with_parameters(dice: Dice, query: syntax.Query) -> syntax.Query:
    """Return an equal query whose parameters have values; `q[3]` if one has a list of values.

    Most queries get no parameter.
    """
    if not dice.chance(0.06, *OF_PARAMETERS, "parameter in SPAN", "parameter in SESSION"):
        return query
    declarations: list[syntax.Declaration] = []
    params: dict[str, Value | list[Value]] = {}

    def declared(name: str, literal: syntax.Literal, kind: str) -> syntax.Parameter:
        assert literal.value is not None
        value: Value = f"{literal.value} {literal.unit}" if literal.unit else literal.value
        declarations.append(syntax.Declaration(name, kind, None))
        several = dice.chance(0.3, "list of values")
        params[name] = [_other(value), value] if several else value
        return syntax.Parameter(name)

    def each(node: syntax.Expression) -> syntax.Expression:
        if isinstance(node, syntax.Literal) and _fits(node) and dice.chance(0.7):
            return declared(f"p{len(declarations)}", node, _type(node))
        operands = syntax.operands_of(node)
        if isinstance(node, syntax.Operation) and node.name == "LIKE":
            return syntax.with_operands(node, (each(operands[0]), *operands[1:]))
        return syntax.with_operands(node, tuple(map(each, operands)))

    where = query.where and each(query.where)
    having = query.having and each(query.having)
    within: syntax.Duration | syntax.Parameter | None = query.within
    if isinstance(within, syntax.Duration) and dice.chance(0.5, "parameter in WITHIN"):
        within = declared(WITHIN, syntax.Literal(within.amount, within.unit), "duration")
    span = query.span
    if span is not None and dice.chance(0.5, "parameter in SPAN"):
        length = span.length
        assert isinstance(length, syntax.Duration)
        named = declared(SPAN, syntax.Literal(length.amount, length.unit), "duration")
        span = replace(span, length=named)
    session = query.session
    if session is not None and dice.chance(0.5, "parameter in SESSION"):
        gap = session.gap
        assert isinstance(gap, syntax.Duration)
        named = declared(GAP, syntax.Literal(gap.amount, gap.unit), "duration")
        session = replace(session, gap=named)
    drawn = replace(query, where=where, having=having, within=within, span=span, session=session)
    found = replace_parameters([drawn], declarations, given_in_mapping(params, str))
    assert not found.faults, found.faults
    last = found.queries[-1]  # of a list, the last value is the query's own
    assert replace(last, name=query.name, written=None, chosen=()) == query
    return last


def _fits(literal: syntax.Literal) -> bool:
    """Return whether a parameter can have the value: a long has 64 bits."""
    value = literal.value
    return value is not None and (not isinstance(value, int) or abs(value) < 2**63)


def _type(literal: syntax.Literal) -> str:
    match literal.value:
        case bool():
            return "boolean"
        case _ if literal.unit:
            return "duration"
        case int():
            return "long"
        case float():
            return "double"
    return "string"


def _other(value: Value) -> Value:
    """Return another value of the type."""
    match value:
        case bool():
            return not value
        case str():
            return f"1{value}"
    return value - 1 if value else 1
