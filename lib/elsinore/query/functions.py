"""The scalar functions of the language: their operands, types and constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query import operand_types
from elsinore.query.expressions import (
    EXTRACT_PARTS,
    TRUNCATE_UNITS,
    Applied,
    BoundExpression,
    Constant,
    sides_of,
)
from elsinore.query.operand_types import require
from elsinore.query.resolve import Scope
from elsinore.query.syntax import Call, Zoned
from elsinore.wording import listed, suggest
from elsinore.zones import zone_named

_LONG, _DOUBLE, _STRING = AttributeType.LONG, AttributeType.DOUBLE, AttributeType.STRING
_BOOLEAN, _TIMESTAMP = AttributeType.BOOLEAN, AttributeType.TIMESTAMP

#: Maximum length of a pattern of LIKE or regexp_like: patterns are compiled.
MAX_PATTERN = 1_000

_Binder = Callable[[Scope, Call, list[BoundExpression]], Applied]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    Attributes:
        least: minimum number of operands.
        most: maximum number of operands; None: any number.
        bind: checks the types of the operands and returns the call.
        example: a call, for hints.
        constants: numbers of the operands that must be constants.
        of_pairs: whether kernels can compute it from values of both events of a pair.
    """

    least: int
    most: int | None
    bind: _Binder
    example: str
    constants: frozenset[int] = frozenset()
    of_pairs: bool = False


# ---- numbers


def _bind_same_type(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    """`abs`, `ceil`, `floor`, `round` and `sign`: the result has the type of the operand."""
    require(scope, call, operands[0], _LONG, _DOUBLE)
    if len(operands) > 1 and operands[1].type is not _LONG:
        message = f"{call.function} takes a whole number of decimals, not a {operands[1].type}"
        scope.refuse(message, call.at, "as in round(V.price, 2)")
    return Applied(call.function, tuple(operands), operands[0].type)


def _bind_double(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    for operand in operands:
        require(scope, call, operand, _LONG, _DOUBLE)
    return Applied(call.function, tuple(operands), _DOUBLE)


# ---- strings


def _bind_strings(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    """Functions whose operands and result are strings."""
    for operand in operands:
        require(scope, call, operand, _STRING)
    return Applied(call.function, tuple(operands), _STRING)


def _bind_length(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    require(scope, call, operands[0], _STRING)
    return Applied("length", tuple(operands), _LONG)


def _bind_substr(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    text, *places = operands
    require(scope, call, text, _STRING)
    for place in places:
        if place.type is not _LONG:
            message = f"substr takes whole numbers after the string, not a {place.type}"
            scope.refuse(message, call.at, "as in substr(V.name, 1, 3)")
    return Applied("substr", tuple(operands), _STRING)


def _bind_starts_with(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    for operand in operands:
        require(scope, call, operand, _STRING)
    return Applied("starts_with", tuple(operands))


def _bind_regexp_like(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    for operand in operands:
        require(scope, call, operand, _STRING)
    pattern, at = _text_of(operands[1]), call.arguments[1].at
    if len(pattern) > MAX_PATTERN:
        message = f"the regular expression is longer than {MAX_PATTERN} characters"
        scope.refuse(message, at, "shorten it")
    if problem := _regexp_problem(pattern):
        scope.refuse(f"invalid regular expression: {problem[0]}", at, problem[1])
    return Applied("regexp_like", tuple(operands))


def _regexp_problem(pattern: str) -> tuple[str, str] | None:
    """Return what is wrong with a regular expression of RE2, and a hint; None if it is valid."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        said = str(error).removeprefix("Invalid regular expression: ")
        reason, _, part = said.partition(": ")
        place = pattern.find(part) + 1 if part else 0
        return reason, f"at character {max(place, 1)}"
    return None


# ---- one of several values


def _bind_choice(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    """`coalesce`, `greatest` and `least`: one of the operands, which are of one kind."""
    name, at = call.function, call.at
    alike = operand_types.alike(scope, operands, at)
    kind = operand_types.common_type(alike)
    if kind is None:
        _refuse_kinds(scope, name, alike, at)
    if kind is _BOOLEAN and name != "coalesce":
        instead = "AND" if name == "least" else "OR"
        scope.refuse(f"cannot order booleans by {name}", at, f"join them with {instead}")
    return Applied(name, tuple(alike), kind)


def _bind_nullif(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    alike = operand_types.alike(scope, operands, call.at)
    if operand_types.common_type(alike) is None:
        _refuse_kinds(scope, "nullif", alike, call.at)
    return Applied("nullif", tuple(alike), alike[0].type)


def _refuse_kinds(
    scope: Scope, name: str, operands: list[BoundExpression], at: Location
) -> NoReturn:
    kinds = listed(dict.fromkeys(f"a {operand.type}" for operand in operands))
    message = f"{name} cannot combine {kinds.replace(' or ', ' and ')}"
    scope.refuse(message, at, "pass values of one type")


# ---- timestamps


def _bind_extract(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    operand = operand_types.instant(scope, operands[0], call.at)
    _require_instant(scope, call, operand)
    return Applied(str(call.part), (operand, *_zone(scope, call, 0)), _LONG)


def _bind_date_trunc(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    unit, operand = operands
    if unit.type is not _STRING or not isinstance(unit, Constant):
        scope.refuse("date_trunc takes a unit first", call.at, "as in date_trunc('day', V.time)")
    name = _text_of(unit).lower()
    if name not in TRUNCATE_UNITS:
        hint = suggest(name, TRUNCATE_UNITS) or f"use {listed(TRUNCATE_UNITS)}"
        scope.refuse(f"date_trunc has no unit {name}", call.arguments[0].at, hint)
    operand = operand_types.instant(scope, operand, call.at)
    _require_instant(scope, call, operand)
    zone = _zone(scope, call, 1)
    return Applied("date_trunc", (Constant(name, _STRING), operand, *zone), _TIMESTAMP)


def _require_instant(scope: Scope, call: Call, operand: BoundExpression) -> None:
    ticks = operand.type is _LONG and not scope.schema.time_unit.is_calendar
    hint = "give the stream's time a unit, as in unit: ms" if ticks else None
    require(scope, call, operand, _TIMESTAMP, hint=hint)


def _zone(scope: Scope, call: Call, number: int) -> tuple[Constant, ...]:
    """Return the zone of an operand as a constant, or else the default zone; nothing for UTC."""
    written = call.arguments[number]
    if not isinstance(written, Zoned):
        return (Constant(scope.zone, _STRING),) if scope.zone else ()
    name, hint = zone_named(written.zone)
    if name is None:
        scope.refuse(f"no time zone {written.zone[:40]}", written.at, hint)
    return (Constant(name, _STRING),)


def _text_of(operand: BoundExpression) -> str:
    assert isinstance(operand, Constant)
    return str(operand.value)


# ---- all functions

_ONE_NUMBER = {
    name: Function(1, 1, _bind_same_type, f"{name}(V.price)", of_pairs=name == "abs")
    for name in ("abs", "ceil", "floor", "sign")
}
_DOUBLES = {
    name: Function(1, 1, _bind_double, f"{name}(V.price)")
    for name in ("exp", "ln", "log10", "sqrt")
}
_ONE_STRING = {
    name: Function(1, 1, _bind_strings, f"{name}(V.name)") for name in ("lower", "trim", "upper")
}
_CHOICES = {
    name: Function(2, None, _bind_choice, f"{name}(V.price, V.fee)", of_pairs=True)
    for name in ("coalesce", "greatest", "least")
}

#: Functions that read a clock.
ZONED_FUNCTIONS = frozenset({"date_trunc", "extract"})

#: The scalar functions by name.
FUNCTIONS: dict[str, Function] = {
    **_ONE_NUMBER, **_DOUBLES, **_ONE_STRING, **_CHOICES,
    "concat": Function(2, None, _bind_strings, "concat(V.name, '-')"),
    "date_trunc": Function(
        2, 2, _bind_date_trunc, "date_trunc('day', V.time)", constants=frozenset([0])
    ),
    "extract": Function(1, 1, _bind_extract, "extract(hour FROM V.time)", of_pairs=True),
    "length": Function(1, 1, _bind_length, "length(V.name)"),
    "nullif": Function(2, 2, _bind_nullif, "nullif(V.price, 0)"),
    "power": Function(2, 2, _bind_double, "power(V.price, 2)"),
    "regexp_like": Function(
        2, 2, _bind_regexp_like, "regexp_like(V.name, '^A')", constants=frozenset([1])
    ),
    "replace": Function(3, 3, _bind_strings, "replace(V.name, '-', ' ')"),
    "round": Function(1, 2, _bind_same_type, "round(V.price, 2)"),
    "starts_with": Function(2, 2, _bind_starts_with, "starts_with(V.name, 'A')"),
    "substr": Function(2, 3, _bind_substr, "substr(V.name, 1, 3)"),
}  # fmt: skip

#: Functions that kernels compute from values of both events of a pair, if no zone is given.
_PARTS_OF_PAIRS = frozenset(["hour", "weekday"])

#: Names of functions in other SQL dialects, with what to write instead.
ELSEWHERE = {
    **dict.fromkeys(("ifnull", "nvl", "isnull"), "did you mean coalesce?"),
    **dict.fromkeys(("lag", "lead", "prev"), "NEXT(V).price is the price of the event after V"),
    **dict.fromkeys(("weekday", "dayofweek"), "write extract(weekday FROM ...)"),
    **dict.fromkeys(("if", "iff", "decode"), "write CASE WHEN V.price > 5 THEN 1 ELSE 0 END"),
    **dict.fromkeys(("len", "char_length"), "did you mean length?"),
    **dict.fromkeys(("rlike", "regexp", "regexp_matches"), "did you mean regexp_like?"),
    **{part: f"write extract({part} FROM ...)" for part in ("hour", "minute", "year", "month")},
    "lcase": "did you mean lower?",
    "ucase": "did you mean upper?",
    "ceiling": "did you mean ceil?",
    "date_part": "write extract(hour FROM ...)",
    "log": "did you mean ln or log10?",
    "mod": "write V.price % 10",
    "pow": "did you mean power?",
    "substring": "did you mean substr?",
}


def is_function(name: str) -> bool:
    """Return whether there is a function of this name, here or in another SQL dialect."""
    return name in FUNCTIONS or name in ELSEWHERE


def require_known(scope: Scope, call: Call) -> None:
    """Refuse a call of an unknown function, or with a wrong number of operands."""
    name, count = call.function, len(call.arguments)
    if name not in FUNCTIONS:
        hint = ELSEWHERE.get(name) or suggest(name, FUNCTIONS)
        hint = hint or f"use one of {', '.join(sorted(FUNCTIONS))}"
        scope.refuse(f"unknown function {name}", call.at, hint)
    function = FUNCTIONS[name]
    if call.modifier is not None:
        hint = f"write {function.example}"
        scope.refuse(f"{name} does not take {call.modifier}", call.at, hint)
    if count < function.least or (function.most is not None and count > function.most):
        wanted = _wanted(function.least, function.most)
        scope.refuse(f"{name} takes {wanted}, not {count}", call.at, f"as in {function.example}")
    if name == "extract":
        _require_part(scope, call)
    elif call.part is not None:
        scope.refuse(f"{name} does not take FROM", call.at, f"write {function.example}")
    if name not in ("extract", "date_trunc"):
        for argument in call.arguments:
            if isinstance(argument, Zoned):
                refuse_zone(scope, argument)


def refuse_zone(scope: Scope, zoned: Zoned) -> NoReturn:
    """Refuse AT TIME ZONE outside of `extract` and `date_trunc`."""
    hint = "as in extract(hour FROM V.time AT TIME ZONE 'Europe/Berlin')"
    scope.refuse("AT TIME ZONE belongs to extract or date_trunc", zoned.at, hint)


_NUMBERS = {1: "one operand", 2: "two operands", 3: "three operands"}


def _wanted(least: int, most: int | None) -> str:
    if most is None:
        return f"{_NUMBERS[least]} or more"
    if least == most:
        return _NUMBERS[least]
    return f"{_NUMBERS[least].split()[0]} or {_NUMBERS[most]}"


_SYNONYMS = {"isodow": "weekday", "dayofweek": "weekday", "day_of_week": "weekday",
             "isoweek": "week", "weekofyear": "week", "doy": "day", "epoch": "second"}  # fmt: skip


def _require_part(scope: Scope, call: Call) -> None:
    """Refuse a call of extract without a known part before FROM."""
    if call.part is None:
        scope.refuse("extract needs FROM", call.at, "write extract(hour FROM ...)")
    if call.part not in EXTRACT_PARTS:
        meant = _SYNONYMS.get(call.part)
        hint = f"did you mean {meant}?" if meant else suggest(call.part, EXTRACT_PARTS)
        hint = hint or f"use {listed(EXTRACT_PARTS)}"
        scope.refuse(f"extract has no part {call.part}", call.at, hint)


def bind_function(scope: Scope, call: Call, operands: list[BoundExpression]) -> Applied:
    """Return a call of a known function, given its bound operands.

    Raises:
        BindFault: the types do not agree; noted in the scope.
    """
    function = FUNCTIONS[call.function]
    for number, operand in enumerate(operands):
        if isinstance(operand, Constant) and operand.value is None:
            scope.refuse(f"{call.function} does not accept NULL", call.at, "leave it out")
        if number in function.constants and not isinstance(operand, Constant):
            what = "unit" if call.function == "date_trunc" else "pattern"
            at = call.arguments[number].at
            scope.refuse(f"the {what} must be a constant", at, f"as in {function.example}")
    applied = function.bind(scope, call, operands)
    of_pairs = function.of_pairs
    if call.function == "extract":
        of_pairs = applied.name in _PARTS_OF_PAIRS and len(applied.operands) == 1
    if not of_pairs and len(sides_of(applied)) > 1:
        operand_types.refuse_both_events(scope, call.function, operands, call.at)
    return applied
