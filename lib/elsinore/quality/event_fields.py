"""What the events of some landings hold: NULLs and ranges by attribute, and how late they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.quality.lake import read_rows


@dataclass(frozen=True, slots=True)
class FieldRange:
    """One attribute of one event type, over the events that landed.

    `least` and `most` are texts as people read them; None where every value is NULL.
    """

    event_type: str
    attribute: str
    events: int
    nulls: int
    least: str | None
    most: str | None


@dataclass(frozen=True, slots=True)
class Lateness:
    """Events that landed in a later hour than they happened in; `longest` is None where none is."""

    events: int
    longest: timedelta | None


@dataclass(frozen=True, slots=True)
class LandedEvents:
    """What landed: ranges by event type and attribute, and lateness."""

    fields: tuple[FieldRange, ...]
    late: Lateness


_LONGEST = 40


def read_landed_events(
    lake: Path, hours: Sequence[str], stream: StreamSchema | None
) -> LandedEvents:
    """Look through the events that came with the landings of some hours.

    Args:
        lake: folder of the Delta tables.
        hours: labels of the landings.
        stream: says which type has which attributes; None: none are looked at.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    named = sorted(stream.attributes) if stream else []
    events = read_rows(
        lake, "events", columns=["event_type", "event_time", "landing", *named], landing=hours
    )
    return LandedEvents(tuple(_fields(events, stream)) if stream else (), _lateness(events))


def _fields(events: pa.Table, stream: StreamSchema) -> list[FieldRange]:
    found = []
    for kind in stream.types:
        rows = events.filter(pc.equal(events["event_type"], kind.name))
        found += [
            _field(kind.name, one.name, rows[one.name]) for one in kind.attributes if len(rows)
        ]
    return found


def _field(kind: str, name: str, values: pa.ChunkedArray) -> FieldRange:
    extremes = pc.min_max(values).as_py()
    return FieldRange(
        kind, name, len(values), values.null_count, _text(extremes["min"]), _text(extremes["max"])
    )


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _lateness(events: pa.Table) -> Lateness:
    landed = pc.strptime(events["landing"], format="%Y-%m-%dT%H", unit="us")
    landed = pc.assume_timezone(landed, "UTC")
    late = events.filter(pc.less(events["event_time"], landed))
    if not len(late):
        return Lateness(0, None)
    landed = pc.strptime(late["landing"], format="%Y-%m-%dT%H", unit="us")
    by = pc.subtract(pc.assume_timezone(landed, "UTC"), late["event_time"]).cast(pa.int64())
    return Lateness(len(late), timedelta(microseconds=pc.max(by).as_py()))
