"""Binds measures of whole trends: LENGTH, DURATION, FIRST, LAST and TOTAL in aggregates.

The argument of an aggregate is a sum of constants and of measures times constants. It is bound to
its factors, which are exact fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from elsinore.catalog.stream import AttributeType
from elsinore.query import syntax
from elsinore.query.bind_events import bind_of_events
from elsinore.query.bind_expression import bind_expression
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundMeasure,
    MeasureKind,
    MeasureTerm,
)
from elsinore.query.expressions import Applied, Constant, Field
from elsinore.query.measure_words import is_measure, measure_in, name_of
from elsinore.query.operand_types import is_length, length_of
from elsinore.query.print_query import print_output
from elsinore.query.resolve import Scope
from elsinore.timeline import NUMBER_LENGTHS

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_TIMESTAMP = AttributeType.TIMESTAMP

_LINEAR = "add measures up, and multiply them by constants, as in LENGTH * 2 - 1"


def bind_of_measure(
    scope: Scope, call: syntax.Call, argument: syntax.Expression, label: str
) -> BoundAggregate:
    """Return an aggregate of a measure.

    Args:
        scope: the names of the query.
        call: the aggregate.
        argument: what it reads, which contains a measure.
        label: its canonical text.

    Raises:
        BindFault: the argument is not a sum of measures; noted in the scope.
    """
    function = AggregateFunction[call.function.upper()]
    if call.modifier is not None:
        measure = measure_in(scope, argument)
        assert measure is not None
        message = f"{call.modifier} is about events, {name_of(measure)} is a measure of trends"
        scope.refuse(message, call.at, f"write AVG({print_output(measure)})")
    bound = _bound(scope, call, _linear(scope, argument))
    if function.adds_up and bound.type is _TIMESTAMP:
        hint = "write MIN or MAX, or a difference of two"
        scope.refuse("timestamps cannot be added up", call.at, hint)
    kind = _LONG if function is AggregateFunction.COUNT else bound.type
    positions = frozenset().union(*(term.positions for term in bound.terms))
    return BoundAggregate(label, function, positions, None, kind, measure=bound)


# ---- sums of measures


@dataclass(frozen=True)
class _Sum:
    """A sum of a constant and of measures.

    Attributes:
        constant: the constant.
        terms: the measures.
        doubles: whether it is a double: a constant is one, or something is divided.
        length: whether the constant was written as a length of time.
    """

    constant: Fraction = Fraction(0)
    terms: tuple[MeasureTerm, ...] = ()
    doubles: bool = False
    length: bool = False

    def times(self, factor: Fraction, *, doubles: bool = False) -> _Sum:
        """Return it times a constant."""
        terms = tuple(replace(term, factor=term.factor * factor) for term in self.terms)
        return _Sum(self.constant * factor, terms, self.doubles or doubles, self.length)

    def plus(self, other: _Sum) -> _Sum:
        """Return the sum of both."""
        return _Sum(
            self.constant + other.constant,
            self.terms + other.terms,
            self.doubles or other.doubles,
            self.length or other.length,
        )


def _linear(scope: Scope, expression: syntax.Expression) -> _Sum:
    """Return an expression as a sum of measures, or of constants only."""
    if is_measure(scope, expression):
        return _Sum(terms=(_measure(scope, expression),))
    match expression:
        case syntax.Call("coalesce") if measure_in(scope, expression) is not None:
            return _coalesced(scope, expression)
        case syntax.Operation("neg", (operand,)):
            return _linear(scope, operand).times(Fraction(-1))
        case syntax.Operation("+" | "-" as sign, (left, right)):
            first, other = _linear(scope, left), _linear(scope, right)
            return first.plus(other if sign == "+" else other.times(Fraction(-1)))
        case syntax.Operation("*" | "/" as sign, (left, right)):
            return _product(scope, sign, _linear(scope, left), _linear(scope, right), expression)
        case syntax.Literal():
            return _constant(scope, expression)
    for node in syntax.nodes_of(expression):
        if isinstance(node, syntax.Reference) and not is_measure(scope, node):
            text = print_output(node)
            message = f"{text} is an attribute of events, not of trends"
            scope.refuse(message, node.at, f"write FIRST({text}), LAST({text}) or TOTAL({text})")
    return scope.refuse("this is not a sum of measures", expression.at, _LINEAR)


def _product(
    scope: Scope, sign: str, left: _Sum, right: _Sum, expression: syntax.Operation
) -> _Sum:
    if sign == "/" and right.terms:
        hint = _LINEAR
        match expression.operands:
            case (syntax.Call("total", (syntax.Reference(str(alias)) as read,)), divisor):
                if is_measure(scope, divisor) and name_of(divisor) == "LENGTH":
                    text = print_output(read)
                    hint = f"write SUM({text}) / COUNT({alias}) for the mean per event"
        message = "a measure can be divided by a constant only"
        scope.refuse(message, expression.at, hint)
    if left.terms and right.terms:
        scope.refuse("measures cannot be multiplied by measures", expression.at, _LINEAR)
    constant, other = (right, left) if left.terms else (left, right)
    if sign == "*":
        return other.times(constant.constant, doubles=constant.doubles)
    if not constant.constant:
        scope.refuse("division by zero", expression.at, "divide by another constant")
    return replace(other.times(1 / constant.constant, doubles=True), length=False)


def _constant(scope: Scope, literal: syntax.Literal) -> _Sum:
    bound = bind_expression(scope, literal)
    assert isinstance(bound, Constant)
    value = bound.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        scope.refuse(f"a measure cannot be combined with a {bound.type}", literal.at, _LINEAR)
    return _Sum(Fraction(value), (), isinstance(value, float), is_length(bound))


def _coalesced(scope: Scope, call: syntax.Call) -> _Sum:
    """Return `coalesce(measure, constant)`."""
    hint = "as in coalesce(TOTAL(C.price), 0)"
    if len(call.arguments) != 2 or not is_measure(scope, call.arguments[0]):
        scope.refuse("coalesce takes a measure and a constant here", call.at, hint)
    measure = _measure(scope, call.arguments[0])
    otherwise = _linear(scope, call.arguments[1])
    if otherwise.terms:
        scope.refuse("coalesce takes a measure and a constant here", call.at, hint)
    if measure.type is _TIMESTAMP:
        hint = "write coalesce around a measure of numbers"
        scope.refuse("coalesce cannot replace a timestamp of a trend", call.at, hint)
    term = replace(measure, otherwise=otherwise.constant)
    return _Sum(terms=(term,), doubles=otherwise.doubles)


# ---- single measures


def _measure(scope: Scope, expression: syntax.Expression) -> MeasureTerm:
    kind = MeasureKind(name_of(expression))
    if not isinstance(expression, syntax.Call):
        inside = (position for position in scope.positions if not position.negated)
        every = frozenset(position.index for position in inside)
        return MeasureTerm(Fraction(1), kind, every, None, _LONG)
    example = f"as in {kind}(V.price)"
    if len(expression.arguments) != 1 or expression.star or expression.part is not None:
        scope.refuse(f"{kind} takes one value", expression.at, example)
    [argument] = expression.arguments
    if isinstance(argument, syntax.Reference):
        bare = argument.qualifier is None
        if bare and scope.names(argument.attribute) and not scope.carriers(argument.attribute):
            message = f"{kind} takes an attribute of {argument.attribute}"
            scope.refuse(message, expression.at, f"as in {kind}({argument.attribute}.time)")
    if (inner := measure_in(scope, argument)) is not None:
        message = f"{kind} reads an attribute of events, {name_of(inner)} is a measure of trends"
        scope.refuse(message, expression.at, example)
    found = bind_of_events(scope, argument, kind, expression.at)
    carriers = [p for p in found.positions if not (scope.well_shaped and p.negated)]
    if not carriers:
        alias = found.positions[0].alias
        hint = "measure events outside of NOT"
        scope.refuse(f"{alias} is under NOT, so no trend contains it", expression.at, hint)
    type_ = found.value.type
    if not (type_.is_number or (type_ is _TIMESTAMP and kind is not MeasureKind.TOTAL)):
        wanted = "a number" if kind is MeasureKind.TOTAL else "a number or a timestamp"
        hint = f"count its values, as in COUNT({print_output(argument)})"
        scope.refuse(f"{kind} takes {wanted}, not a {type_}", expression.at, hint)
    positions = frozenset(position.index for position in carriers)
    assert isinstance(found.value, Field | Applied)
    value = found.value.attribute if isinstance(found.value, Field) else found.value
    return MeasureTerm(Fraction(1), kind, positions, value, type_)


def _bound(scope: Scope, call: syntax.Call, found: _Sum) -> BoundMeasure:
    """Return a sum with its type."""
    instants = sum((t.factor for t in found.terms if t.type is _TIMESTAMP), start=Fraction(0))
    if instants not in (0, 1):
        hint = "write MIN or MAX, or a difference of two"
        scope.refuse("timestamps cannot be added up", call.at, hint)
    doubles = found.doubles or any(term.type is _DOUBLE for term in found.terms)
    is_length_ = found.length or _has_length(scope, found.terms)
    constant = found.constant
    if scope.schema.time_unit.is_calendar and is_length_ and constant and not found.length:
        constant = _as_length(scope, call, constant, doubles=doubles)
    if instants:
        if len(found.terms) > 1 or constant or found.doubles:
            message = "a timestamp of a trend can only be subtracted from another"
            scope.refuse(message, call.at, "write MAX(FIRST(V.time)) + 5 minutes")
        return BoundMeasure(constant, found.terms, _TIMESTAMP)
    kind = _DOUBLE if doubles else _LONG
    return BoundMeasure(constant, found.terms, kind, is_length_ and kind is _LONG)


def _has_length(scope: Scope, terms: Sequence[MeasureTerm]) -> bool:
    has_unit = scope.schema.time_unit.is_calendar
    return any(
        term.type is _TIMESTAMP or (has_unit and term.kind is MeasureKind.DURATION)
        for term in terms
    )


def _as_length(scope: Scope, call: syntax.Call, constant: Fraction, *, doubles: bool) -> Fraction:
    """Return a number next to a length of time in microseconds, by the unit of the schema."""
    unit = scope.schema.time_unit
    if doubles:
        return constant
    if unit not in NUMBER_LENGTHS:
        hint = f"as in {constant} seconds"
        scope.refuse("a length of time needs a unit", call.at, hint)
    ticks = length_of(scope, int(constant), NUMBER_LENGTHS[unit], call.at).value
    assert isinstance(ticks, int)
    return Fraction(ticks)
