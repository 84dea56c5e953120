"""Finds measures of whole trends in expressions: LENGTH, DURATION, FIRST, LAST and TOTAL."""

from __future__ import annotations

from typing import NoReturn

from elsinore.errors import Location
from elsinore.query import syntax
from elsinore.query.bound import MeasureKind
from elsinore.query.print_query import print_output
from elsinore.query.resolve import Scope

#: Measures that are words, not functions.
_WORDS = frozenset(kind.value for kind in MeasureKind if not kind.reads_events)


def is_measure(scope: Scope, node: syntax.Expression) -> bool:
    """Return whether an expression is a single measure.

    LENGTH and DURATION are measures unless an alias or a type has the name.
    """
    match node:
        case syntax.Reference(None, name, False):
            return name.upper() in _WORDS and not scope.names(name)
        case syntax.Call(name, modifier=None):
            return name in syntax.MEASURES
    return False


def measure_in(scope: Scope, expression: syntax.Expression) -> syntax.Expression | None:
    """Return the first measure in an expression, if there is one."""
    return next((node for node in syntax.nodes_of(expression) if is_measure(scope, node)), None)


def name_of(measure: syntax.Expression) -> str:
    """Return the word of a measure."""
    assert isinstance(measure, syntax.Reference | syntax.Call)
    word = measure.attribute if isinstance(measure, syntax.Reference) else measure.function
    return word.upper()


def refuse_alone(scope: Scope, measure: syntax.Expression) -> NoReturn:
    """Refuse a measure that is not in an aggregate."""
    text = print_output(measure)
    hint = f"write AVG({text}) or MAX({text})"
    scope.refuse(f"{name_of(measure)} is a measure of each trend", measure_at(measure), hint)


def refuse_group(scope: Scope, expression: syntax.Expression) -> None:
    """Refuse an item of GROUP-BY that reads a measure; attributes can have the name of one."""
    measure = measure_in(scope, expression)
    if isinstance(measure, syntax.Reference) and scope.carriers(measure.attribute):
        return
    if measure is not None:
        message = "measures cannot group rows yet"
        scope.refuse(message, measure_at(measure), "group by an attribute")


def measure_at(measure: syntax.Expression) -> Location:
    """Return the location of a measure."""
    assert isinstance(measure, syntax.Reference | syntax.Call)
    return measure.at
