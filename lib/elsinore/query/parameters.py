"""Parameters of a workload: `PARAM name type DEFAULT value;`, and their values in place of `$name`.

A value becomes a constant of the syntax tree; it is never text of the language.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Diagnostic
from elsinore.query import syntax
from elsinore.timeline import UNITS
from elsinore.wording import listed, suggest

#: A value as given by a caller: a number, a truth value, or a string, which for a duration has a
#: number and a unit.
Value = int | float | bool | str

_TYPES = (*AttributeType, "duration")


class Replaced(NamedTuple):
    """Queries in which parameters have values, and the errors of parameters."""

    queries: tuple[syntax.Query, ...]
    faults: list[Diagnostic]


def replace_parameters(
    queries: Sequence[syntax.Query],
    declarations: Sequence[syntax.Declaration],
    given: Mapping[str, Value],
) -> Replaced:
    """Return queries with the values of their parameters.

    Args:
        queries: the queries as parsed.
        declarations: the parameters of the workload.
        given: values by name, which replace defaults.
    """
    faults: list[Diagnostic] = []
    values: dict[str, syntax.Literal | None] = {}
    for one in declarations:
        if one.name in values:
            message = f"more than one parameter is called {one.name}"
            faults.append(Diagnostic(message, one.at, "rename one of them"))
        values[one.name] = _value(one, given, faults)
    for name in given.keys() - values.keys():
        hint = suggest(name, list(values)) or "declare it, as in PARAM least double DEFAULT 1;"
        faults.append(Diagnostic(f"no parameter {name}", None, hint))
    for name in _used(queries).keys() - values.keys():
        hint = suggest(name, list(values)) or f"declare it, as in PARAM {name} double DEFAULT 1;"
        hint = hint.replace("did you mean ", "did you mean $")
        at = _used(queries)[name].at
        faults.append(Diagnostic(f"no parameter {name}", at, hint))
    known = {name: value for name, value in values.items() if value is not None}
    return Replaced(
        tuple(_query(query, known) for query in queries if _is_set(query, known)), faults
    )


def _value(
    one: syntax.Declaration, given: Mapping[str, Value], faults: list[Diagnostic]
) -> syntax.Literal | None:
    """Return the value of a parameter; None if it has none, or a wrong one."""
    if one.type not in _TYPES:
        hint = suggest(one.type, list(map(str, _TYPES))) or f"use {listed(map(str, _TYPES))}"
        faults.append(Diagnostic(f"{one.type} is not a type of parameters", one.type_at, hint))
        return None
    value = one.default
    if one.name in given:
        value = _literal(given[one.name], one.type)
    elif value is None:
        hint = f"add a default, as in PARAM {one.name} {one.type} DEFAULT {_EXAMPLES[one.type]};"
        faults.append(Diagnostic(f"parameter {one.name} has no value", one.at, hint))
        return None
    if value is None or not _fits(value, one.type):
        shown = repr(given[one.name]) if one.name in given else "its default"
        hint = f"as in {_EXAMPLES[one.type]}"
        faults.append(Diagnostic(f"{one.name} is a {one.type}, not {shown[:40]}", one.at, hint))
        return None
    if one.type == "double" and isinstance(value.value, int) and not isinstance(value.value, bool):
        return replace(value, value=float(value.value))
    return value


_EXAMPLES = {
    "long": "10", "double": "0.5", "string": "'DE'", "boolean": "true",
    "timestamp": "'2013-01-31T10:00:00Z'", "duration": "'30 minutes'",
}  # fmt: skip


def _literal(value: Value, kind: str) -> syntax.Literal | None:
    """Return a given value as a constant; a string has the type of the parameter."""
    if not isinstance(value, str) or kind in ("string", "timestamp"):
        return syntax.Literal(value)
    number, _, unit = value.strip().partition(" ")
    match kind:
        case "boolean":
            truth = {"true": True, "false": False}.get(value.lower())
            return None if truth is None else syntax.Literal(truth)
        case "duration":
            return _number(number, unit.strip().lower() or None)
        case _:
            return _number(value.strip(), None)


def _number(text: str, unit: str | None) -> syntax.Literal | None:
    for kind in (int, float):
        try:
            return syntax.Literal(kind(text), unit)
        except ValueError:  # not a number of this kind
            continue
    return None


def _fits(value: syntax.Literal, kind: str) -> bool:
    plain = value.unit is None
    match kind, value.value:
        case "boolean", bool():
            return True
        case _, bool():
            return False
        case "long", int():
            return plain
        case "double", int() | float():
            return plain
        case (("string" | "timestamp"), str()):
            return True
        case "duration", int() | float():
            return plain or value.unit in UNITS or str(value.unit).removesuffix("s") in UNITS
    return False


# ---- in place of `$name`


def _used(queries: Iterable[syntax.Query]) -> dict[str, syntax.Parameter]:
    """Return the parameters that queries use, by name."""
    found: dict[str, syntax.Parameter] = {}
    for query in queries:
        lengths = [each for each in (query.within, query.slide) if each is not None]
        nodes = (node for each in _expressions(query) for node in syntax.nodes_of(each))
        for node in (*lengths, *nodes):
            if isinstance(node, syntax.Parameter):
                found.setdefault(node.name, node)
    return found


def _expressions(query: syntax.Query) -> list[syntax.Expression]:
    items = [item.expression for item in (*query.returns, *query.group_by)]
    return [*items, *(each for each in (query.where, query.having) if each is not None)]


def _is_set(query: syntax.Query, values: Mapping[str, syntax.Literal]) -> bool:
    return _used([query]).keys() <= values.keys()


def _query(query: syntax.Query, values: Mapping[str, syntax.Literal]) -> syntax.Query:
    def each(node: syntax.Expression) -> syntax.Expression:
        if isinstance(node, syntax.Parameter):
            return replace(values[node.name], at=node.at)
        return syntax.with_operands(node, tuple(map(each, syntax.operands_of(node))))

    def length(one: syntax.Duration | syntax.Parameter | None) -> syntax.Duration | None:
        if isinstance(one, syntax.Parameter):
            value = values[one.name]
            amount = value.value if isinstance(value.value, int | float) else 0
            return syntax.Duration(amount, value.unit, one.at)
        return one

    if not _used([query]):
        return query
    return replace(
        query,
        returns=tuple(replace(item, expression=each(item.expression)) for item in query.returns),
        group_by=tuple(replace(item, expression=each(item.expression)) for item in query.group_by),
        where=None if query.where is None else each(query.where),
        having=None if query.having is None else each(query.having),
        within=length(query.within),
        slide=length(query.slide),
    )
