"""Binds expressions over the events of one alias: arguments of aggregates, and groups."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from elsinore.errors import Location
from elsinore.query import syntax
from elsinore.query.bind_expression import bind_expression
from elsinore.query.bound import Key, Position
from elsinore.query.expressions import BoundExpression, Field
from elsinore.query.measure_words import refuse_group
from elsinore.query.print_query import print_output
from elsinore.query.resolve import BindFault, Scope, bind_key


class OfEvents(NamedTuple):
    """An expression over the events at some positions, which have one alias or one type."""

    positions: tuple[Position, ...]
    value: BoundExpression


class EventScope(Scope):
    """The names of an expression over the events of one alias.

    Attributes:
        read: the positions that each name of the expression can mean, in the order of the text.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(
            scope.schema, scope.pattern, scope.faults, scope.well_shaped, zone=scope.zone
        )
        self.sizes = scope.sizes.inside()
        self.read: list[tuple[Position, ...]] = []

    def other_meaning(self, expression: syntax.Expression) -> BoundExpression | None:
        """Return an attribute of the events, which may be at several positions; see `Scope`."""
        match expression:
            case syntax.Reference(following=True):
                hint = "compare neighbors in WHERE"
                self.refuse("NEXT(...) is allowed only in WHERE", expression.at, hint)
            case syntax.Reference(qualifier=str(qualifier)):
                form = f"@.{expression.attribute}"
                found = self.named(qualifier, expression.at, form)
            case syntax.Reference():
                found = self.of_one_alias(expression)
            case _:
                return None
        self.read.append(found)
        column, kind = self.column(found[0], expression.attribute, expression.at)
        return Field(found[0].index, column, kind)


def bind_of_events(
    scope: Scope, expression: syntax.Expression, reader: str, at: Location
) -> OfEvents:
    """Return an expression over the events of one alias.

    Args:
        scope: the names of the query.
        expression: the expression.
        reader: what reads it, for messages, such as "an aggregate".
        at: the location of the reader.

    Raises:
        BindFault: it reads several aliases or none, or cannot be bound; noted in the scope.
    """
    inside = EventScope(scope)
    before = len(scope.faults)
    bound = None
    with suppress(BindFault):
        bound = bind_expression(inside, expression)
    if len(set(inside.read)) > 1:
        names = ", ".join(dict.fromkeys(_name(positions) for positions in inside.read))
        hint = "aggregate each, or compare neighbors in WHERE"
        scope.refuse(f"{reader} reads one alias: {names}", at, hint)
    if bound is None or len(scope.faults) > before:
        raise BindFault
    if not inside.read:
        hint = "read an attribute, as in V.price * 2"
        scope.refuse(f"{reader} reads no attribute of any event", at, hint)
    return OfEvents(inside.read[0], bound)


def _name(positions: tuple[Position, ...]) -> str:
    first = positions[0]
    return first.alias if len(positions) == 1 or first.choice else first.type


# ---- groups


def bind_group(scope: Scope, item: syntax.Item) -> Key:
    """Return the key of an item of GROUP-BY, without its label.

    Raises:
        BindFault: it is not a key; noted in the scope.
    """
    written = item.expression
    refuse_group(scope, written)
    if isinstance(written, syntax.Reference):
        return bind_key(scope, written)
    inner = next(syntax.aggregates_of(written), None)
    if inner is not None:
        hint = "group by an attribute, and compare aggregates in HAVING"
        scope.refuse("aggregates are not allowed in GROUP-BY", inner.at, hint)
    found = bind_of_events(scope, written, "an expression of GROUP-BY", written.at)
    positions = found.positions
    if scope.well_shaped and all(position.negated for position in positions):
        hint = "use an event type outside of NOT"
        scope.refuse(f"no event of a trend is {_name(positions)}", written.at, hint)
    text = print_output(_without_aliases(written))
    indices = frozenset(position.index for position in positions)
    return Key(text, found.value.type, indices, value=found.value)


def _without_aliases(expression: syntax.Expression) -> syntax.Expression:
    """Return an expression whose references have no alias: its value does not depend on it."""
    if isinstance(expression, syntax.Reference):
        return replace(expression, qualifier=None)
    operands = syntax.operands_of(expression)
    return syntax.with_operands(expression, tuple(map(_without_aliases, operands)))
