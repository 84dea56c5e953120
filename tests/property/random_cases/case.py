"""Random cases: bound queries and their events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import exceeds_64_bits
from elsinore.query.bind_query import bind_query
from elsinore.query.bound import PERCENTILES, BoundQuery, Workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_item, print_output, print_pattern
from elsinore.query.syntax import (
    Conjunction,
    Equivalence,
    Expression,
    Item,
    Operation,
    Query,
    Reference,
    Semantics,
    Sequence,
)
from elsinore.template.support import greta_refusals, participation_refusals
from tests.property.random_cases.calendars import beside_calendar, with_calendar
from tests.property.random_cases.clauses import draw_returns, draw_semantics, draw_window
from tests.property.random_cases.conditions import draw_where
from tests.property.random_cases.constructs import constructs_of
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.dispersions import EACH_DISPERSION, OF_MEASURE, with_dispersions
from tests.property.random_cases.parameters import with_parameters
from tests.property.random_cases.patterns import PatternDrawer
from tests.property.random_cases.repeated import with_repeated, written
from tests.property.random_cases.results import (
    OF_EACH,
    OF_MEASURES,
    OF_STEPS,
    draw_each,
    draw_measures,
    draw_results,
)
from tests.property.random_cases.sessions import beside_session, with_session
from tests.property.random_cases.shape import TYPES, Shape, draw_groups
from tests.property.random_cases.signed import with_signed
from tests.property.random_cases.spans import beside_span, with_offset, with_span
from tests.property.random_cases.streams import (
    CALENDAR,
    ORDERED,
    SCHEMA,
    THEN,
    THEN_TIES,
    Event,
    draw_events,
    with_order,
)

#: Draws after which a case need no longer hold the construct that it is aimed at.
_TRIES = 12


@dataclass(frozen=True)
class RandomCase:
    """Queries and a stream.

    Attributes:
        name: by which `random_case` or `random_workload` draws it again, the same everywhere.
        rows: the events as `(type, time, attributes)`, in an order of no meaning.
    """

    name: str
    workload: Workload
    rows: tuple[Event, ...]

    @property
    def query(self) -> BoundQuery:
        """The query, of a case that has one."""
        return self.workload.queries[0]

    @cached_property
    def constructs(self) -> frozenset[str]:
        """What the query and its stream hold, out of `CONSTRUCTS`."""
        return constructs_of(self.query, self.workload.schema, self.rows)

    @cached_property
    def events(self) -> EventTable:
        """The rows as a table, in their order."""
        return EventTable.of(self.workload.schema, self.rows)

    @cached_property
    def shuffled(self) -> EventTable:
        """The events in another order of arrival, equal times included."""
        rows = list(self.rows)
        Dice(f"order of {self.name}").shuffle(rows)
        return EventTable.of(self.workload.schema, rows)

    def described(self) -> str:
        """The case in the notation of the golden cases."""
        texts = "".join(query.text for query in self.workload.queries)
        events = " ".join(map(_event_text, sorted(self.rows, key=itemgetter(1))))
        return f"{self.name}: {texts}events: {events}"


def _event_text(event: Event) -> str:
    kind, time, values = event
    inside = ", ".join(f"{name}={value}" for name, value in values.items() if value is not None)
    return f"{kind.lower()}{time}" + (f"({inside})" if inside else "")


def random_case(name: str | int) -> RandomCase:
    """The case of one query of a name; the same on every machine.

    A name `NOT leading:7` is aimed at a construct, and nearly always holds it; a bare number is
    aimed at nothing.
    """
    aim, _, _ = str(name).rpartition(":")
    beside = beside_session(beside_calendar(beside_span(aim)))
    dice = Dice(str(name), beside or None)
    for left in reversed(range(10 * _TRIES)):
        case = _draw(dice, str(name), aim)
        if case is not None and (not aim or aim in case.constructs or left < 9 * _TRIES):
            return case
    raise AssertionError(f"nothing that binds was drawn for {name}")


def _results(
    name: str,
    aim: str | None,
    returns: tuple[Item, ...],
    groups: tuple[Reference, ...],
    shape: Shape,
    calendar: bool,
    share: float,
) -> tuple[tuple[Item, ...], Expression | None]:
    """RETURN and HAVING over the drawn aggregates; `name` draws, so that nothing else changes.

    `share` is the probability of EACH.
    """
    named = [item for item in returns if isinstance(item.expression, Reference)]
    aggregates = [print_item(item) for item in returns if item not in named]
    dispersions = Dice(f"dispersions of {name}, {aggregates}", aim)
    aggregates = with_dispersions(dispersions, aggregates, 0.12)
    texts = [print_output(reference) for reference in groups]
    dice = Dice(f"results of {name}, {aggregates}", aim)
    items, having = draw_results(dice, aggregates, texts, calendar=calendar)
    each = Dice(f"each of {name}, {aggregates}", aim)
    of_each = (*OF_EACH, "quantifier with EACH", EACH_DISPERSION)
    if len(aggregates) > 1 and each.chance(share, *of_each):
        items, having = draw_each(each, aggregates), None
    measures = Dice(f"measures of {name}, {aggregates}", aim)
    if not isinstance(shape.pattern, Conjunction) and measures.chance(
        0.12, *OF_MEASURES, OF_MEASURE
    ):
        items, having = draw_measures(measures, _measurable(shape), aggregates), None
    text = f"QUERY q RETURN {', '.join(items)} PATTERN A"
    text += f" HAVING {having}" if having else ""
    [query] = parse_workload(text)
    return (*named, *query.returns), query.having


def _measurable(shape: Shape) -> list[str]:
    """The numbers and times that FIRST and LAST can read, of aliases and types; numbers often."""
    names = [leaf.alias for leaf in shape.positive] + [
        leaf.type for leaf in shape.positive if leaf.type in shape.types_once()
    ]
    kinds = {leaf.alias: leaf.type for leaf in shape.positive}
    found = []
    for name in names:
        own = TYPES[kinds.get(name, name)]
        numbers = [each for each, kind in own.items() if kind in ("long", "double")]
        times = ["time"] + [each for each in own if each == "t"]
        found += [f"{name}.{each}" for each in (*numbers, *numbers, *times)]
    return found


#: Expressions of GROUP-BY over an alias P, by the attribute that its type must have.
_GROUPS = (
    ("x", "P.x % 2"), ("x", "P.x > 1"), ("x", "coalesce(P.x, 1)"), ("s", "upper(P.s)"),
    ("s", "substr(P.s, 1, 1)"), ("y", "round(P.y)"), ("t", "date_trunc('second', P.t)"),
    ("x", "CASE WHEN P.x > 1 THEN 'high' ELSE 'low' END"),
)  # fmt: skip


def _grouped(
    name: str, aim: str | None, shape: Shape, groups: tuple[Reference, ...]
) -> tuple[Item, ...]:
    """GROUP-BY; sometimes with an expression over a type that occurs once."""
    items = tuple(map(Item, groups))
    dice = Dice(f"groups of {name}", aim)
    once = [leaf for leaf in shape.positive if [x.type for x in shape.every].count(leaf.type) == 1]
    if not once or not dice.chance(0.1, "GROUP-BY expression"):
        return items
    leaf = dice.pick(once)
    fitting = [text for needs, text in _GROUPS if needs in TYPES[leaf.type]]
    text = dice.pick(fitting).replace("P.", f"{leaf.alias}.")
    [query] = parse_workload(f"QUERY q RETURN COUNT(*) PATTERN A GROUP-BY {text} AS e")
    return (*items, *query.group_by)


def _with_steps(dice: Dice, query: Query) -> Query:
    """Sometimes the same query with `RETURN STEPS`, mostly with keys that all parts share."""
    if not dice.chance(0.05, *OF_STEPS):
        return query
    pattern = query.pattern
    if not isinstance(pattern, Sequence):
        pattern = Sequence((pattern,))
    groups = query.group_by if dice.chance(0.5, "STEPS with grouping") else ()
    where = query.where
    if dice.chance(0.4, "keys of steps", "keys of several attributes"):
        several = dice.chance(0.3, "keys of several attributes")
        key = Equivalence(tuple(Reference(None, name) for name in ("kg" if several else "k")))
        where = key if where is None else Operation("AND", (where, key))
    return replace(
        query, steps=True, returns=(), having=None, pattern=pattern, group_by=groups, where=where
    )


def _draw(dice: Dice, name: str, aim: str) -> RandomCase | None:
    """A case, or None where the drawn query does not bind."""
    calendar = dice.chance(0.1, "calendar time") and not dice.aims("extreme times")
    schema = CALENDAR if calendar else SCHEMA
    pattern = PatternDrawer(dice).draw()
    shape = Shape(with_repeated(Dice(f"repeated in {name}, {pattern}", dice.aim), pattern))
    groups = draw_groups(dice, shape)
    within, slide = draw_window(dice, calendar=schema is CALENDAR)
    aggregates = draw_returns(dice, shape, groups)
    where, semantics = draw_where(dice, shape), draw_semantics(dice)
    each = 0.06 if semantics is Semantics.ANY else 0.4
    returns, having = _results(name, dice.aim, aggregates, groups, shape, calendar, each)
    query = Query(
        name="q",
        returns=returns,
        having=having,
        pattern=written(shape.pattern),
        where=where,
        group_by=_grouped(name, dice.aim, shape, groups),
        within=within,
        slide=slide,
        semantics=semantics,
    )
    query = with_span(Dice(f"span of {name}, {print_pattern(query.pattern)}", aim), query)
    if query.span is None:
        drawn = Dice(f"session of {name}, {print_pattern(query.pattern)}", aim)
        query = with_session(drawn, query, shape)
    moved = None
    if query.session is None:
        query = with_offset(Dice(f"offset of {name}", aim), query)
        query, moved = with_calendar(Dice(f"calendar of {name}", aim), query)
    if moved is not None:
        schema = CALENDAR
    query = with_parameters(Dice(f"parameters of {name}", dice.aim), query)
    if not isinstance(shape.pattern, Conjunction):
        steps = Dice(f"steps of {name}, {print_pattern(query.pattern)}", dice.aim)
        query = _with_steps(steps, query)
    order = Dice(f"order of events of {name}", aim)
    is_ordered = order.chance(0.1, THEN, THEN_TIES) and not dice.aims("extreme times")
    schema = ORDERED[schema] if is_ordered else schema
    try:
        bound = bind_query(query, schema)
    except QueryError:  # say, a pattern of nothing but NOT
        return None
    if participation_refusals(bound) and dice.chance(0.97):
        return None  # otherwise greta would refuse most queries with EACH
    if any(
        item.function in PERCENTILES and exceeds_64_bits(item.attribute)
        for item in bound.aggregates
    ):
        return None  # it fails if a value exceeds 64 bits
    measured = any(item.measure is not None for item in bound.aggregates)
    if measured and dice.chance(0.7) and greta_refusals(bound):
        return None
    rows = draw_events(dice, shape, int(within.amount))
    rows = with_signed(Dice(f"signed doubles of {name}", dice.aim), rows)
    rows = moved.events(rows) if moved is not None else rows
    rows = with_order(order, rows) if is_ordered else rows
    return RandomCase(name, Workload(schema, (bound,)), tuple(rows))
