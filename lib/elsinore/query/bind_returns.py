"""Binds RETURN and HAVING: expressions over aggregates and grouping attributes of a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Location
from elsinore.query import syntax
from elsinore.query.bind_events import bind_group, bind_of_events
from elsinore.query.bind_expression import bind_condition, bind_expression
from elsinore.query.bind_measures import bind_of_measure
from elsinore.query.bind_percentiles import percentile_of
from elsinore.query.bound import (
    PERCENTILES,
    AggregateFunction,
    BoundAggregate,
    BoundOutput,
    Key,
    Position,
)
from elsinore.query.expressions import (
    Applied,
    BoundExpression,
    Constant,
    GroupValue,
    Slot,
    operands_of,
)
from elsinore.query.functions import is_function
from elsinore.query.measure_words import is_measure, measure_in, refuse_alone
from elsinore.query.operand_types import is_length
from elsinore.query.print_query import print_output
from elsinore.query.resolve import BindFault, Scope
from elsinore.wording import listed, some_of, suggest

#: Functions that compare values, so that these can be timestamps.
_OF_ORDER = (AggregateFunction.MIN, AggregateFunction.MAX, AggregateFunction.PERCENTILE)
#: Columns of every row, which no value can have as its name.
_ROW_COLUMNS = ("window_start", "window_end", "step")


class Outputs(NamedTuple):
    """The values of a query, and its condition on rows.

    Attributes:
        aggregates: the aggregates that RETURN and HAVING read, each once.
        outputs: the values of RETURN.
        having: the condition on rows, if any.
    """

    aggregates: tuple[BoundAggregate, ...]
    outputs: tuple[BoundOutput, ...]
    having: BoundExpression | None


def bind_outputs(scope: Scope, query: syntax.Query, keys: Sequence[Key]) -> Outputs:
    """Return the values that a query returns; errors are noted in the scope.

    Args:
        scope: the names of the query.
        query: the query.
        keys: its grouping keys, in the order of GROUP-BY.
    """
    rows = RowScope(scope, query, keys)
    outputs = rows.bind_items()
    having = None
    if query.having is not None:
        rows.clause = "HAVING"
        with suppress(BindFault):
            having = bind_condition(rows, query.having)
    return Outputs(tuple(rows.aggregates.values()), outputs, having)


@dataclass
class _Group:
    """An item of GROUP-BY, and its value in a row."""

    item: syntax.Item
    value: GroupValue

    @property
    def written(self) -> str:
        """How RETURN and HAVING name it."""
        return self.item.name or print_output(self.item.expression)

    def is_meant(self, reference: syntax.Reference) -> bool:
        """Return whether a reference can mean it, by its name or by its attribute."""
        if reference.qualifier is None and reference.attribute == self.item.name:
            return True
        own = self.item.expression
        return (
            isinstance(own, syntax.Reference)
            and reference.attribute == own.attribute
            and reference.qualifier in (None, own.qualifier)
        )


class RowScope(Scope):
    """The names that RETURN and HAVING can use.

    Attributes:
        clause: the clause that is being bound.
        aggregates: the aggregates so far, by canonical text.
        values: the values so far, by name; None if a value could not be bound.
    """

    def __init__(self, scope: Scope, query: syntax.Query, keys: Sequence[Key]) -> None:
        super().__init__(
            scope.schema, scope.pattern, scope.faults, scope.well_shaped, zone=scope.zone
        )
        self.example, self.exact, self.sizes = "COUNT(*) > 1", True, scope.sizes
        self.clause = "RETURN"
        self.aggregates: dict[str, BoundAggregate] = {}
        self.values: dict[str, BoundExpression | None] = {}
        self._query = query
        self._number = 0
        self._groups = list(self._grouping(keys))
        self._labels = {str(key.group_label) for key in keys}
        grouped = [item.expression for item in query.group_by if item.name is None]
        self._labels |= {key.attribute for key in grouped if isinstance(key, syntax.Reference)}

    def _grouping(self, keys: Sequence[Key]) -> Iterator[_Group]:
        """Yield the grouping attributes; those with an error are left out."""
        numbers = {(key.attribute, key.positions): number for number, key in enumerate(keys)}
        for item in self._query.group_by:
            with suppress(BindFault):
                key = bind_group(self, item)
                number = numbers[key.attribute, key.positions]
                yield _Group(item, GroupValue(number, key.type))

    # ---- items of RETURN

    def bind_items(self) -> tuple[BoundOutput, ...]:
        """Return the values of RETURN; a grouping attribute without a name is not a value."""
        outputs = []
        for number, item in enumerate(self._query.returns):
            self._number = number
            if item.name is None and self._is_group(item.expression):
                continue
            name = item.name or print_output(item.expression)
            self._check_name(name, item)
            bound = None
            with suppress(BindFault):
                bound = bind_expression(self, item.expression)
                named, adds_up = item.name is not None, self._adds_up(bound)
                is_duration = is_length(bound) and not self._is_sum(bound)
                outputs.append(BoundOutput(name, bound, bound.type, adds_up, named, is_duration))
            self.values[name] = bound
        if not self.values:
            hint = "add COUNT(*), the number of trends"
            self.fault("RETURN has no value", self._query.at, hint)
        return tuple(outputs)

    def _check_name(self, name: str, item: syntax.Item) -> None:
        """Note an error if a name is taken."""
        if name in self.values and item.name is None and not _is_name(item.expression):
            self.fault(f"{name} is returned twice", item.at, "remove one of them")
        elif name in self.values:
            self.fault(f"two values are called {name}", item.at, "rename one of them")
        elif name in _ROW_COLUMNS:
            self.fault(f"{name} is a column of every row", item.at, "choose another name")
        elif item.name is not None and name in self._labels:
            self.fault(f"{name} is a grouping attribute", item.at, "choose another name")

    def _is_group(self, written: syntax.Expression) -> bool:
        """Return whether an item only repeats a grouping attribute."""
        if isinstance(written, syntax.Reference):
            return bool(self._groups_of(written))
        return self._group_value(written) is not None

    def _group_value(self, written: syntax.Expression) -> GroupValue | None:
        """Return the value of the item of GROUP-BY that is this expression, if there is one."""
        for group in self._groups:
            own = group.item.expression
            if not isinstance(own, syntax.Reference) and own == written:
                return group.value
        return None

    def _groups_of(self, reference: syntax.Reference) -> list[_Group]:
        """Return the grouping attributes that a reference can mean."""
        if reference.following:
            return []
        return [group for group in self._groups if group.is_meant(reference)]

    def _adds_up(self, value: BoundExpression) -> bool:
        """Return whether a value adds up over groups and tumbling windows."""
        match value:
            case Slot(number):
                item = list(self.aggregates.values())[number]
                adding = item.function in (AggregateFunction.COUNT, AggregateFunction.SUM)
                return adding and not item.each
            case Applied("+" | "-", (left, right)):
                return self._adds_up(left) and self._adds_up(right)
            case Applied("neg", (operand,)):
                return self._adds_up(operand)
            case Applied("*", (Constant(), other)) | Applied("*" | "/", (other, Constant())):
                return self._adds_up(other)
        return False

    def _is_sum(self, value: BoundExpression) -> bool:
        """Return whether a value is a double, or reads a sum, which can exceed 64 bits."""
        if isinstance(value, Slot):
            item = list(self.aggregates.values())[value.number]
            return item.function is AggregateFunction.SUM
        is_double = value.type is AttributeType.DOUBLE
        return is_double or any(map(self._is_sum, operands_of(value)))

    # ---- names and aggregates inside of expressions

    def other_meaning(self, expression: syntax.Expression) -> BoundExpression | None:
        """Return an aggregate, an item of GROUP-BY or an earlier value; see `Scope`."""
        if (group := self._group_value(expression)) is not None:
            return group
        match expression:
            case syntax.Reference():
                return self._bind_reference(expression)
            case syntax.Call() if is_measure(self, expression):
                refuse_alone(self, expression)
            case syntax.Call() if expression.is_aggregate:
                return self._bind_aggregate(expression)
            case syntax.Call() if not is_function(expression.function):
                self._refuse_unknown(expression)
        return None

    def _bind_reference(self, reference: syntax.Reference) -> BoundExpression:
        name = reference.attribute
        if reference.following:
            hint = "compare neighbors in WHERE"
            self.refuse("NEXT(...) is allowed only in WHERE", reference.at, hint)
        if reference.qualifier is None and name in self.values:
            if (bound := self.values[name]) is not None:
                return bound
            raise BindFault
        if groups := self._groups_of(reference):
            if len({group.value.number for group in groups}) > 1:
                choices = some_of(group.written for group in groups)
                self.refuse(f"{name} could be any of {choices}", reference.at, "write one of them")
            return groups[0].value
        return self._refuse_name(reference)

    def _refuse_name(self, reference: syntax.Reference) -> NoReturn:
        """Refuse a name that is neither an earlier value nor a grouping attribute."""
        if is_measure(self, reference) and not self.carriers(reference.attribute):
            refuse_alone(self, reference)
        name, at = reference.attribute, reference.at
        written = print_output(reference)
        item, *later = self._query.returns[self._number :]
        if reference.qualifier is None and name in {other.name for other in later}:
            before = item.name or print_output(item.expression)
            self.refuse(f"{name} is defined later", at, f"move it before {before}")
        if reference.qualifier is None and name.upper() == "STEPS" and not self.carriers(name):
            other = "write RETURN STEPS, and other values in a query of their own"
            self.refuse("STEPS goes with no other value", at, other)
        of_groups = {_short(group): group.written for group in self._groups}
        known = [*self.values, *of_groups]
        is_unknown = reference.qualifier is None and not self.carriers(name)
        if is_unknown and (hint := suggest(name, known)):
            self.refuse(f"the query has no {name}", at, hint)
        self.meant(reference)  # notes an unknown attribute or alias
        if name in of_groups:
            hint = f"write {of_groups[name]}, as GROUP-BY does"
            self.refuse(f"{written} is not in GROUP-BY", at, hint)
        if self.clause == "HAVING":
            message = f"HAVING filters rows, {written} is an attribute of events"
            self.refuse(message, at, "write it in WHERE, or aggregate it")
        hint = suggest(name, list(of_groups)) or f"add GROUP-BY {written}"
        self.refuse(f"{written} is not in GROUP-BY", at, hint)

    def _refuse_unknown(self, call: syntax.Call) -> NoReturn:
        """Refuse a call of neither an aggregate nor a function."""
        known = list(AggregateFunction.__members__)
        title = call.function.upper()
        hint = suggest(title, known, 0.75) or f"use one of {', '.join(known)}"
        self.fault(f"unknown aggregate {title}", call.at, hint)
        for argument in call.arguments:  # other errors in its parentheses are noted too
            match argument:
                case syntax.Reference(None, name) if self.names(name) or not self.carriers(name):
                    self.named(name, argument.at)
                case syntax.Reference(str(qualifier), attribute):
                    carriers = self.named(qualifier, argument.at)
                    self.column(carriers[0], attribute, argument.at)
        raise BindFault

    def _bind_aggregate(self, call: syntax.Call) -> Slot:
        text = print_output(call)
        if text not in self.aggregates:
            bound = bind_aggregate(self, call, text)
            if isinstance(self.pattern, syntax.Conjunction) and not bound.counts_trends:
                message = "a pattern with AND supports only COUNT(*)"
                self.refuse(message, call.at, "write RETURN COUNT(*)")
            self.aggregates[text] = bound
        number = list(self.aggregates).index(text)
        bound = self.aggregates[text]
        counting = bound.function is AggregateFunction.COUNT
        return Slot(number, bound.value_type, bound.is_duration and not counting)


def _short(group: _Group) -> str:
    """Return the name or the attribute of an item of GROUP-BY, without its alias."""
    own = group.item.expression
    if group.item.name is None and isinstance(own, syntax.Reference):
        return own.attribute
    return group.written


def _is_name(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Reference)


# ---- aggregates


def bind_aggregate(scope: Scope, call: syntax.Call, label: str) -> BoundAggregate:
    """Return a bound aggregate.

    Args:
        scope: the names of the query.
        call: the call, such as `SUM(A.v)`.
        label: its canonical text.

    Raises:
        BindFault: it is not an aggregate; noted in the scope.
    """
    if AggregateFunction[call.function.upper()] not in PERCENTILES:
        return _bind_aggregate(scope, call, label)
    of_value, share = percentile_of(scope, call)
    return replace(_bind_aggregate(scope, of_value, label), share=share)


def _bind_aggregate(scope: Scope, call: syntax.Call, label: str) -> BoundAggregate:
    function = AggregateFunction[call.function.upper()]
    each = call.modifier is not None
    if call.star:
        if function is not AggregateFunction.COUNT:
            scope.refuse(f"{function} needs an attribute", call.at, f"as in {function}(A.price)")
        every = _in_trends(scope, scope.positions) if each else ()
        positions = frozenset(position.index for position in every)
        return BoundAggregate(label, function, positions, None, AttributeType.LONG, each)
    argument = _argument(scope, call, function)
    if _reads_measure(scope, call, argument):
        return bind_of_measure(scope, call, argument, label)
    if call.modifier == "DISTINCT":
        return _bind_distinct(scope, call, argument, label)
    if not isinstance(argument, syntax.Reference):
        return _bind_of_expression(scope, call, argument, label)
    counting = function is AggregateFunction.COUNT
    name, attribute = argument.qualifier, argument.attribute
    if name is None and not scope.names(attribute) and scope.carriers(attribute):
        _refuse_bare(scope, function, attribute, call.at)
    alias = attribute if name is None else name
    form = f"{function}({'EACH ' if each else ''}@{'' if name is None else '.' + attribute})"
    carriers = _in_trends(scope, scope.named(alias, call.at, form))
    if not carriers:
        _refuse_negated(scope, alias, call.at)
    if not counting and name is None:
        numbers = _numbers_of(scope, carriers[0])
        inside = f"{alias}.{(numbers or ['attribute'])[0]}"
        inside = f"EACH {inside}" if each else inside
        scope.refuse(f"{label} is not an aggregate", call.at, f"write {function}({inside})")
    positions = frozenset(position.index for position in carriers)
    if counting:
        column = None if name is None else scope.column(carriers[0], attribute, call.at)[0]
        return BoundAggregate(label, function, positions, column, AttributeType.LONG, each)
    column, kind = _require_number(scope, function, carriers[0], attribute, call.at)
    return BoundAggregate(label, function, positions, column, kind, each)


def _reads_measure(scope: Scope, call: syntax.Call, argument: syntax.Expression) -> bool:
    """Return whether an aggregate reads a measure; DISTINCT of a bare attribute does not."""
    measure = measure_in(scope, argument)
    if call.modifier == "DISTINCT" and isinstance(measure, syntax.Reference):
        return not scope.carriers(measure.attribute)
    return measure is not None


def _in_trends(scope: Scope, positions: Sequence[Position]) -> tuple[Position, ...]:
    """Return the positions that are not under NOT; all of them if the pattern has an error."""
    return tuple(p for p in positions if not (scope.well_shaped and p.negated))


def _refuse_negated(scope: Scope, alias: str, at: Location) -> NoReturn:
    """Refuse an aggregate of events under NOT."""
    others = dict.fromkeys(p.alias for p in scope.positions if not p.negated)
    hint = f"aggregate one of {some_of(others)}"
    scope.refuse(f"{alias} is under NOT, so no trend contains it", at, hint)


# ---- EACH and DISTINCT


def _bind_distinct(
    scope: Scope, call: syntax.Call, target: syntax.Expression, label: str
) -> BoundAggregate:
    """Return COUNT(DISTINCT ...) of an attribute, with or without alias, or of an expression."""
    function, at = call.function.upper(), call.at
    if function != AggregateFunction.COUNT:
        inside = print_output(target)
        hint = f"write {function}(EACH {inside})"
        scope.refuse("DISTINCT goes with COUNT only", at, hint)
    if not isinstance(target, syntax.Reference):
        return _bind_of_expression(scope, call, target, label)
    name, attribute = target.qualifier, target.attribute
    carriers = scope.carriers(attribute)
    if name is None and not carriers and scope.names(attribute):
        is_alias = attribute in {position.alias for position in scope.positions}
        kind = "an alias" if is_alias else "a type"
        hint = f"write COUNT(EACH {attribute})"
        scope.refuse(f"{attribute} is {kind}, not an attribute", at, hint)
    named = scope.positions if name is None and attribute == "time" else scope.meant(target)
    positions = _in_trends(scope, named)
    if not positions and name is not None:
        _refuse_negated(scope, name, at)
    if not positions:
        hint = "use an attribute of an event type outside of NOT"
        scope.refuse(f"no event of a trend has the attribute {attribute}", at, hint)
    column_of = scope.own_column if name is None else scope.column
    read = {column_of(position, attribute, at)[0] for position in positions}
    if len(read) > 1:
        choices = listed(f"COUNT(DISTINCT {position.alias}.time)" for position in positions)
        message = "time is an attribute of some types of the pattern only"
        scope.refuse(message, at, f"write {choices}")
    numbers = frozenset(position.index for position in positions)
    [column] = read
    return BoundAggregate(
        label, AggregateFunction.COUNT, numbers, column, AttributeType.LONG, True, True
    )


def _bind_of_expression(
    scope: Scope, call: syntax.Call, argument: syntax.Expression, label: str
) -> BoundAggregate:
    """Return an aggregate of an expression over one alias."""
    function = AggregateFunction[call.function.upper()]
    each, distinct = call.modifier is not None, call.modifier == "DISTINCT"
    found = bind_of_events(scope, argument, "an aggregate", call.at)
    alias = found.positions[0].alias
    carriers = _in_trends(scope, found.positions)
    if not carriers:
        _refuse_negated(scope, alias, call.at)
    positions, kind = frozenset(p.index for p in carriers), found.value.type
    assert isinstance(found.value, Applied), "an expression has an operator or a function"
    if function is AggregateFunction.COUNT:
        long = AttributeType.LONG
        return BoundAggregate(label, function, positions, found.value, long, each, distinct)
    if not (kind.is_number or (function in _OF_ORDER and kind is AttributeType.TIMESTAMP)):
        hint = (
            f"write COUNT({alias})"
            if kind is not AttributeType.BOOLEAN
            else (f"write {function}(CASE WHEN ... THEN 1 ELSE 0 END)")
        )
        scope.refuse(f"cannot compute {function} of a {kind}", call.at, hint)
    return BoundAggregate(label, function, positions, found.value, kind, each)


def _argument(scope: Scope, call: syntax.Call, function: AggregateFunction) -> syntax.Expression:
    """Return the expression in the parentheses of an aggregate."""
    if len(call.arguments) != 1 or call.part is not None:
        if function is AggregateFunction.COUNT and not call.arguments:
            scope.refuse("COUNT needs an argument", call.at, "write COUNT(*) to count the trends")
        scope.refuse(f"{function} takes one value", call.at, "as in SUM(V.price)")
    [argument] = call.arguments
    inner = next(syntax.aggregates_of(argument), None)
    if inner is not None:
        scope.refuse("an aggregate in an aggregate", inner.at, "remove one of them")
    if function is AggregateFunction.COUNT and isinstance(argument, syntax.Literal):
        message = f"{print_output(call)} is not an aggregate"
        scope.refuse(message, call.at, "write COUNT(*) to count the trends")
    if isinstance(argument, syntax.Reference) and argument.following:
        hint = "compare neighbors in WHERE"
        scope.refuse("NEXT(...) is allowed only in WHERE", argument.at, hint)
    return argument


def _require_number(
    scope: Scope, function: AggregateFunction, position: Position, attribute: str, at: Location
) -> tuple[str, AttributeType]:
    """Return the column and type of an attribute; refuse one that cannot be aggregated."""
    column, kind = scope.column(position, attribute, at)
    if not (kind.is_number or (function in _OF_ORDER and kind is AttributeType.TIMESTAMP)):
        numbers = _numbers_of(scope, position)
        hint = f"write COUNT({position.alias})"
        if numbers:
            hint = f"numeric attributes: {some_of(numbers)}"
        scope.refuse(f"cannot compute {function} of a {kind}", at, hint)
    return column, kind


def _refuse_bare(
    scope: Scope, function: AggregateFunction, attribute: str, at: Location
) -> NoReturn:
    """Refuse an aggregate of an attribute without its alias, with a fix."""
    aliases = dict.fromkeys(position.alias for position in scope.carriers(attribute))
    if function is AggregateFunction.COUNT:
        events = listed(f"COUNT({alias})" for alias in aliases)
        hint = f"write {events} to count events, or GROUP-BY {attribute} for a row per value"
        scope.refuse(f"COUNT counts trends or events, not values of {attribute}", at, hint)
    _require_number(scope, function, scope.carriers(attribute)[0], attribute, at)
    calls = listed(f"{function}({alias}.{attribute})" for alias in aliases)
    scope.refuse(f"{function} needs the alias before {attribute}", at, f"write {calls}")


def _numbers_of(scope: Scope, position: Position) -> list[str]:
    """Return the attributes of an event that can be added up."""
    attributes = scope.schema.by_name[position.type].attributes
    return [attribute.name for attribute in attributes if attribute.type.is_number]
