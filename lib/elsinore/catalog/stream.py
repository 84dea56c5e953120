"""A stream's schema: how to read an event, and what its attributes may be (spec section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from elsinore.catalog.source_rule import SourceRule
from elsinore.timeline import DAY, HOUR, TimeUnit

#: The attribute of every event that orders events with equal times, if a schema has `time.then`.
ORDER = "event_order"
#: A `time.then` that no field needs to have: the line or row of the event in its file.
RECORD_NUMBER = "record_number"


class AttributeType(StrEnum):
    """Types of event attributes; timestamps are int64 microseconds since the epoch, UTC."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"

    @property
    def is_number(self) -> bool:
        """Return whether arithmetic and SUM apply."""
        return self in (AttributeType.LONG, AttributeType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an event type; `minimum` and `maximum` are inclusive.

    `field` is what raw events of the type call it, or a path to it; "" is the attribute's name.
    """

    name: str
    type: AttributeType
    nullable: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None
    allowed: tuple[str | int | float | bool, ...] | None = None
    field: str = ""

    @property
    def raw(self) -> str:
        """The raw field that holds it."""
        return self.field or self.name


@dataclass(frozen=True)
class EventType:
    """A named type of events with its attributes; `written` is its name in raw events, if other."""

    name: str
    attributes: tuple[Attribute, ...]
    written: str = ""

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        """Attributes by name."""
        return {attribute.name: attribute for attribute in self.attributes}


class Buckets(NamedTuple):
    """Layout of events within a day: a number of buckets by a hash of attributes."""

    by: tuple[str, ...]
    number: int

    def __str__(self) -> str:
        return f"{self.number} buckets by {', '.join(self.by)}"


class Otherwise(StrEnum):
    """The treatment of an event whose time is not plausible."""

    WARN = "warn"
    QUARANTINE = "quarantine"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Plausible:
    """Rule for plausible event times (`time.plausible` of a schema), in microseconds.

    Attributes:
        within: how far an event may be from the others of its file; None: any distance.
        minimum, maximum: inclusive limits, if any.
        otherwise: the treatment of other events.
    """

    within: int | None = 3_652 * DAY  # ten years
    minimum: int | None = None
    maximum: int | None = None
    otherwise: Otherwise = Otherwise.WARN


@dataclass(frozen=True)
class StreamSchema:
    """The schema of a stream: how to decode raw records into typed events.

    Attributes:
        name: the stream's name.
        time_field, time_unit: the raw field that holds the time, and how it is written. A raw field
            is a name, or names separated by dots for a nested field.
        type_field: the raw field of the event type; None if all events have one type.
        id_field: the raw field with the unique event id, if events have one.
        types: event types; their order fixes the codes used in columns.
        allowed_lateness, max_clock_skew: how long before the hour of its file, and after it, an
            event may have happened; microseconds.
        ignores_others: whether events of unlisted types are ignored instead of rejected.
        quoted_numbers: whether quoted numbers and booleans are accepted in formats that have
            strings and numbers; an empty string is then NULL.
        sources: location of raw files outside of the layout of a landing zone.
        retention_days: retention in days of tables and directories of a lake, by name.
        buckets: layout of events within a day, if any.
        plausible: the rule for plausible times, and the treatment of events with others.
        id_span: length of the day or hour (UTC) of event time within which ids are unique; None if
            they are always unique. Events of different spans are never duplicates.
        version_field: the raw field that orders the records of an id, the highest first; None if
            only files and positions do.
        zone: the default zone of days, longer units and functions that read a clock; None for UTC.
        by_modification: whether modification times of files order records instead of their names.
        then_field: the raw field whose whole numbers order events with equal times. Every type has
            it as the attribute `ORDER`. A record without a field `RECORD_NUMBER` has its position.
            Without one, equal times are never adjacent.
    """

    name: str
    time_field: str
    time_unit: TimeUnit
    type_field: str | None
    id_field: str | None
    types: tuple[EventType, ...]
    allowed_lateness: int = 365 * DAY
    max_clock_skew: int = HOUR
    ignores_others: bool = False
    quoted_numbers: bool = False
    sources: tuple[SourceRule, ...] = ()
    retention_days: Mapping[str, int] = field(default_factory=dict, hash=False)
    buckets: Buckets | None = None
    id_span: int | None = None
    plausible: Plausible = Plausible()
    version_field: str | None = None
    by_modification: bool = False
    zone: str | None = None
    then_field: str | None = None

    @cached_property
    def type_codes(self) -> dict[str, int]:
        """Small integer code of each event type."""
        return {event_type.name: code for code, event_type in enumerate(self.types)}

    @cached_property
    def by_name(self) -> dict[str, EventType]:
        """Event types by name."""
        return {event_type.name: event_type for event_type in self.types}

    @cached_property
    def attributes(self) -> dict[str, AttributeType]:
        """Every attribute name of the stream with its type, in order of first appearance.

        A name has one type in the whole stream, since it is one column of the `events` table.
        """
        return {a.name: a.type for event_type in self.types for a in event_type.attributes}

    @cached_property
    def raw_types(self) -> tuple[str, ...]:
        """The names of types in raw events, in the order of their codes."""
        return tuple(event_type.written or event_type.name for event_type in self.types)

    @cached_property
    def raw_needed(self) -> tuple[str, ...]:
        """The raw fields that every event must have, the time first."""
        fields = (self.time_field, self.type_field, self.id_field)
        return tuple(field for field in fields if field is not None)

    @cached_property
    def raw_attributes(self) -> tuple[tuple[str, AttributeType], ...]:
        """Every raw field that holds attributes, with each type that it is read as."""
        pairs = ((a.raw, a.type) for event_type in self.types for a in event_type.attributes)
        return tuple(dict.fromkeys(pairs))

    @cached_property
    def raw_texts(self) -> frozenset[str]:
        """The raw fields that are read as text: the event type, the id and string attributes."""
        strings = (raw for raw, kind in self.raw_attributes if kind is AttributeType.STRING)
        return frozenset((*self.raw_needed[1:], *strings))

    def carriers(self, attribute: str) -> frozenset[str]:
        """Return the names of the event types with an attribute."""
        return frozenset(t.name for t in self.types if attribute in t.by_name)
