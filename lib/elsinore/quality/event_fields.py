"""What the events of some landings hold: NULLs and ranges by attribute, and how late they came."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import StreamSchema
from elsinore.quality.lake import read_batches
from elsinore.spark.regions import Landings
from elsinore.timeline import Interval

_LONGEST = 40


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


def read_landed_events(lake: Path, interval: Interval, stream: StreamSchema | None) -> LandedEvents:
    """Look through the events that came with the landings of an interval, part by part.

    Args:
        lake: folder of the Delta tables.
        interval: the hours of the landings.
        stream: says which type has which attributes; None: none are looked at.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    named = sorted(stream.attributes) if stream else []
    columns = ["event_type", "event_time", "landing", *named]
    landed = Landings(interval).expression(by_day=False)
    fields: dict[tuple[str, str], _Seen] = {}
    late, longest = 0, 0
    for events in read_batches(lake, "events", columns=columns, where=landed):
        for kind in stream.types if stream else ():
            rows = events.filter(pc.equal(events["event_type"], kind.name))
            for one in kind.attributes if len(rows) else ():
                fields.setdefault((kind.name, one.name), _Seen()).add(rows[one.name])
        number, most = _lateness(events)
        late, longest = late + number, max(longest, most)
    order = (
        [(kind.name, one.name) for kind in stream.types for one in kind.attributes]
        if stream
        else []
    )
    return LandedEvents(
        tuple(fields[place].told(*place) for place in order if place in fields),
        Lateness(late, timedelta(microseconds=longest) if late else None),
    )


@dataclass(slots=True)
class _Seen:
    """What was seen of a field so far."""

    events: int = 0
    nulls: int = 0
    extremes: tuple[Any, Any] | None = None

    def add(self, values: pa.Array) -> None:
        self.events += len(values)
        self.nulls += values.null_count
        found = pc.min_max(values).as_py()
        if found["min"] is not None:
            low, high = self.extremes or (found["min"], found["max"])
            self.extremes = min(low, found["min"]), max(high, found["max"])

    def told(self, kind: str, name: str) -> FieldRange:
        low, high = self.extremes or (None, None)
        return FieldRange(kind, name, self.events, self.nulls, _text(low), _text(high))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _lateness(events: pa.RecordBatch) -> tuple[int, int]:
    """How many came late, and by how many microseconds at most."""
    landed = pc.strptime(events["landing"], format="%Y-%m-%dT%H", unit="us").cast(pa.int64())
    by = pc.subtract(landed, events["event_time"].cast(pa.int64()))
    late = pc.greater(by, 0)
    return pc.sum(late).as_py() or 0, max(pc.max(by).as_py() or 0, 0)
