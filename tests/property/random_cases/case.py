"""One random case: a bound query and its events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_query
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Query
from tests.property.random_cases.clauses import draw_returns, draw_semantics, draw_window
from tests.property.random_cases.conditions import draw_where
from tests.property.random_cases.constructs import constructs_of
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.patterns import PatternDrawer
from tests.property.random_cases.shape import Shape, draw_groups
from tests.property.random_cases.signed import with_signed
from tests.property.random_cases.streams import CALENDAR, SCHEMA, Event, draw_events

#: Draws after which a case need no longer hold the construct that it is aimed at.
_TRIES = 12


@dataclass(frozen=True)
class RandomCase:
    """A query, its events in an order of no meaning, and which constructs they hold.

    Attributes:
        name: `construct:seed` or `seed`; `random_case(name)` draws it again.
        rows: the events as `(type, time, attributes)`.
    """

    name: str
    query: BoundQuery
    schema: StreamSchema
    rows: tuple[Event, ...]

    @cached_property
    def constructs(self) -> frozenset[str]:
        """What the query and its stream hold, out of `CONSTRUCTS`."""
        return constructs_of(self.query, self.schema, self.rows)

    @cached_property
    def events(self) -> EventTable:
        """The rows as a table, in their order."""
        return EventTable.of(self.schema, self.rows)

    def shuffled(self) -> EventTable:
        """The events in another order of arrival, equal times included."""
        rows = list(self.rows)
        Dice(f"order of {self.name}").shuffle(rows)
        return EventTable.of(self.schema, rows)


def random_case(name: str | int) -> RandomCase:
    """The case of a name; the same on every machine.

    A name `NOT leading:7` is aimed at a construct, and nearly always holds it; a bare number is
    aimed at nothing.
    """
    aim, _, _ = str(name).rpartition(":")
    dice = Dice(str(name), aim or None)
    for left in reversed(range(10 * _TRIES)):
        case = _draw(dice, str(name))
        if case is not None and (not aim or aim in case.constructs or left < 9 * _TRIES):
            return case
    raise AssertionError(f"nothing that binds was drawn for {name}")


def _draw(dice: Dice, name: str) -> RandomCase | None:
    """A case, or None where the drawn query does not bind."""
    calendar = dice.chance(0.1, "calendar time") and not dice.aims("extreme times")
    schema = CALENDAR if calendar else SCHEMA
    shape = Shape(PatternDrawer(dice).draw())
    groups = draw_groups(dice, shape)
    within, slide = draw_window(dice, calendar=schema is CALENDAR)
    query = Query(
        name="q",
        returns=draw_returns(dice, shape, groups),
        pattern=shape.pattern,
        where=draw_where(dice, shape),
        group_by=groups,
        within=within,
        slide=slide,
        semantics=draw_semantics(dice),
    )
    try:
        bound = bind_query(query, schema)
    except QueryError:  # say, a pattern of nothing but NOT
        return None
    rows = draw_events(dice, shape, int(within.amount))
    rows = with_signed(Dice(f"signed doubles of {name}", dice.aim), rows)
    return RandomCase(name, bound, schema, tuple(rows))
