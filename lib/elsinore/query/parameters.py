"""Parameters of a workload: `PARAM name type DEFAULT value;`, and their values in place of `$name`.

A value becomes a constant of the syntax tree; it is never text of the language. A query that uses a
parameter with a list of values becomes one query per value, and `q[10]` is the name of the query q
for the value 10.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Diagnostic, Location
from elsinore.hints import Either, Hint
from elsinore.query import syntax
from elsinore.query.bound import Parameter
from elsinore.query.given_values import Given, Value
from elsinore.query.parse import MAX_QUERIES, MAX_STRING
from elsinore.timeline import CALENDAR_UNITS, UNITS, parse_instant
from elsinore.wording import listed, shown, suggest, visible

#: Types of parameters, each with a value as in the language, and as given by callers.
_EXAMPLES: dict[str, tuple[str, str | Either]] = {
    "long": ("10", "10"),
    "double": ("0.5", "0.5"),
    "string": ("'DE'", "'DE'"),
    "boolean": ("true", Either("true", "True")),
    "timestamp": ("'2013-01-31T10:00:00Z'", "'2013-01-31T10:00:00Z'"),
    "duration": ("30 minutes", "'30 minutes'"),
}
_TYPES = (*map(str, AttributeType), "duration")
#: Characters of a value in a list; names of queries contain it.
MAX_IN_NAME = 100

_NUMBER = re.compile(
    r"[+-]?(\d{1,40}|(?=\.?\d)\d{0,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?)", re.ASCII
)
_DURATION = re.compile(rf"({_NUMBER.pattern})\s*([A-Za-z]*)", re.ASCII)
#: Strings that names of queries have without quotes.
_PLAIN = re.compile(r"[\w.:/+-]+(?: [\w.:/+-]+)*")
_INT64 = range(-(2**63), 2**63)


class Replaced(NamedTuple):
    """Queries in which parameters have values.

    Attributes:
        queries: the queries, except queries that use a parameter without a value.
        faults: the errors of parameters and of given values.
        unset: the faults of parameters without a value.
        parameters: the parameters with their values.
    """

    queries: tuple[syntax.Query, ...]
    faults: list[Diagnostic]
    unset: list[Diagnostic]
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    """A value of a parameter, and its text in names of queries."""

    literal: syntax.Literal
    text: str


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a parameter: at least one if it is valid."""

    choices: tuple[_Choice, ...]
    is_list: bool = False


def replace_parameters(
    queries: Sequence[syntax.Query],
    declarations: Sequence[syntax.Declaration],
    given: Sequence[Given],
) -> Replaced:
    """Return queries with the values of their parameters.

    Args:
        queries: the queries as parsed.
        declarations: the parameters of the workload.
        given: values that replace defaults.
    """
    by_name = {one.name: one for one in given}
    faults: list[Diagnostic] = []
    unset: list[Diagnostic] = []
    values: dict[str, _Values] = {}
    for one in declarations:
        if one.name in values:
            message = f"more than one parameter is called {one.name}"
            faults.append(Diagnostic(message, one.at, "rename one of them"))
        elif one.name not in by_name and one.default is None and one.type in _EXAMPLES:
            unset.append(_unset(one))
            values[one.name] = _Values(())
        else:
            values[one.name] = _values(one, by_name.get(one.name), faults)
    faults += _unknown(queries, values, given)
    uses = [_used([query]) for query in queries]
    found: list[syntax.Query] = []
    for query, used in zip(queries, uses, strict=True):
        own = {name: values[name] for name in values if name in used}
        if len(own) < len(used) or not all(one.choices for one in own.values()):
            continue
        number = len(found) + math.prod(len(one.choices) for one in own.values())
        if number > MAX_QUERIES:
            message = f"lists of values give more than {MAX_QUERIES} queries"
            faults.append(Diagnostic(message, query.at, "set fewer values"))
            break
        found += _expanded(query, own)
    users = {
        one.name: tuple(q.name for q, used in zip(queries, uses, strict=True) if one.name in used)
        for one in declarations
    }
    parameters = tuple(
        Parameter(
            one.name, one.type, tuple(choice.text for choice in values[one.name].choices),
            users[one.name], one.at,
        )
        for one in declarations
    )  # fmt: skip
    return Replaced(tuple(found), faults + unset, unset, parameters)


def _unset(one: syntax.Declaration) -> Diagnostic:
    default = f"PARAM {one.name} {one.type} DEFAULT {_EXAMPLES[one.type][0]};"
    hint = Hint("add ", *_example(one), f", or a default: {default}")
    return Diagnostic(f"parameter {one.name} has no value", one.at, hint)


def _unknown(
    queries: Sequence[syntax.Query], known: Collection[str], given: Sequence[Given]
) -> Iterator[Diagnostic]:
    """Yield the errors of given and used parameters that are not declared."""
    for one in given:
        if one.name not in known:
            fix = suggest(one.name, list(known)) or _declare(one.name, known)
            message = f"the workload has no parameter {shown(one.name)[1:-1]}"
            yield Diagnostic(message, Location(one.origin), fix)
    for name, used in _used(queries).items():
        if name not in known:
            fix = suggest(name, [f"${each}" for each in known]) or _declare(name, known)
            yield Diagnostic(f"no parameter {name}", used.at, fix)


def _declare(name: str, known: Collection[str]) -> str:
    if known:
        return f"there is {listed(known)}"
    name = name if name.isidentifier() else "least"
    return f"declare it: PARAM {name} double DEFAULT 1;"


# ---- values


def _values(one: syntax.Declaration, given: Given | None, faults: list[Diagnostic]) -> _Values:
    """Return the values of a parameter, without the invalid ones, which are noted."""
    if one.type not in _EXAMPLES:
        hint = suggest(one.type, list(_TYPES)) or f"use {listed(_TYPES)}"
        faults.append(Diagnostic(f"{one.type} is not a type of parameters", one.type_at, hint))
        return _Values(())
    if given is None:
        assert one.default is not None
        literal = _typed(one.default, one.type)
        if literal is None:
            message = f"the default of {one.name} is not a {one.type}"
            faults.append(Diagnostic(message, one.at, f"as in DEFAULT {_EXAMPLES[one.type][0]}"))
            return _Values(())
        return _Values((_Choice(literal, _text(literal)),))
    choices: dict[str, _Choice] = {}
    for value in given.values:
        literal = _literal(value, one.type, is_text=given.is_text)
        if literal is None:
            message, hint = (
                f"{one.name} is a {one.type}, not {shown(value)}",
                Hint("as in ", *_example(one)),
            )
        elif (text := _text(literal)) in choices:
            message = f"{one.name} has the value {text[:MAX_IN_NAME]} twice"
            hint = Hint("remove one of them")
        elif given.is_list and len(text) > MAX_IN_NAME:
            message = f"a value in the list of {one.name} is longer than {MAX_IN_NAME} characters"
            hint = Hint("set a shorter value, or only one value")
        else:
            choices[text] = _Choice(literal, text)
            continue
        faults.append(Diagnostic(message, one.at, hint))
    return _Values(tuple(choices.values()), given.is_list)


def _example(one: syntax.Declaration) -> tuple[str | Either, ...]:
    """Return how a caller sets a parameter."""
    value = _EXAMPLES[one.type][1]
    return Either("--set ", "params={'"), one.name, Either("=", "': "), value, Either("", "}")


def _literal(value: Value, kind: str, *, is_text: bool) -> syntax.Literal | None:
    """Return a given value as a constant of a type; None if it does not have the type."""
    if not isinstance(value, str) or kind in ("string", "timestamp"):
        return _typed(syntax.Literal(value), kind)
    if kind == "duration":
        match = _DURATION.fullmatch(value.strip())
        number = None if match is None else _number(match[1])
        if match is None or number is None:
            return None
        return _typed(syntax.Literal(number, match[match.re.groups].lower() or None), kind)
    if not is_text:
        return None
    text = value.strip()
    if kind == "boolean":
        truth = {"true": True, "false": False}.get(text.lower())
        return None if truth is None else syntax.Literal(truth)
    number = _number(text)
    return None if number is None else _typed(syntax.Literal(number), kind)


def _number(text: str) -> int | float | None:
    """Return the number of a text as in the language, with a sign."""
    if not _NUMBER.fullmatch(text):
        return None
    return float(text) if any(sign in text for sign in ".eE") else int(text)


def _typed(value: syntax.Literal, kind: str) -> syntax.Literal | None:
    """Return a constant as one of a type; None if it does not have the type."""
    match kind, value.value:
        case "boolean", bool():
            return value
        case _, bool():
            return None
        case "long", int(number) if number in _INT64 and value.unit is None:
            return value
        case "double", (int() | float()) as number if value.unit is None:
            return _double(value, number)
        case "string", str(text) if len(text) <= MAX_STRING:
            return value
        case "timestamp", str(text):
            return value if _is_instant(text) else None
        case "duration", (int() | float()) as number if _is_finite(number):
            unit = value.unit
            known = (None, *UNITS, *CALENDAR_UNITS)
            is_unit = unit in known or (unit or "").removesuffix("s") in known
            return value if is_unit else None
    return None


def _double(literal: syntax.Literal, value: float) -> syntax.Literal | None:
    return replace(literal, value=float(value)) if _is_finite(value) else None


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all doubles
        return False


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return True


def _text(literal: syntax.Literal) -> str:
    """Return a value as text in names: numbers as in JSON, and other strings in quotes.

    Different values have different texts.
    """
    match literal.value:
        case bool(value):
            return "true" if value else "false"
        case str(value):
            if _PLAIN.fullmatch(value):
                return value
            inside = value.replace("\\", "\\\\").replace("'", "''")
            return f"'{visible(inside)}'"
        case value:
            text = repr(value).removesuffix(".0")
            return f"{text} {literal.unit}" if literal.unit else text


# ---- in place of `$name`


def _used(queries: Iterable[syntax.Query]) -> dict[str, syntax.Parameter]:
    """Return the parameters that queries use, by name."""
    found: dict[str, syntax.Parameter] = {}
    for query in queries:
        lengths = syntax.lengths_of(query)
        nodes = (node for each in _expressions(query) for node in syntax.nodes_of(each))
        for node in (*lengths, *nodes):
            if isinstance(node, syntax.Parameter):
                found.setdefault(node.name, node)
    return found


def _expressions(query: syntax.Query) -> list[syntax.Expression]:
    items = [item.expression for item in (*query.returns, *query.group_by)]
    return [*items, *(each for each in (query.where, query.having) if each is not None)]


def _expanded(query: syntax.Query, values: Mapping[str, _Values]) -> Iterator[syntax.Query]:
    """Yield a query with the values of the parameters that it uses, one per combination."""
    if not values:
        yield query
        return
    lists = [name for name, one in values.items() if one.is_list]
    for choices in product(*(one.choices for one in values.values())):
        chosen = dict(zip(values, choices, strict=True))
        texts = {name: chosen[name].text for name in values}
        inside = [f"{name}={texts[name]}" for name in lists]
        only = [texts[name] for name in lists]
        suffix = f"[{','.join(only if len(lists) == 1 else inside)}]" if lists else ""
        yield replace(
            _replaced(query, {name: choice.literal for name, choice in chosen.items()}),
            name=query.name + suffix,
            written=query.name,
            chosen=tuple(syntax.Chosen(name, texts[name], name in lists) for name in values),
        )


def _replaced(query: syntax.Query, values: Mapping[str, syntax.Literal]) -> syntax.Query:
    def each(node: syntax.Expression) -> syntax.Expression:
        if isinstance(node, syntax.Parameter):
            return _signed(replace(values[node.name], at=node.at))
        return syntax.with_operands(node, tuple(map(each, syntax.operands_of(node))))

    def length(one: syntax.Duration | syntax.Parameter | None) -> syntax.Duration | None:
        if isinstance(one, syntax.Parameter):
            value = values[one.name].value
            # Binding refuses a negative length, and so a parameter of another type than a number.
            amount = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
            return syntax.Duration(amount, values[one.name].unit, one.at)
        return one

    span = query.span
    if span is not None:
        own, period = length(span.length), length(span.period)
        assert own is not None, "a span has a length"
        span = replace(span, length=own, period=period)
    session = query.session
    if session is not None:
        own, longest = length(session.gap), length(session.up_to)
        assert own is not None, "sessions have a gap"
        session = replace(session, gap=own, up_to=longest)
    return replace(
        query,
        returns=tuple(replace(item, expression=each(item.expression)) for item in query.returns),
        group_by=tuple(replace(item, expression=each(item.expression)) for item in query.group_by),
        where=None if query.where is None else each(query.where),
        having=None if query.having is None else each(query.having),
        within=length(query.within),
        slide=length(query.slide),
        span=span,
        offset=length(query.offset),
        session=session,
    )


def _signed(literal: syntax.Literal) -> syntax.Expression:
    """Return a constant as the parser does: a negative number is a minus before a number."""
    value = literal.value
    if isinstance(value, int | float) and math.copysign(1, value) < 0:
        return syntax.Operation("neg", (replace(literal, value=-value),), literal.at)
    return literal
