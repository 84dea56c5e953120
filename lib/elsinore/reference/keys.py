"""The keys of a query: which values partition trends, and which events fit a trend's values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from elsinore.catalog.stream import StreamSchema
from elsinore.query.automaton import may_meet
from elsinore.query.bound import BoundQuery, Key
from elsinore.reference.event import Event

#: What a trend has for a key that none of its events carries: it fits every value.
ABSENT: Any = object()

#: One value (or ABSENT) per key of the query, in the order of `query.keys`; NULL is None.
KeyValues = tuple[Any, ...]

#: One NaN for all, so that NaN equals NaN by identity, as in GROUP BY of SQL.
_NAN = float("nan")


class Keys:
    """The keys of one query over one stream."""

    def __init__(self, query: BoundQuery, schema: StreamSchema) -> None:
        self._keys = query.keys
        #: of each position the numbers of the keys that its events carry.
        self.at_position = tuple(
            tuple(
                number for number, key in enumerate(query.keys) if position.index in key.positions
            )
            for position in query.positions
        )
        self._of_type = {name: _places_of_type(query, schema, name) for name in schema.by_name}
        #: the numbers of the keys by which any event may lie in a partition.
        self.parting = set().union(*self._of_type.values())

    @property
    def none(self) -> KeyValues:
        """The values of a trend without events."""
        return (ABSENT,) * len(self._keys)

    def carried(self, event: Event, position: int) -> KeyValues | None:
        """Values of the keys in `at_position[position]`; None if the event may join no trend."""
        return self._values(event, self.at_position[position])

    def joined(self, values: KeyValues, position: int, carried: KeyValues) -> KeyValues | None:
        """A trend's values with those of an event at a position; None if they differ."""
        numbers = self.at_position[position]
        if tuple([values[number] for number in numbers]) == carried:
            return values
        found = list(values)
        for number, value in zip(numbers, carried, strict=True):
            if found[number] is ABSENT:
                found[number] = value
            elif not _same(found[number], value):
                return None
        return tuple(found)

    def agreed(self, left: KeyValues, right: KeyValues) -> KeyValues | None:
        """The values that two trends of a pair have together; None if they differ."""
        pairs = list(zip(left, right, strict=True))
        if all(a is ABSENT or b is ABSENT or _same(a, b) for a, b in pairs):
            return tuple(b if a is ABSENT else a for a, b in pairs)
        return None

    def in_partition(self, event: Event, values: KeyValues) -> bool:
        """Whether an event, of whatever type, lies in the partition of a trend with `values`.

        An event that could stand at several aliases lies in every partition that it fits at one.
        """
        return any(
            all(
                values[number] is ABSENT or _same(values[number], value)
                for number, value in zip(numbers, carried, strict=True)
            )
            for numbers, carried in self.places(event)
        )

    def places(self, event: Event) -> Iterator[tuple[tuple[int, ...], KeyValues]]:
        """What an event, of whatever type, carries of the keys that part it, in each way."""
        for numbers in self._of_type[event.type]:
            if (carried := self._values(event, numbers)) is not None:
                yield numbers, carried

    def _values(self, event: Event, numbers: tuple[int, ...]) -> KeyValues | None:
        found = []
        for number in numbers:
            key = self._keys[number]
            value = _canonical(event.value(key.attribute))
            if key.equivalence and (value is None or value is _NAN):
                return None
            found.append(value)
        return tuple(found)


def _places_of_type(query: BoundQuery, schema: StreamSchema, name: str) -> set[tuple[int, ...]]:
    """Numbers of the keys that part an event from others, for each alias that it could have.

    An event of a type outside the pattern carries the keys that its type has and that are scoped
    to no alias. See `docs/language.md`, SEMANTICS.
    """
    places = [position for position in query.positions if position.type == name]
    places = [position for position in places if not position.negated] or places
    parting = [(number, key) for number, key in enumerate(query.keys) if _parts(query, key)]
    if places:
        return {
            tuple(number for number, key in parting if place.index in key.positions)
            for place in places
        }
    foreign = (
        number
        for number, key in parting
        if name in schema.carriers(key.attribute) and _unscoped(query, schema, key)
    )
    return {tuple(foreign)}


def _parts(query: BoundQuery, key: Key) -> bool:
    """Whether a key keeps events apart: not where it binds one event of a trend alone."""
    if key.group_label is not None:
        return True
    bound = {position.alias for position in query.positions if position.index in key.positions}
    return any(aliases <= bound for aliases in may_meet(query.pattern))


def _unscoped(query: BoundQuery, schema: StreamSchema, key: Key) -> bool:
    types = schema.carriers(key.attribute)
    return all(
        position.index in key.positions
        for position in query.positions
        if position.type in types and not position.negated
    )


def _canonical(value: Any) -> Any:
    """One value for all that SQL's GROUP BY takes for the same: NaN is NaN, -0.0 is 0.0."""
    if isinstance(value, float):
        return _NAN if value != value else value + 0.0
    return value


def _same(left: Any, right: Any) -> bool:
    return left is right or bool(left == right)
