"""The keys of a query: which values partition trends, and which events fit a trend's values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from elsinore.catalog.stream import StreamSchema
from elsinore.query.bound import BoundQuery, Key
from elsinore.query.syntax import (
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Negation,
    Pattern,
    Quantified,
    parts_of,
)
from elsinore.reference.evaluate import reader
from elsinore.reference.event import Event

#: The value of a key that no event of a trend carries; it fits every value.
ABSENT: Any = object()

#: One value (or ABSENT) per key of the query, in the order of `query.keys`; NULL is None.
KeyValues = tuple[Any, ...]

#: The only NaN, so that NaN equals NaN by identity, as in GROUP BY of SQL.
_NAN = float("nan")


class Keys:
    """The keys of one query over one stream."""

    def __init__(self, query: BoundQuery, schema: StreamSchema) -> None:
        self._keys = query.keys
        self._read = [reader(key.read(0)) for key in query.keys]
        #: the numbers of the keys that the events at each position carry.
        self.at_position = tuple(
            tuple(
                number for number, key in enumerate(query.keys) if position.index in key.positions
            )
            for position in query.positions
        )
        self._applying = {name: _applying(query, schema, name) for name in schema.by_name}
        #: for each event type, the numbers of the partition keys that apply to it; sets are shared.
        self.applying = set(self._applying.values())

    @property
    def none(self) -> KeyValues:
        """Return the values of a trend without events."""
        return (ABSENT,) * len(self._keys)

    def carried(self, event: Event, position: int) -> KeyValues | None:
        """Return the values of the keys in `at_position[position]`.

        None if an equivalence key among them is NULL or NaN, because then no trend may have the
        event.
        """
        return self._values(event, self.at_position[position])

    def joined(self, values: KeyValues, position: int, carried: KeyValues) -> KeyValues | None:
        """Return a trend's values with an event added at a position; None if values differ.

        Args:
            values: the trend's values.
            position: the position of the event.
            carried: the event's values, as `carried` returns them.
        """
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
        """Return the common values of the two trends of a pair; None if values differ."""
        pairs = list(zip(left, right, strict=True))
        if all(a is ABSENT or b is ABSENT or _same(a, b) for a, b in pairs):
            return tuple(b if a is ABSENT else a for a, b in pairs)
        return None

    def in_partition(self, event: Event, values: KeyValues) -> bool:
        """Return whether an event of any type is in the partition of a trend.

        See `docs/reference/language/semantics.md`: it has the trend's value in each partition key
        that applies to it and that binds an event of the trend.
        """
        partition = self.partition_of(event)
        if partition is None:
            return False
        return all(
            values[number] is ABSENT or _same(values[number], value)
            for number, value in zip(*partition, strict=True)
        )

    def partition_of(self, event: Event) -> tuple[tuple[int, ...], KeyValues] | None:
        """Return numbers and values of the partition keys that apply to an event.

        None if an equivalence key among them is NULL or NaN, because then the event is in no
        partition.
        """
        numbers = self._applying[event.type]
        values = self._values(event, numbers)
        return None if values is None else (numbers, values)

    def _values(self, event: Event, numbers: tuple[int, ...]) -> KeyValues | None:
        found = []
        for number in numbers:
            key = self._keys[number]
            value = canonical(self._read[number](event, None))
            if key.equivalence and (value is None or value is _NAN):
                return None
            found.append(value)
        return tuple(found)


# ---- under `contiguous`: the keys that decide in which partition an event is


def _applying(query: BoundQuery, schema: StreamSchema, name: str) -> tuple[int, ...]:
    """Return the numbers of the partition keys that apply to the events of a type."""
    return tuple(
        number
        for number, key in enumerate(query.keys)
        if _makes_partitions(query, key) and _applies(query, schema, key, name)
    )


def _makes_partitions(query: BoundQuery, key: Key) -> bool:
    """Return whether a key is in GROUP-BY, or may bind two events of one trend."""
    bound = {query.positions[index] for index in key.positions}
    leaves = {(position.alias, position.type) for position in bound}
    return key.group_label is not None or _most_events(query.pattern, leaves) > 1


def _most_events(pattern: Pattern, leaves: Collection[tuple[str, str]]) -> int:
    """Return how many events of some leaves a trend may have; loops count twice.

    A leaf is an alias with a type. Under AND, both trends of a pair count. Events under NOT are not
    part of a trend.
    """
    match pattern:
        case EventPattern(kind, alias):
            return int((alias, kind) in leaves)
        case Negation():
            return 0
    counts = [_most_events(part, leaves) for part in parts_of(pattern)]
    match pattern:
        case Disjunction():
            return max(counts)
        case KleenePlus() | KleeneStar() | Quantified(most=None):
            return 2 * sum(counts)
        case Quantified(most=int(most)):
            return min(most, 2) * sum(counts)
    return sum(counts)


def _applies(query: BoundQuery, schema: StreamSchema, key: Key, name: str) -> bool:
    """Return whether a key binds every part of the trend that an event of a type could be.

    If no part of the trend has the type, it makes no difference whether the type is under NOT or
    outside of the pattern: a key applies if it binds every part of the trend whose events have the
    attribute.
    """
    carriers = key.carriers(schema, query.positions)
    in_trends = [position for position in query.positions if not position.negated]
    own = [position for position in in_trends if position.type == name]
    parts = own or [position for position in in_trends if position.type in carriers]
    return name in carriers and all(position.index in key.positions for position in parts)


def canonical(value: Any) -> Any:
    """Return one value for all values that GROUP BY of SQL treats as equal: one NaN, one zero."""
    if isinstance(value, float):
        return _NAN if value != value else value + 0.0
    return value


def _same(left: Any, right: Any) -> bool:
    return left is right or bool(left == right)
