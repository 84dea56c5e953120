"""A stream's schema: how to read an event, and what its attributes may be (spec section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from elsinore.timeline import DAY, HOUR, TimeUnit


class AttributeType(StrEnum):
    """Types of event attributes; timestamps are int64 microseconds since the epoch, UTC."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"

    @property
    def is_number(self) -> bool:
        """Whether arithmetic and SUM apply."""
        return self in (AttributeType.LONG, AttributeType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an event type; `minimum` and `maximum` are inclusive."""

    name: str
    type: AttributeType
    nullable: bool = False
    minimum: float | int | None = None
    maximum: float | int | None = None
    allowed: tuple[str | int | float | bool, ...] | None = None


@dataclass(frozen=True)
class EventType:
    """A named type of events with its attributes."""

    name: str
    attributes: tuple[Attribute, ...]

    @cached_property
    def by_name(self) -> dict[str, Attribute]:
        """Attributes by name."""
        return {attribute.name: attribute for attribute in self.attributes}


@dataclass(frozen=True)
class StreamSchema:
    """Everything needed to turn raw records of one stream into typed events.

    Attributes:
        name: the stream's name.
        time_field, time_unit: the raw field that holds the time, and how it is written.
        type_field: the raw field that names the event type.
        id_field: the raw field with the unique event id, if events have one.
        types: event types; their order fixes the codes used in columns.
        late, early: how long before the hour of a landing that brings it, and after it, an event
            may have happened; microseconds.
    """

    name: str
    time_field: str
    time_unit: TimeUnit
    type_field: str
    id_field: str | None
    types: tuple[EventType, ...]
    late: int = 365 * DAY
    early: int = HOUR

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

    def carriers(self, attribute: str) -> frozenset[str]:
        """Names of the event types that have an attribute."""
        return frozenset(t.name for t in self.types if attribute in t.by_name)
