"""Binds queries to a stream: names resolved, types checked, all faults reported at once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product

from elsinore import zones
from elsinore.catalog.stream import ORDER, StreamSchema
from elsinore.errors import Diagnostic, QueryError
from elsinore.query import syntax
from elsinore.query.automaton import reaches_end
from elsinore.query.bind_calendar import bind_calendar, in_its_zone, is_of_calendar
from elsinore.query.bind_events import bind_group
from elsinore.query.bind_expression import bind_all, bind_condition
from elsinore.query.bind_returns import Outputs, bind_outputs
from elsinore.query.bind_steps import Steps, bind_steps
from elsinore.query.bound import BoundQuery, EdgePredicate, Key, LocalPredicate, Workload
from elsinore.query.expressions import Applied, BoundExpression, fields_of, moved, sides_of
from elsinore.query.functions import ZONED_FUNCTIONS
from elsinore.query.print_query import (
    print_length,
    print_output,
    print_query,
    print_session,
    print_span,
)
from elsinore.query.resolve import (
    BindFault,
    Scope,
    bind_key,
    check_pattern,
    check_quantifiers,
    normal_form,
    with_types,
)
from elsinore.query.window_lengths import bind_ticks
from elsinore.timeline import UNITS
from elsinore.windows import MOST_OVERLAPPING, Session, Span, Window
from elsinore.wording import some_of


def in_text_order(faults: Iterable[Diagnostic], text: str = "") -> list[Diagnostic]:
    """Faults of one text by line and column, each once, with its line where the text is given."""
    lines = text.split("\n")

    def place(fault: Diagnostic) -> tuple[int, int]:
        at = fault.location
        return (at.line or 0, at.column or 0) if at is not None else (0, 0)

    found = sorted(dict.fromkeys(faults), key=place)
    return [replace(f, source=lines[place(f)[0] - 1]) if text and place(f)[0] else f for f in found]


def bind_workload(
    queries: tuple[syntax.Query, ...], schema: StreamSchema, zone: str | None = None
) -> Workload:
    """The workload bound to a stream; QueryError has every fault of every query, with its place.

    `zone` is the default zone of the workload, which replaces the zone of the schema.
    """
    faults: list[Diagnostic] = []
    bound = []
    # The queries of a list of values are one query as written.
    written = {(one.written_name, one.at) if one.listed else index: one.written_name
               for index, one in enumerate(queries)}  # fmt: skip
    uses = Counter(name.lower() for name in written.values())
    spelt = Counter(written.values())
    for query in queries:
        name = query.written_name
        if uses[name.lower()] > 1:
            hint = "rename one of them"
            if spelt[name] == 1:
                hint += "; uppercase and lowercase letters are equal in names"
            faults.append(Diagnostic(f"more than one query is called {name}", query.at, hint))
        try:
            bound.append(bind_query(query, schema, zone))
        except QueryError as error:
            # Values of a list mostly have the same errors, in other words.
            known = {fault.location for fault in faults} if query.listed else set()
            faults += [fault for fault in error.diagnostics if fault.location not in known]
    if faults:
        raise QueryError.of(in_text_order(faults))
    return Workload(schema, tuple(bound))


def bind_query(query: syntax.Query, schema: StreamSchema, zone: str | None = None) -> BoundQuery:
    """One query bound to a stream; QueryError has every fault.

    `zone` is the default zone of its workload, which replaces the zone of the schema.
    """
    zone = zone or schema.zone
    written = with_types(query.pattern, schema)
    scope = Scope(schema, normal_form(written, query.semantics), zone=zone)
    query = in_its_zone(query, zone)
    check_quantifiers(scope, written)
    check_pattern(scope)
    equivalences, predicates = _bind_where(scope, query.where)
    asked = _with_groups_of_sessions(query)
    by = query.session.keys if query.session else ()
    keys = _bind_keys(scope, asked.group_by, [*by, *equivalences])
    _check_session_keys(scope, by)
    steps = Steps()
    if query.steps:
        steps = bind_steps(scope, asked, written, keys)
        returned = Outputs(steps.aggregates, steps.outputs, None)
    else:
        returned = bind_outputs(scope, asked, [key for key in keys if key.group_label is not None])
    window = None
    with suppress(BindFault):
        window = _bind_window(scope, query)
    if scope.faults or window is None:
        raise QueryError.of(in_text_order(scope.faults))
    bound = BoundQuery(
        source=query,
        # The normal form would hide which parts are steps.
        text=print_query(replace(query, pattern=written if query.steps else scope.pattern)),
        fingerprint="",
        pattern=scope.pattern,
        positions=scope.positions,
        local_predicates=tuple(p for p in predicates if isinstance(p, LocalPredicate)),
        edge_predicates=tuple(p for p in predicates if isinstance(p, EdgePredicate)),
        keys=keys,
        aggregates=returned.aggregates,
        outputs=returned.outputs,
        having=returned.having,
        window=window,
        semantics=query.semantics,
        steps=steps.patterns,
        order=ORDER if schema.then_field else None,
    )
    return replace(bound, fingerprint=_fingerprint(bound, schema, zone))


def _fingerprint(query: BoundQuery, schema: StreamSchema, zone: str | None) -> str:
    """Return a hash of the query and of the parts of the schema that affect its results.

    Attributes that it does not read, and allowed values, are left out. Under `contiguous` the types
    outside of the pattern that have the attribute of a key are a part of the hash: their events
    separate only trends of their own partition.
    """
    parts = [query.text, str(schema.time_unit)]
    if query.order is not None:
        parts.append(f"then {query.order}")
    default = zone if zone and _reads_clock(query.source) else None
    if default is not None:
        parts.append(f"zone {default}")
    clock = query.window.clock
    is_zoned = clock is not None and clock.zone != "UTC"
    if default is not None or is_zoned or _has_zone(query.source):
        parts.append(f"tz {zones.version()}")
    for kind in sorted(query.event_types):
        names = sorted(name for of, name in query.reads if of == kind)
        read = [f"{name} {schema.attributes[name]}" for name in names]
        parts.append(f"{kind}({', '.join(read)})")
    if query.semantics is syntax.Semantics.CONTIGUOUS:
        for name in sorted({key.attribute for key in query.keys if key.value is None}):
            parts.append(f"{name} of {', '.join(sorted(schema.carriers(name)))}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _has_zone(query: syntax.Query) -> bool:
    return any(isinstance(node, syntax.Zoned) for node in _nodes(query))


def _reads_clock(query: syntax.Query) -> bool:
    """Return whether a query has a function that reads the clock of the default zone."""
    calls = (node for node in _nodes(query) if isinstance(node, syntax.Call))
    return any(call.function in ZONED_FUNCTIONS for call in calls)


def _nodes(query: syntax.Query) -> Iterator[syntax.Expression]:
    """Yield all expressions of a query, and their parts."""
    items = [item.expression for item in (*query.returns, *query.group_by)]
    for each in (*items, query.where, query.having):
        if each is not None:
            yield from syntax.nodes_of(each)


# ---- WHERE: conjuncts sorted into equivalence keys, local and edge predicates


def _bind_where(
    scope: Scope, where: syntax.Expression | None
) -> tuple[list[syntax.Reference], list[LocalPredicate | EdgePredicate]]:
    """The equivalence keys of a WHERE clause and its predicates; faults are noted in the scope."""
    equivalences: list[syntax.Reference] = []
    predicates: list[LocalPredicate | EdgePredicate] = []
    for conjunct in _conjuncts(where):
        if aggregates := [*syntax.aggregates_of(conjunct)]:
            _refuse_aggregates(scope, conjunct, aggregates)
            continue
        if isinstance(conjunct, syntax.Equivalence):
            equivalences += conjunct.keys
            continue
        parts: tuple[BoundExpression, ...] = ()
        with suppress(BindFault):
            parts = _apart(bind_condition(scope, conjunct))
        for part in parts:
            with suppress(BindFault):
                predicates += _of_each_type(scope, _classified(scope, part, conjunct))
    return equivalences, predicates


def _refuse_aggregates(
    scope: Scope, conjunct: syntax.Expression, aggregates: list[syntax.Call]
) -> None:
    """Note that a condition of WHERE has aggregates, and what to write."""
    inside = [node for call in aggregates for node in syntax.nodes_of(call)]
    read = [n for n in syntax.nodes_of(conjunct) if isinstance(n, syntax.Reference)]
    # A condition on events and aggregates is not one of HAVING.
    is_of_rows = all(any(node is each for each in inside) for node in read)
    shown = print_output(conjunct)
    hint = "compare aggregates in HAVING, as in HAVING COUNT(*) > 3"
    if is_of_rows and len(shown) <= _SHORT_HINT:
        hint = f"write HAVING {shown}"
    scope.fault("aggregates are not allowed in WHERE", aggregates[0].at, hint)


#: Longest condition that a hint repeats.
_SHORT_HINT = 60


def _conjuncts(where: syntax.Expression | None) -> list[syntax.Expression]:
    if where is None:
        return []
    if isinstance(where, syntax.Operation) and where.name == "AND":
        return [conjunct for part in where.operands for conjunct in _conjuncts(part)]
    return [where]


def _apart(bound: BoundExpression) -> tuple[BoundExpression, ...]:
    """BETWEEN as two conditions where each stands on its own; AND was taken apart before."""
    match bound:
        case Applied("AND", parts) if all(False in sides_of(part) for part in parts):
            return parts
    return (bound,)


def _classified(
    scope: Scope, condition: BoundExpression, written: syntax.Expression
) -> LocalPredicate | EdgePredicate:
    """A condition as the predicate that it is (GRETA section 6)."""
    now = {field.position for field in fields_of(condition) if not field.following}
    later = {field.position for field in fields_of(condition) if field.following}
    if not now and not later:
        hint = "compare an attribute, as in V.price > 5, or remove the condition"
        scope.refuse("this condition reads no attribute of any event", written.at, hint)
    if len(now) > 1 or len(later) > 1:
        names = some_of(sorted({scope.positions[i].alias for i in now | later}))
        message = f"this condition reads several events: {names}"
        scope.refuse(message, written.at, _about_several(written))
    if not later:
        return LocalPredicate(now.pop(), condition)
    if not now:
        hint = "compare it with the event before it, as in V.price < NEXT(V).price"
        scope.refuse("NEXT(...) is compared with nothing", written.at, hint)
    edge = EdgePredicate(now.pop(), later.pop(), condition)
    earlier, following = (scope.positions[i].alias for i in (edge.earlier, edge.later))
    if scope.well_shaped and (earlier, following) not in scope.neighbours:
        message = f"{following} never comes right after {earlier} in this pattern"
        scope.refuse(message, written.at, "compare events that are adjacent in the pattern")
    return edge


def _of_each_type(
    scope: Scope, predicate: LocalPredicate | EdgePredicate
) -> Iterator[LocalPredicate | EdgePredicate]:
    """Yield a predicate for each type, or pair of types, of the aliases that it reads."""

    def alike(position: int) -> list[int]:
        alias = scope.positions[position].alias
        return [other.index for other in scope.positions if other.alias == alias]

    match predicate:
        case LocalPredicate(position, condition):
            for one in alike(position):
                yield LocalPredicate(one, moved(condition, one, one))
        case EdgePredicate(earlier, later, condition):
            for one, other in product(alike(earlier), alike(later)):
                yield EdgePredicate(one, other, moved(condition, one, other))


def _about_several(written: syntax.Expression) -> str:
    """Return a hint for a condition on events that need not be adjacent."""
    sides = written.operands if isinstance(written, syntax.Operation) else ()
    names = {side.attribute for side in sides if isinstance(side, syntax.Reference)}
    if isinstance(written, syntax.Operation) and written.name == "=" and len(names) == 1:
        return f"write [{names.pop()}] for one value in the whole trend"
    if "time" in _attributes_of(written):
        return (
            "limit the length of a trend with SPAN, as in SPAN 10 minutes PER 1 day, not with a "
            "condition"
        )
    return "compare one event with a value, or with the NEXT(...) event"


def _attributes_of(written: syntax.Expression) -> set[str]:
    """Return the names of all attributes that an expression reads."""
    nodes = syntax.nodes_of(written)
    return {node.attribute for node in nodes if isinstance(node, syntax.Reference)}


# ---- keys


def _bind_keys(
    scope: Scope, group_by: tuple[syntax.Item, ...], equivalences: list[syntax.Reference]
) -> tuple[Key, ...]:
    """Grouping keys in their order, then the other equivalence keys, without repetition."""
    found: dict[tuple[str, frozenset[int]], Key] = {}
    references = [i.expression for i in group_by if isinstance(i.expression, syntax.Reference)]
    names = Counter(reference.attribute for reference in references)
    labels: dict[str, syntax.Item] = {}
    for item in group_by:
        with suppress(BindFault):
            key = bind_group(scope, item)
            label = item.name or _label(item.expression, names)
            if label in labels and (item.name or labels[label].name):
                scope.fault(f"two groups are called {label}", item.at, "rename one of them")
            labels[label] = item
            found[key.attribute, key.positions] = replace(key, group_label=label)
    for reference in equivalences:
        with suppress(BindFault):
            key = bind_key(scope, reference)
            place = key.attribute, key.positions
            found[place] = replace(found.get(place, key), equivalence=True)
    return tuple(found.values())


def _with_groups_of_sessions(query: syntax.Query) -> syntax.Query:
    """Return the query with the attributes after BY in GROUP-BY."""
    if query.session is None:
        return query
    grouped = {
        each.attribute
        for each in (item.expression for item in query.group_by)
        if isinstance(each, syntax.Reference) and each.qualifier is None
    }
    more = (
        syntax.Item(key, at=key.at) for key in query.session.keys if key.attribute not in grouped
    )
    return replace(query, group_by=(*query.group_by, *more))


def _check_session_keys(scope: Scope, by: tuple[syntax.Reference, ...]) -> None:
    """Note an error for each attribute after BY that events of the pattern lack."""
    names = Counter(reference.attribute for reference in by)
    for reference in by:
        name = reference.attribute
        if names[name] > 1:
            message = f"{name} occurs {names[name]} times in BY"
            scope.fault(message, reference.at, "remove the repetition")
        carriers = scope.schema.carriers(name)
        lacking = sorted({position.type for position in scope.positions} - carriers)
        if carriers and scope.well_shaped and lacking:
            message = f"{some_of(lacking)} has no attribute {name}, so it is in no session"
            hint = _shared_attributes(scope) or "use WITHIN and [...] for keys of some types"
            scope.fault(message, reference.at, hint)


def _shared_attributes(scope: Scope) -> str | None:
    """Return a hint that names attributes which all events of the pattern have."""
    types = [{each.name for each in scope.schema.by_name[p.type].attributes}
             for p in scope.positions if p.type in scope.schema.by_name]  # fmt: skip
    shared = sorted(set.intersection(*types)) if types else []
    return f"as in BY {shared[0]}" if shared else None


def _label(written: syntax.Expression, names: Counter[str]) -> str:
    """Return the label of a group without a name; attributes of equal names have their alias."""
    if not isinstance(written, syntax.Reference):
        return print_output(written)
    plain = names[written.attribute] == 1 or written.qualifier is None
    return written.attribute if plain else f"{written.qualifier}.{written.attribute}"


# ---- WITHIN and SLIDE, SPAN and PER, or SESSION


def _bind_window(scope: Scope, query: syntax.Query) -> Window:
    if query.session is not None:
        return _bind_session(scope, query, query.session)
    if query.span is not None:
        return _bind_span(scope, query, query.span)
    if query.within is None:
        scope.refuse("the WITHIN clause is missing", query.at, "as in WITHIN 10 minutes")
    if is_of_calendar(query):
        return bind_calendar(scope, query)
    clauses = [("WITHIN", query.within), *([("SLIDE", query.slide)] if query.slide else [])]
    within, *slides = bind_all(clauses, lambda clause: bind_ticks(scope, *clause))
    if query.slide and slides[0] > within:
        message = "SLIDE is longer than WITHIN: events in the gaps are lost"
        scope.refuse(message, query.slide.at, "write the length of WITHIN or less")
    window = Window(within, slides[0] if slides else within)
    if query.slide and window.overlapping > MOST_OVERLAPPING:
        calendar = scope.schema.time_unit.is_calendar
        message = (
            f"query {query.name} has {window.overlapping:,} windows for each event (WITHIN divided "
            f"by SLIDE), at most {MOST_OVERLAPPING:,} are supported"
        )
        slide = print_length(_shortest_slide(within, calendar=calendar), calendar=calendar)
        scope.refuse(message, query.slide.at, f"write SLIDE {slide.replace(',', '')} or longer")
    return _with_offset(scope, query, window)


def _with_offset(scope: Scope, query: syntax.Query, window: Window) -> Window:
    """Return a window with the OFFSET of its query."""
    if query.offset is None:
        return window
    offset = bind_ticks(scope, "OFFSET", query.offset, least=0)
    if offset >= window.slide:
        calendar = scope.schema.time_unit.is_calendar
        rest = print_length(offset % window.slide, calendar=calendar).replace(",", "")
        clause = "PER" if query.span else "SLIDE" if query.slide else "WITHIN"
        hint = f"write OFFSET {rest}" if offset % window.slide else "remove it"
        hint += ", which means the same"
        scope.refuse(f"OFFSET is not less than {clause}", query.offset.at, hint)
    return replace(window, offset=offset)


def _bind_span(scope: Scope, query: syntax.Query, span: syntax.Span) -> Window:
    if query.within is not None:
        hint = "remove WITHIN; PER is the length of the periods by which trends are counted"
        scope.refuse("SPAN and WITHIN cannot be combined", query.within.at, hint)
    if isinstance(scope.pattern, syntax.Conjunction):
        scope.refuse("SPAN cannot limit pairs of trends (AND)", span.at, "use WITHIN instead")
    if span.period is None:
        scope.refuse("SPAN needs PER", span.at, f"as in {_with_period(scope, span)}")
    # The parts of a sequence that steps count are followed by no NOT.
    looks_ahead = scope.well_shaped and not query.steps and reaches_end(scope.pattern)
    if is_of_calendar(query):
        length = bind_ticks(scope, "SPAN", span.length)
        return bind_calendar(scope, query, Span(length, span.by_first, looks_ahead))
    clauses = [("SPAN", span.length), ("PER", span.period)]
    length, period = bind_all(clauses, lambda clause: bind_ticks(scope, *clause))
    window = Window(period, period, Span(length, span.by_first, looks_ahead))
    return _with_offset(scope, query, window)


def _bind_session(scope: Scope, query: syntax.Query, session: syntax.Session) -> Window:
    if query.within is not None:
        hint = "remove WITHIN; UP TO limits the length of a session"
        scope.refuse("SESSION and WITHIN cannot be combined", query.within.at, hint)
    if query.span is not None:
        hint = "remove SPAN, or remove SESSION and write [...] for its keys"
        scope.refuse("SESSION and SPAN cannot be combined", query.span.at, hint)
    if not session.keys:
        example = _shared_attributes(scope) or "as in BY user"
        text = f"{print_session(session)} {example.removeprefix('as in ')}"
        scope.refuse("SESSION needs BY", session.at, f"as in {text}")
    clauses = [("SESSION", session.gap), *([("UP TO", session.up_to)] if session.up_to else [])]
    gap, *longest = bind_all(clauses, lambda clause: bind_ticks(scope, *clause))
    if session.up_to is not None and longest[0] < gap:
        calendar = scope.schema.time_unit.is_calendar
        least = print_length(gap, calendar=calendar).replace(",", "")
        message = "UP TO is shorter than the gap of the session"
        scope.refuse(message, session.up_to.at, f"write UP TO {least} or longer")
    types = frozenset(position.type for position in scope.positions)
    keys = tuple(key.attribute for key in session.keys)
    return Window.of_session(Session(gap, longest[0] if longest else None, keys, types))


def _with_period(scope: Scope, span: syntax.Span) -> str:
    """Return a span with the periods that most queries use."""
    period = syntax.Duration(1, "day") if scope.schema.time_unit.is_calendar else span.length
    return print_span(replace(span, period=period))


def _shortest_slide(within: int, *, calendar: bool) -> int:
    """Return about the shortest SLIDE that a WITHIN allows, in whole units."""
    least = -(-within // MOST_OVERLAPPING)
    if not calendar:
        return least
    unit = max(length for length in UNITS.values() if length <= least)
    return -(-least // unit) * unit
