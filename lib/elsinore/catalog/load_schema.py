"""Reads a stream schema from YAML (spec section 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from elsinore.catalog.source_rule import SourceRule
from elsinore.catalog.stream import (
    ORDER,
    Attribute,
    AttributeType,
    Buckets,
    EventType,
    Otherwise,
    Plausible,
    StreamSchema,
)
from elsinore.catalog.yaml_text import Strict, model_of, model_of_mapping, read_model
from elsinore.choices import InputFormat
from elsinore.hints import Either, Hint
from elsinore.renamed import warn_renamed
from elsinore.timeline import UNITS, TimeUnit, parse_duration, parse_instant
from elsinore.wording import some_of
from elsinore.zones import zone_named

#: Names become columns and keys: letters, digits and underscores, a letter first.
NAME = r"^[A-Za-z][A-Za-z0-9_]{0,62}$"
Name = Annotated[str, Field(pattern=NAME)]
FieldName = Annotated[str, Field(min_length=1, max_length=200)]
_Duration = Annotated[int, BeforeValidator(lambda text: parse_duration(str(text)))]
#: YAML reads a date without quotes as a date, whose text is ISO 8601 as well.
_Instant = Annotated[int, BeforeValidator(lambda value: parse_instant(str(value)))]
Scalar = str | int | float | bool


def _type_text(value: Any) -> Any:
    """Return the text of a type in records; a number without quotes becomes its digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else value


_TypeText = Annotated[FieldName, BeforeValidator(_type_text)]

#: New names of keys by old ones, of a schema and of its `time`; they work until the next release.
RENAMED_KEYS = {"keep_days": "retention_days", "other_types": "unknown_types"}
RENAMED_TIME_KEYS = {"late": "allowed_lateness", "early": "max_clock_skew"}
#: New values by old ones, of keys with an old name.
_RENAMED_VALUES = {"other_types": {"refuse": "error", "ignore": "skip"}}

#: Columns of the table `events` that are not attributes; compared without case, as in Spark.
RESERVED_NAMES = frozenset(
    {"event_day", "event_bucket", "event_id", "event_type", "event_time", "file_hour", "file",
     "record_number"}
)  # fmt: skip
_LONGS = range(-(2**63), 2**63)


def load_schema(path: Path | str) -> StreamSchema:
    """Load a stream schema from a YAML file; SchemaError lists every error of the file."""
    hint = Hint(
        Either(
            "name the schema with --schema FILE; the pipeline reads ELSINORE_SCHEMA_FILE",
            "pass schema= as a path, or as a string with a line break that is the schema itself",
        )
    )
    return read_model(Path(path), _SchemaFile, "a schema", hint=hint).to_schema()


def read_schema(text: str, file: str = "<schema>") -> StreamSchema:
    """Read a stream schema from a YAML string; SchemaError lists every error."""
    return model_of(text.encode(), _SchemaFile, "a schema", file).to_schema()


def schema_of(document: Mapping[str, Any]) -> StreamSchema:
    """Return the stream schema in a mapping, with the keys of a schema file.

    Raises:
        SchemaError: the mapping is not a schema; lists every error with the path of its key.
    """
    return model_of_mapping(document, _SchemaFile, "<schema>").to_schema()


def _by_new_keys(document: Any, keys: Mapping[str, str], file: str, prefix: str = "") -> Any:
    """Return a mapping with the new names of its keys, with a warning per old name.

    Raises:
        ValueError: an old and a new name have different values; its second argument is the key.
    """
    if not isinstance(document, dict):
        return document
    found = dict(document)
    for old in filter(document.__contains__, keys):
        new, value = keys[old], found.pop(old)
        values = _RENAMED_VALUES.get(old, {})
        meant = next((values[name] for name in values if name == value), value)
        if found.setdefault(new, meant) != meant:
            raise ValueError(f"{old} and {new} have different values; remove {old}", old)
        old, new = (f"{old}: {value}", f"{new}: {meant}") if values else (old, new)
        warn_renamed(f"{file}: {prefix}{old}", f"{prefix}{new}")
    return found


class _PlausibleEntry(Strict):
    within: _Duration | None = None
    min: _Instant | None = None
    max: _Instant | None = None
    otherwise: Annotated[Otherwise, Field(strict=False)] = Otherwise.WARN

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is after max; swap the two")
        return self

    def to_plausible(self) -> Plausible:
        """Return the rule; with limits, distances are checked only if the schema gives one."""
        limited = self.min is not None or self.max is not None
        within = self.within or (None if limited else Plausible().within)
        return Plausible(within, self.min, self.max, self.otherwise)


class _TimeField(Strict):
    field: FieldName
    unit: Annotated[TimeUnit, Field(strict=False)]
    then: FieldName | None = None
    allowed_lateness: _Duration = StreamSchema.allowed_lateness
    max_clock_skew: _Duration = StreamSchema.max_clock_skew
    plausible: _PlausibleEntry = _PlausibleEntry()

    @model_validator(mode="before")
    @classmethod
    def _by_new_names(cls, document: Any, info: ValidationInfo) -> Any:
        return _by_new_keys(document, RENAMED_TIME_KEYS, str(info.context), "time.")

    @model_validator(mode="after")
    def _ticks_have_no_years(self) -> Self:
        if "plausible" in self.model_fields_set and not self.unit.is_calendar:
            raise ValueError("plausible needs a calendar time; leave it out for integer times")
        return self


class _IdField(Strict):
    field: FieldName
    unique_within: Literal["day", "hour"] | None = None
    version: FieldName | None = None
    order: Literal["modified"] | None = None

    @model_validator(mode="after")
    def _is_ordered_in_one_way(self) -> Self:
        if self.version and self.order:
            raise ValueError("version and order exclude each other; remove one of them")
        return self


def _zone_name(value: str) -> str:
    name, hint = zone_named(value)
    if name is None:
        raise ValueError(f"no time zone {value[:40]}; {hint}")
    return name


class _CalendarEntry(Strict):
    zone: Annotated[str, AfterValidator(_zone_name)]


class _TypeField(Strict):
    field: FieldName
    names: dict[Name, _TypeText] = Field(default_factory=dict)


class _SourceEntry(Strict):
    files: Annotated[str, Field(min_length=1, max_length=500)]
    format: Annotated[InputFormat | None, Field(strict=False)] = None

    @model_validator(mode="after")
    def _is_a_rule(self) -> Self:
        self.to_rule()
        return self

    def to_rule(self) -> SourceRule:
        return SourceRule.parse(self.files, self.format)


class _BucketsEntry(Strict):
    by: Annotated[list[Name], Field(min_length=1, max_length=10)]
    number: Annotated[int, Field(ge=2, le=4096)]


class _AttributeEntry(Strict):
    type: Annotated[AttributeType, Field(strict=False)]
    nullable: bool = False
    min: Scalar | None = None
    max: Scalar | None = None
    allowed: Annotated[list[Scalar], Field(min_length=1)] | None = None
    field: FieldName | None = None

    @model_validator(mode="after")
    def _is_an_attribute(self) -> Self:
        self.to_attribute("")
        return self

    def renamed(self, name: str) -> str:
        return f"call it {name}_2: {{type: {self.type}, field: {self.field or name}}}"

    def to_attribute(self, name: str) -> Attribute:
        low, high = (
            None if limit is None else _limit(limit, self.type) for limit in (self.min, self.max)
        )
        if low is not None and high is not None and low > high:
            raise ValueError(f"min {self.min} is above max {self.max}; swap the two")
        allowed = tuple(_typed(value, self.type) for value in self.allowed or ())
        return Attribute(
            name, self.type, self.nullable, low, high, allowed or None, self.field or ""
        )


#: Hints for values of another type than their attribute.
_VALUES = {
    AttributeType.STRING: "write a string",
    AttributeType.LONG: "write a whole number of at most 64 bits, as in 5",
    AttributeType.DOUBLE: "write a number, as in 1.5",
    AttributeType.BOOLEAN: "write true or false",
    AttributeType.TIMESTAMP: "write a timestamp in quotes, as in '2025-03-03T08:30:00Z'",
}


def _typed(value: Scalar, kind: AttributeType) -> Scalar:
    """Convert a limit or an allowed value to the type of the attribute."""
    match kind, value:
        case AttributeType.STRING, str():
            return value
        case AttributeType.BOOLEAN, bool():
            return value
        case (AttributeType.LONG, int()) if not isinstance(value, bool) and value in _LONGS:
            return value
        case (AttributeType.DOUBLE, int() | float()) if not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        case AttributeType.TIMESTAMP, str():
            return parse_instant(value)
    told, hint = str(value).lower() if isinstance(value, bool) else repr(value), ""
    if kind is AttributeType.STRING:
        hint = f"; write it in quotes: '{value}'"
        if isinstance(value, bool):
            hint = "; quote NO, off, yes and on, which YAML reads as true or false"
    elif kind.is_number and isinstance(value, str) and re.fullmatch(r"-?[0-9.]{1,20}", value):
        hint = f"; write it without quotes: {value}"
    raise ValueError(f"{told} is not a {kind}{hint or f'; {_VALUES[kind]}'}")


def _limit(value: Scalar, kind: AttributeType) -> int | float:
    typed = _typed(value, kind)
    if isinstance(typed, str | bool):
        raise ValueError(f"min and max do not apply to a {kind}; leave them out")
    return typed


def _entry(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


_Entry = Annotated[_AttributeEntry, BeforeValidator(_entry)]
_Entries = Annotated[dict[Name, _Entry] | None, AfterValidator(lambda value: value or {})]


class _SchemaFile(Strict):
    stream: Name
    time: _TimeField
    type: _TypeField | None = None
    id: _IdField | None = None
    unknown_types: Literal["error", "skip"] = "error"
    quoted_numbers: bool = False
    sources: Annotated[list[_SourceEntry], Field(max_length=100)] = Field(default_factory=list)
    retention_days: dict[Name, Annotated[int, Field(ge=1, le=36_500)]] = Field(default_factory=dict)
    buckets: _BucketsEntry | None = None
    calendar: _CalendarEntry | None = None
    types: Annotated[dict[Name, _Entries], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _by_new_names(cls, document: Any, info: ValidationInfo) -> Any:
        return _by_new_keys(document, RENAMED_KEYS, str(info.context))

    @model_validator(mode="after")
    def _buckets_are_by_attributes(self) -> Self:
        there = {name for entries in self.types.values() for name in entries or {}}
        for name in self.buckets.by if self.buckets else ():
            if name not in there:
                raise ValueError(
                    f"buckets: no type has an attribute {name}; use one of {some_of(sorted(there))}"
                )
        return self

    @model_validator(mode="after")
    def _ticks_have_no_days(self) -> Self:
        if self.calendar and not self.time.unit.is_calendar:
            raise ValueError("calendar needs a calendar time; leave it out for integer times")
        if self.id and self.id.unique_within and not self.time.unit.is_calendar:
            raise ValueError("id: unique_within needs a calendar time; leave it out")
        return self

    @model_validator(mode="after")
    def _one_type_per_attribute_name(self) -> Self:
        seen: dict[str, tuple[str, AttributeType]] = {}
        for type_name, entries in self.types.items():
            for name, entry in (entries or {}).items():
                first_type, kind = seen.setdefault(name, (type_name, entry.type))
                if kind is not entry.type:
                    raise ValueError(
                        f"attribute {name} is {kind} in {first_type} but {entry.type} in "
                        f"{type_name}; {entry.renamed(name)}",
                        "types", type_name, name,
                    )  # fmt: skip
        return self

    @model_validator(mode="after")
    def _each_type_is_written_in_one_way(self) -> Self:
        if self.type is None:
            if len(self.types) > 1 or self.unknown_types == "skip":
                told = "type may be left out only if all events have one type"
                raise ValueError(f"{told}; add type: {{field: event}}", "types")
            return self
        for name in self.type.names.keys() - self.types.keys():
            raise ValueError(f"type.names has {name}, but types does not; add {name} to types")
        written = [self.type.names.get(name, name) for name in self.types]
        if len(set(written)) < len(written):
            raise ValueError("type.names has one value for two types; write another value")
        return self

    @model_validator(mode="after")
    def _names_can_be_columns(self) -> Self:
        faults: dict[str, tuple[str, str]] = {}
        spellings: dict[str, str] = {}
        for type_name, entries in self.types.items():
            for name, entry in (entries or {}).items():
                call = entry.renamed(name)
                if name.lower() in RESERVED_NAMES or (self.time.then and name.lower() == ORDER):
                    faults[f"{type_name}.{name}: the name is reserved; {call}"] = type_name, name
                first = spellings.setdefault(name.lower(), name)
                if first != name:
                    told = f"attributes {first} and {name} differ only by case; {call}"
                    faults[told] = type_name, name
        if faults:
            raise ValueError("; ".join(faults), "types", *next(iter(faults.values())))
        return self

    def to_schema(self) -> StreamSchema:
        written = self.type.names if self.type else {}
        then = self.time.then
        order = [Attribute(ORDER, AttributeType.LONG, field=then)] if then else []
        types = tuple(
            EventType(
                name,
                (*(e.to_attribute(a) for a, e in (entries or {}).items()), *order),
                written.get(name, ""),
            )
            for name, entries in self.types.items()
        )
        return StreamSchema(
            self.stream,
            self.time.field,
            self.time.unit,
            self.type.field if self.type else None,
            self.id.field if self.id else None,
            types,
            self.time.allowed_lateness,
            self.time.max_clock_skew,
            self.unknown_types == "skip",
            self.quoted_numbers,
            tuple(entry.to_rule() for entry in self.sources),
            self.retention_days,
            Buckets(tuple(self.buckets.by), self.buckets.number) if self.buckets else None,
            UNITS[self.id.unique_within] if self.id and self.id.unique_within else None,
            self.time.plausible.to_plausible(),
            self.id.version if self.id else None,
            self.id is not None and self.id.order == "modified",
            self.calendar.zone if self.calendar else None,
            then,
        )
