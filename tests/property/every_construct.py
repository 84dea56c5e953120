"""Random workloads with all constructs of the language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from elsinore.errors import QueryError
from elsinore.query.bind_query import bind_query
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_item
from elsinore.query.syntax import Item, Query, Reference
from elsinore.template.support import greta_refusals
from tests.property.random_cases import CONSTRUCTS, SCHEMA, RandomCase, random_case
from tests.property.random_cases.calendars import OF_CALENDARS
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.dispersions import with_dispersions
from tests.property.random_cases.results import draw_each, draw_measures, draw_results
from tests.property.random_cases.shape import TYPES
from tests.property.random_cases.streams import Event

#: Constructs of a stream of its own.
OF_STREAMS = ("calendar time", "extreme times", *OF_CALENDARS)
#: Constructs that the queries of `every_construct` hold.
DRAWN = tuple(each for each in CONSTRUCTS if each not in OF_STREAMS)
#: Maximum number of events of a workload.
_MOST_EVENTS = 22
#: Times beyond are of a stream with extreme times.
_FAR = 10**6


def every_construct(name: str, number: int) -> RandomCase:
    """Queries of random cases, the first two aimed at constructs in turn, and variants of them.

    The events are those of all cases.
    """
    dice = Dice(name)
    queries: list[BoundQuery] = []
    rows: list[Event] = []
    wanted = dice.number(2, 3)
    while len(queries) < wanted:
        aim = (
            DRAWN[(2 * number + len(queries)) % len(DRAWN)]
            if len(queries) < 2
            else dice.pick(DRAWN)
        )
        case = random_case(f"{aim}:workload {number} {dice.number(0, 10**6)}")
        near = all(abs(time) < _FAR for _, time, _ in case.rows)
        if case.workload.schema is SCHEMA and near:
            queries.append(case.query)
            rows += case.rows
    dice.shuffle(rows)
    variants = [_of_returns(dice, query) for query in queries]
    named = [_named(query, f"q{n}") for n, query in enumerate(queries)]
    named += [_named(query, f"r{n}") for n, query in enumerate(variants) if query is not None]
    dice.shuffle(named)
    return RandomCase(name, Workload(SCHEMA, tuple(named)), tuple(rows[:_MOST_EVENTS]))


def _named(query: BoundQuery, name: str) -> BoundQuery:
    return replace(query, source=replace(query.source, name=name))


def _of_returns(dice: Dice, query: BoundQuery) -> BoundQuery | None:
    """The query with other values, or None where it has none."""
    if query.steps:
        return None
    groups, _ = _values(query.source)
    [counting] = parse_workload("QUERY q RETURN COUNT(*) PATTERN A")
    kept = [item for item in query.source.returns if item not in groups and item.name is None]
    more = (dice.pick(kept),) if kept and dice.chance(0.5) else ()
    returns = dict.fromkeys((*groups, *counting.returns, *more))
    return _bound(replace(query.source, returns=tuple(returns), having=None))


def returning(mixed: RandomCase, name: str) -> RandomCase:
    """The queries of a workload, with EACH, DISTINCT, measures, deviations, names and HAVING."""
    dice = Dice(name)
    queries = [_returning(dice, query) or query for query in mixed.workload.queries]
    return RandomCase(name, Workload(SCHEMA, tuple(queries)), mixed.rows)


def _returning(dice: Dice, query: BoundQuery) -> BoundQuery | None:
    """The query with drawn values; None where they do not bind or only twostep runs them."""
    groups, aggregates = _values(query.source)
    having = None
    aggregates = with_dispersions(dice, aggregates, 0.3)
    way = dice.pick(("each", "each", "measures", "measures", "names"))
    if way == "each":
        items = draw_each(dice, aggregates) or ["COUNT(EACH *)"]
    elif way == "measures":
        items = draw_measures(dice, _measurable(query), aggregates)
    else:
        items, having = draw_results(dice, aggregates, [], calendar=False)
    text = f"QUERY q RETURN {', '.join(items)} PATTERN A"
    [drawn] = parse_workload(text + (f" HAVING {having}" if having else ""))
    returns = (*groups, *drawn.returns)
    bound = _bound(replace(query.source, returns=returns, having=drawn.having))
    return None if bound is None or greta_refusals(bound) else bound


def _values(source: Query) -> tuple[tuple[Item, ...], list[str]]:
    """The grouping attributes of RETURN, and the text of the other values."""
    groups = tuple(item for item in source.returns if isinstance(item.expression, Reference))
    return groups, [print_item(item) for item in source.returns if item not in groups]


def _measurable(query: BoundQuery) -> Sequence[str]:
    """The numbers and times that FIRST and LAST can read."""
    return [
        f"{position.alias}.{name}"
        for position in query.positions
        if not position.negated
        for name, kind in (*TYPES[position.type].items(), ("time", "long"))
        if kind in ("long", "double")
    ]


def _bound(source: Query) -> BoundQuery | None:
    try:
        return bind_query(source, SCHEMA)
    except QueryError:
        return None
