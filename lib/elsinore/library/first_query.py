"""A first query for new events that returns rows: its types, key and window."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import ORDER, Attribute, AttributeType, EventType, StreamSchema
from elsinore.files.typed import one_chunk, type_times
from elsinore.timeline import DAY, HOUR
from elsinore.wording import plural

#: Types of attributes that can be keys, likely ones first.
_KEY_TYPES = (AttributeType.STRING, AttributeType.LONG)
#: Lengths of windows to try, for times with a calendar and for others.
_CALENDAR, _TICKS = (HOUR, DAY, 7 * DAY), (100, 10_000, 1_000_000)
#: Number of event types whose pairs are tried.
_MOST_TYPES = 5
#: A key has several events per value, on average; others are ids or free text.
_EVENTS_PER_VALUE = 2
#: Words in names of attributes that often are keys.
_KEY_NAMES = re.compile(
    r"(?i)(^|_)(user|customer|client|member|account|email|card|session|visit|visitor|device|host|ip"
    r"|machine|sensor|driver|rider|trip|order|cart)(_|$)|id$"
)
#: Maximum number of events of a type per window and key to match `+`; more give huge counts.
_MOST_REPEATED = 20
#: Name of `COUNT(*)`.
_MATCHES = "matches"


@dataclass(frozen=True)
class FirstQuery:
    """The parts of a query that counts keys, events and matches of `last` after `first`.

    Attributes:
        first, last: event types; equal if the pattern is of one type.
        key: attribute of both types that matched events share, if any.
        within: length of the window.
        repeats: whether `last` can occur several times in a match.
    """

    first: EventType
    last: EventType
    key: Attribute | None
    within: int
    repeats: bool

    @property
    def value_names(self) -> tuple[str, ...]:
        """Return names of the values: distinct keys, if there is a key, events and matches."""
        events = f"{_in_snake_case(self.last.name)}_events"
        if self.key is None:
            return events, _MATCHES
        thing = _in_snake_case(re.sub(r"(?i)(?<=[a-z])_?id$", "", self.key.name))
        keys = plural(thing, 2)
        return f"{thing}_values" if keys in (events, _MATCHES) else keys, events, _MATCHES


def first_query(events: pa.Table, schema: StreamSchema) -> FirstQuery:
    """Return the first query that has a match in `events`, whose columns have raw names.

    It tries keys before no key, short windows before long ones, and types in order. If nothing
    matches, the query is of the first two types, without a key.
    """
    lengths = _CALENDAR if schema.time_unit.is_calendar else _TICKS
    pairs = _pairs(schema)
    for length, (first, last) in product(lengths, pairs):
        for key in _keys(events, first, last):
            if repeats := _most_repeated(events, schema, first, last, key, length):
                return FirstQuery(first, last, key, length, repeats <= _MOST_REPEATED)
    for length, (first, last) in product(lengths, pairs):
        if _most_repeated(events, schema, first, last, None, length):
            return FirstQuery(first, last, None, length, repeats=False)
    return FirstQuery(*pairs[0], None, lengths[0], repeats=False)


def _in_snake_case(name: str) -> str:
    """Return the name of a type or attribute in lower case with underscores."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _pairs(schema: StreamSchema) -> list[tuple[EventType, EventType]]:
    """Return pairs of types: two different ones in order, then reversed; or the only type."""
    types = schema.types[:_MOST_TYPES]
    if len(types) == 1:
        return [(types[0], types[0])]
    pairs = [(i, j) for i, j in product(range(len(types)), repeat=2) if i != j]
    return [(types[i], types[j]) for i, j in sorted(pairs, key=lambda pair: pair[0] > pair[1])]


def _keys(events: pa.Table, first: EventType, last: EventType) -> list[Attribute]:
    """Attributes that both types always have and whose values repeat.

    The order is: strings, names of typical keys, many values (small groups).
    """
    ranked = []
    for key in first.attributes:
        is_typed = key.type in _KEY_TYPES and key.name != ORDER
        if key not in last.attributes or not is_typed or key.nullable:
            continue
        column = events[key.raw]
        number = len(pc.unique(column.drop_null()))
        if number * _EVENTS_PER_VALUE <= len(column) - column.null_count:
            is_typical = _KEY_NAMES.search(key.name) is not None
            ranked.append(((_KEY_TYPES.index(key.type), not is_typical, -number), key))
    return [key for _, key in sorted(ranked, key=lambda each: each[0])]


def _most_repeated(
    events: pa.Table, schema: StreamSchema, first: EventType, last: EventType,
    key: Attribute | None, within: int,
) -> int:  # fmt: skip
    """Return the largest number of `last` events per window and key in which the pattern matches.

    Returns:
        0 if no `last` event follows a `first` event in one window.
    """
    names = ["window", *(["key"] if key else [])]  # an attribute can have any name, also `time`
    sides = []
    for kind in (first, last):
        rows = events
        if schema.type_field is not None:
            rows = rows.filter(pc.equal(rows[schema.type_field], kind.written or kind.name))
        times = type_times(one_chunk(rows[schema.time_field]), schema.time_unit, quoted=True).array
        values = [rows[key.raw]] if key else []
        window = pc.floor(pc.divide(times.cast(pa.float64()), float(within)))
        table = pa.table([window, *values, times], names=[*names, "time"])
        sides.append(table.filter(pc.is_valid(table["time"])))
    starts = sides[0].group_by(names).aggregate([("time", "min")])
    ends = sides[1].group_by(names).aggregate([("time", "max"), ("time", "count")])
    both = starts.join(ends, names, join_type="inner")
    matched = both.filter(pc.less(both["time_min"], both["time_max"]))
    return pc.max(matched["time_count"]).as_py() or 0
