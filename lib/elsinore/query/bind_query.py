"""Binds queries to a stream: names resolved, types checked, all faults reported at once."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, QueryError
from elsinore.query import syntax
from elsinore.query.bind_expression import bind_condition, suggest_unit, unit_length, whole_ticks
from elsinore.query.bound import (
    AggregateFunction,
    BoundAggregate,
    BoundQuery,
    EdgePredicate,
    Key,
    LocalPredicate,
    Position,
    Workload,
)
from elsinore.query.expressions import Applied, BoundExpression, fields_of, sides_of
from elsinore.query.faults import in_text_order
from elsinore.query.print_query import print_query
from elsinore.query.resolve import BindFault, Scope, check_pattern, normal_form
from elsinore.timeline import DAY, NUMBER_LENGTHS, TimeUnit
from elsinore.windows import LONGEST, LONGEST_CALENDAR, Window
from elsinore.wording import some_of, suggest

# ---- WHERE: conjuncts sorted into equivalence keys, local and edge predicates


@dataclass
class Conditions:
    """What WHERE says, by class of predicate (GRETA section 6)."""

    equivalences: list[syntax.Reference] = field(default_factory=list)
    local: list[LocalPredicate] = field(default_factory=list)
    edges: list[EdgePredicate] = field(default_factory=list)


def bind_where(scope: Scope, where: syntax.Expression | None) -> Conditions:
    """The conditions of a WHERE clause; faults are noted in the scope."""
    conditions = Conditions()
    for conjunct in _conjuncts(where):
        if isinstance(conjunct, syntax.Equivalence):
            conditions.equivalences += conjunct.keys
            continue
        try:
            bound = bind_condition(scope, conjunct)
        except BindFault:
            continue
        # AND was taken apart before; BETWEEN is two conditions where each stands on its own.
        parts: tuple[BoundExpression, ...] = (bound,)
        if isinstance(bound, Applied) and bound.name == "AND":
            apart = all(False in sides_of(part) for part in bound.operands)
            parts = bound.operands if apart else parts
        for part in parts:
            _classify(scope, part, conjunct, conditions)
    return conditions


def _conjuncts(where: syntax.Expression | None) -> list[syntax.Expression]:
    if where is None:
        return []
    if isinstance(where, syntax.Operation) and where.name == "AND":
        return [conjunct for part in where.operands for conjunct in _conjuncts(part)]
    return [where]


def _classify(
    scope: Scope, condition: BoundExpression, written: syntax.Expression, conditions: Conditions
) -> None:
    now = {field.position for field in fields_of(condition) if not field.following}
    later = {field.position for field in fields_of(condition) if field.following}
    if not now and not later:
        scope.fault("this condition reads no attribute of any event", written.at)
    elif len(now) > 1 or len(later) > 1:
        names = some_of(sorted(scope.positions[i].alias for i in now | later))
        scope.fault(
            f"this condition is about {names} at once",
            written.at,
            _about_several(written),
        )
    elif not later:
        conditions.local.append(LocalPredicate(now.pop(), condition))
    elif not now:
        scope.fault("NEXT(...) stands alone", written.at, "compare it with the event before it")
    else:
        _add_edge(scope, EdgePredicate(now.pop(), later.pop(), condition), written, conditions)


def _about_several(written: syntax.Expression) -> str:
    """What to write for a condition about events that need not be adjacent."""
    sides = written.operands if isinstance(written, syntax.Operation) else ()
    names = {side.attribute for side in sides if isinstance(side, syntax.Reference)}
    if isinstance(written, syntax.Operation) and written.name == "=" and len(names) == 1:
        return f"write [{names.pop()}] for one value in the whole trend"
    return "a condition reads one event, or an event and the NEXT(...) one"


def _add_edge(
    scope: Scope, edge: EdgePredicate, written: syntax.Expression, conditions: Conditions
) -> None:
    earlier, later = (scope.positions[i].alias for i in (edge.earlier, edge.later))
    if scope.well_shaped and (earlier, later) not in scope.adjacency.pairs:
        scope.fault(
            f"{later} never comes right after {earlier} in this pattern",
            written.at,
            "an edge predicate is about adjacent events",
        )
    else:
        conditions.edges.append(edge)


# ---- whole queries


def bind_workload(queries: tuple[syntax.Query, ...], schema: StreamSchema) -> Workload:
    """The workload bound to a stream.

    Raises:
        QueryError: with every fault of every query, each with its position.
    """
    faults: list[Diagnostic] = []
    bound = []
    uses = Counter(query.name.lower() for query in queries)
    for query in queries:
        if uses[query.name.lower()] > 1:
            faults.append(Diagnostic(f"more than one query is called {query.name}", query.at))
        try:
            bound.append(bind_query(query, schema))
        except QueryError as error:
            faults += error.diagnostics
    if faults:
        raise QueryError.of(in_text_order(faults))
    return Workload(schema, tuple(bound))


def bind_query(query: syntax.Query, schema: StreamSchema) -> BoundQuery:
    """One query bound to a stream.

    Raises:
        QueryError: with every fault found.
    """
    scope = Scope(schema, normal_form(query.pattern))
    check_pattern(scope)
    conditions = bind_where(scope, query.where)
    keys = _bind_keys(scope, query.group_by, conditions.equivalences)
    aggregates = _bind_returns(scope, query)
    window = _bind_window(scope, query)
    if scope.faults or window is None:
        raise QueryError.of(in_text_order(scope.faults))
    text = print_query(replace(query, pattern=scope.pattern))
    return BoundQuery(
        source=query,
        text=text,
        fingerprint=_fingerprint(text, scope),
        pattern=scope.pattern,
        positions=scope.positions,
        local_predicates=tuple(conditions.local),
        edge_predicates=tuple(conditions.edges),
        keys=keys,
        aggregates=aggregates,
        window=window,
        semantics=query.semantics,
    )


def _fingerprint(text: str, scope: Scope) -> str:
    types = sorted({position.type for position in scope.positions})
    parts = [f"{name}({scope.schema.by_name[name].attributes})" for name in types]
    whole = "\n".join([text, str(scope.schema.time_unit), *parts])
    return hashlib.sha256(whole.encode()).hexdigest()


# ---- keys


def _bind_keys(
    scope: Scope, group_by: tuple[syntax.Reference, ...], equivalences: list[syntax.Reference]
) -> tuple[Key, ...]:
    """Grouping keys in their order, then the other equivalence keys, without repetition."""
    found: dict[tuple[str, frozenset[int]], Key] = {}
    names = Counter(reference.attribute for reference in group_by)
    for reference in group_by:
        key = _bind_key(scope, reference, equivalence=False)
        if key is not None:
            plain = names[reference.attribute] == 1 or reference.qualifier is None
            label = reference.attribute if plain else f"{reference.qualifier}.{key.attribute}"
            found[key.attribute, key.positions] = replace(key, group_label=label)
    for reference in equivalences:
        key = _bind_key(scope, reference, equivalence=True)
        if key is not None:
            place = key.attribute, key.positions
            found[place] = replace(found.get(place, key), equivalence=True)
    return tuple(found.values())


def _bind_key(scope: Scope, reference: syntax.Reference, *, equivalence: bool) -> Key | None:
    """The key of one attribute; a scoped one is carried by the named positions alone."""
    attribute, at = reference.attribute, reference.at
    if reference.following:
        scope.fault("NEXT(...) cannot be a key", at)
        return None
    if reference.qualifier is not None:
        carriers = scope.named(reference.qualifier, at)
        columns = [scope.column(position, attribute, at) for position in carriers]
        if not columns or None in columns:
            return None
    else:
        carriers = scope.carriers(attribute)
    if not carriers:
        scope.no_carrier(attribute, at)
        return None
    if scope.well_shaped and all(position.negated for position in carriers):
        scope.fault(f"no event of a trend carries {attribute}", at)
        return None
    kind = scope.schema.attributes.get(attribute)
    if kind is None:
        scope.fault(f"{attribute} cannot be a key", at, "windows are by time: WITHIN and SLIDE")
        return None
    positions = frozenset(position.index for position in carriers)
    return Key(attribute, kind, positions, equivalence, None)


# ---- RETURN


def _bind_returns(scope: Scope, query: syntax.Query) -> tuple[BoundAggregate, ...]:
    groups = {(key.qualifier, key.attribute) for key in query.group_by}
    groups |= {(None, key.attribute) for key in query.group_by}
    aggregates: dict[str, BoundAggregate] = {}
    for item in query.returns:
        if isinstance(item, syntax.Reference):
            if (item.qualifier, item.attribute) not in groups:
                hint = suggest(item.attribute, [key.attribute for key in query.group_by])
                hint = hint or f"add GROUP-BY {item.attribute}"
                scope.fault(f"{item.attribute} is not in GROUP-BY", item.at, hint)
            continue
        if item.label in aggregates:
            scope.fault(f"{item.label} is returned twice", item.at)
        bound = _bind_aggregate(scope, item)
        if bound is not None:
            aggregates[bound.label] = bound
    if not any(isinstance(item, syntax.Aggregate) for item in query.returns):
        scope.fault("RETURN names no aggregate", query.at, "COUNT(*) counts the trends")
    if isinstance(scope.pattern, syntax.Conjunction):
        for item in query.returns:
            if isinstance(item, syntax.Aggregate) and item.label.upper() != "COUNT(*)":
                scope.fault("a pattern with AND has no aggregate but COUNT(*)", item.at)
    return tuple(aggregates.values())


def _bind_aggregate(scope: Scope, item: syntax.Aggregate) -> BoundAggregate | None:
    if item.function not in AggregateFunction.__members__:
        known = list(AggregateFunction.__members__)
        hint = suggest(item.function, known, 0.75) or f"there are {', '.join(known)}"
        scope.fault(f"there is no aggregate {item.function}", item.at, hint)
        # What else is wrong in its parentheses is noted too.
        carriers = scope.named(item.target, item.at) if item.target != "*" else ()
        if carriers and item.attribute is not None:
            scope.column(carriers[0], item.attribute, item.at)
        return None
    function = AggregateFunction[item.function]
    counting = function is AggregateFunction.COUNT
    if item.target == "*":
        if not counting:
            scope.fault(f"{item.function} needs an attribute", item.at, "as in SUM(A.price)")
            return None
        return BoundAggregate(item.label, function, frozenset(), None, AttributeType.LONG)
    named = scope.named(item.target, item.at)
    carriers = tuple(p for p in named if not (scope.well_shaped and p.negated))
    if named and not carriers:
        scope.fault(f"{item.target} is part of no trend: it stands under NOT", item.at)
        return None
    if not carriers or counting != (item.attribute is None):
        if carriers:
            numbers = _numbers_of(scope, carriers[0])
            name = f"{item.function}({item.target}.{(numbers or ['attribute'])[0]})"
            wanted = f"COUNT({item.target})" if counting else name
            scope.fault(f"{item.label} is no aggregate", item.at, f"write {wanted}")
        return None
    positions = frozenset(position.index for position in carriers)
    if item.attribute is None:
        return BoundAggregate(item.label, function, positions, None, AttributeType.LONG)
    column = scope.column(carriers[0], item.attribute, item.at)
    if column is None:
        return None
    extreme = function in (AggregateFunction.MIN, AggregateFunction.MAX)
    if not (column[1].is_number or (extreme and column[1] is AttributeType.TIMESTAMP)):
        hint = f"numbers are {some_of(_numbers_of(scope, carriers[0])) or 'none of its attributes'}"
        scope.fault(f"{item.function} of a {column[1]} has no meaning", item.at, hint)
        return None
    return BoundAggregate(item.label, function, positions, column[0], column[1])


def _numbers_of(scope: Scope, position: Position) -> list[str]:
    """Attributes of an event that can be added up."""
    attributes = scope.schema.by_name[position.type].attributes
    return [attribute.name for attribute in attributes if attribute.type.is_number]


# ---- WITHIN and SLIDE


def _bind_window(scope: Scope, query: syntax.Query) -> Window | None:
    if query.within is None:
        scope.fault("there is no WITHIN clause", query.at, "as in WITHIN 10 minutes")
        return None
    within = _ticks(scope, query.within, "WITHIN")
    slide = _ticks(scope, query.slide, "SLIDE") if query.slide else within
    if within is None or slide is None:
        return None
    if slide > within:
        assert query.slide is not None
        scope.fault("SLIDE is longer than WITHIN: events in the gaps are lost", query.slide.at)
        return None
    return Window(within, slide)


def _ticks(scope: Scope, duration: syntax.Duration, clause: str) -> int | None:
    unit = scope.schema.time_unit
    if duration.unit is None:
        if unit not in NUMBER_LENGTHS:
            scope.fault(f"{clause} needs a unit", duration.at, "as in 10 minutes")
            return None
        length = NUMBER_LENGTHS[unit]
    elif unit is TimeUnit.INTEGER:
        scope.fault("this stream's time has no unit; write a bare number", duration.at)
        return None
    else:
        length = unit_length(duration.unit) or 0
        if not length:
            hint = suggest_unit(duration.unit)
            scope.fault(f"{duration.unit} is no unit of time", duration.at, hint)
            return None
    ticks = whole_ticks(duration.amount, length)
    if ticks is None or ticks <= 0:
        scope.fault(f"{clause} must be positive, in whole microseconds", duration.at)
        return None
    longest = LONGEST_CALENDAR if unit.is_calendar else LONGEST
    if ticks > longest:
        most = f"{longest // DAY} days" if unit.is_calendar else f"{longest}"
        scope.fault(f"{clause} is too long: at most {most}", duration.at)
        return None
    return ticks
