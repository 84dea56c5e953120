"""Binds MEDIAN and PERCENTILE: what they read, and the share of a percentile."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from elsinore.query import syntax
from elsinore.query.measure_words import measure_in
from elsinore.query.print_query import print_output
from elsinore.query.resolve import Scope


def percentile_of(scope: Scope, call: syntax.Call) -> tuple[syntax.Call, Fraction | None]:
    """Return MEDIAN or PERCENTILE with only the value that it reads, and the share.

    Args:
        scope: the names of the query.
        call: the call.

    Returns:
        The share is exact, as written in decimal. It is None for MEDIAN.

    Raises:
        BindFault: it has no EACH, or the share is invalid; noted in the scope.
    """
    function = call.function.upper()
    is_median = function == "MEDIAN"
    if call.star or call.part is not None or len(call.arguments) != (1 if is_median else 2):
        example = "MEDIAN(EACH V.price)" if is_median else "PERCENTILE(EACH V.price, 0.9)"
        takes = "one value" if is_median else "a value and a share"
        scope.refuse(f"{function} takes {takes}", call.at, f"as in {example}")
    value, *others = call.arguments
    if call.modifier == "DISTINCT":
        written = print_output(replace(call, modifier="EACH"))
        scope.refuse("DISTINCT goes with COUNT only", call.at, f"write {written}")
    if call.modifier is None:
        _refuse_without_each(scope, call, value)
    share = None if is_median else _share(scope, others[0])
    _require_alias(scope, call, value)
    return replace(call, arguments=(value,)), share


def _refuse_without_each(scope: Scope, call: syntax.Call, value: syntax.Expression) -> NoReturn:
    function = call.function.upper()
    if measure_in(scope, value) is not None:
        text = print_output(value)
        message = f"{function} of a measure is not available"
        scope.refuse(message, call.at, f"write AVG({text}) or MAX({text})")
    fixed = replace(_with_alias(scope, call, value), modifier="EACH")
    match fixed.arguments:
        case (first, syntax.Literal(int() | float() as number)) if 1 < number <= 100:
            fixed = replace(fixed, arguments=(first, syntax.Literal(number / 100)))
    hint = f"write {print_output(fixed)}: each event counts once"
    scope.refuse(f"{function} needs EACH", call.at, hint)


def _with_alias(scope: Scope, call: syntax.Call, value: syntax.Expression) -> syntax.Call:
    """Return a call whose bare attribute has its alias; others stay as they are."""
    if not isinstance(value, syntax.Reference) or value.qualifier is not None:
        return call
    if scope.names(value.attribute) or not scope.carriers(value.attribute):
        return call
    own = replace(value, qualifier=scope.carriers(value.attribute)[0].alias)
    return replace(call, arguments=(own, *call.arguments[1:]))


def _require_alias(scope: Scope, call: syntax.Call, value: syntax.Expression) -> None:
    """Refuse an attribute without its alias, and an alias without an attribute."""
    if not isinstance(value, syntax.Reference) or value.qualifier is not None or value.following:
        return
    name = value.attribute
    if not scope.names(name):
        if (written := _with_alias(scope, call, value)) is not call:
            message = f"{call.function.upper()} needs the alias before {name}"
            scope.refuse(message, call.at, f"write {print_output(written)}")
        return
    own = next(p for p in scope.positions if name in (p.alias, p.type))
    kind = scope.schema.by_name.get(own.type)
    numbers = [a.name for a in kind.attributes if a.type.is_number] if kind else []
    reference = replace(value, qualifier=name, attribute=(numbers or ["attribute"])[0])
    shown = print_output(replace(call, arguments=(reference, *call.arguments[1:])))
    scope.refuse(f"{name} is not an attribute", call.at, f"write {shown}")


def _share(scope: Scope, written: syntax.Expression) -> Fraction:
    """Return a share from 0 to 1."""
    at = written.at
    match written:
        case syntax.Parameter(name):
            hint = f"declare it, as in PARAM {name} double DEFAULT 0.9;"
            scope.refuse(f"no parameter {name}", at, hint)
        case syntax.Literal(int() | float() as number, None) if not isinstance(number, bool):
            exact = Decimal(str(number))
        case _:
            hint = "write a number or a parameter, such as 0.9"
            scope.refuse("the share of PERCENTILE must be a constant from 0 to 1", at, hint)
    if written.digits is not None and Decimal(written.digits) != exact:
        hint = f"write {number}"
        scope.refuse("the share of PERCENTILE has too many digits", at, hint)
    if not 0 <= exact <= 1:
        hint = f"write {exact / 100} for {number} %" if exact <= 100 else "write 0.9 for 90 %"
        scope.refuse("the share of PERCENTILE must be from 0 to 1", at, hint)
    return Fraction(exact)
