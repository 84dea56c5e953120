"""A small stream with every attribute type, and ways to write files of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.files.decode import decode_lines
from elsinore.files.read_lines import LINES_SCHEMA
from elsinore.files.type_records import Decoded
from elsinore.timeline import TimeUnit

#: 2013-01-01T10:00:00Z in microseconds: 15,706 days and 10 hours.
TEN = (15_706 * 24 + 10) * 3_600 * 1_000_000


def rides(unit: TimeUnit = TimeUnit.ISO, id_field: str | None = "id") -> StreamSchema:
    """Requests with text only; trips with one attribute of each other type."""
    request = EventType(
        "Request",
        (
            Attribute("driver", AttributeType.STRING),
            Attribute("kind", AttributeType.STRING, nullable=True, allowed=("Pool", "Single")),
        ),
    )
    travel = EventType(
        "Travel",
        (
            Attribute("driver", AttributeType.STRING),
            Attribute("speed", AttributeType.DOUBLE, minimum=0.0, maximum=300.0),
            Attribute("stops", AttributeType.LONG, nullable=True, minimum=0),
            Attribute("shared", AttributeType.BOOLEAN, nullable=True),
            Attribute("booked", AttributeType.TIMESTAMP, nullable=True),
        ),
    )
    return StreamSchema("rides", "time", unit, "type", id_field, (request, travel))


def travel(**changed: Any) -> dict[str, Any]:
    """A raw trip without fault, but for what is changed; `...` leaves a field out."""
    record: dict[str, Any] = {
        "id": "t1",
        "time": "2013-01-01T10:00:00Z",
        "type": "Travel",
        "driver": "d1",
    }
    record |= {"speed": 7.5, "stops": 2, "shared": True, "booked": "2013-01-01T09:00:00Z"}
    return {name: value for name, value in (record | changed).items() if value is not ...}


def raw(record: dict[str, Any]) -> str:
    """A record as a line of JSON."""
    return json.dumps(record)


def decode(*lines: str, schema: StreamSchema | None = None, **options: Any) -> Decoded:
    """Decode lines as those of a file `f`, from position 1."""
    columns = [["f"] * len(lines), range(1, len(lines) + 1), list(lines)]
    table = pa.table(columns, schema=LINES_SCHEMA)
    return decode_lines(table, schema or rides(), **options)


def faults(decoded: Decoded) -> list[tuple[int, str]]:
    """Position and reason code of each rejected line."""
    rejected = decoded.rejected
    return list(
        zip(rejected["record_number"].to_pylist(), rejected["reason_code"].to_pylist(), strict=True)
    )


def write(path: Path, *lines: str) -> Path:
    """Lines as a file."""
    path.write_text("".join(line + "\n" for line in lines))
    return path
