"""Result rows as JSON lines, the output format of `elsinore run` (spec section 2)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, TextIO

from elsinore.results.row import ResultRow, Value
from elsinore.timeline import Instant


def encode_row(row: ResultRow) -> str:
    """One row as a line of strict JSON, without the line end.

    Integers are written in full, however long; instants as ISO 8601; doubles that JSON lacks as
    the strings "NaN", "Infinity" and "-Infinity".
    """
    return json.dumps(
        {
            "query": row.query,
            "group": {label: plain_value(value) for label, value in row.group},
            "window_start": plain_value(row.window_start),
            "window_end": plain_value(row.window_end),
            "values": {label: plain_value(value) for label, value in row.values},
        },
        ensure_ascii=False,
        allow_nan=False,
        default=_whole,
    )


def write_rows(rows: Iterable[ResultRow], out: TextIO) -> int:
    """Write rows in the order given; returns how many there were."""
    count = 0
    for row in rows:
        out.write(encode_row(row) + "\n")
        count += 1
    return count


def _whole(value: Any) -> Any:
    raise TypeError(f"no JSON for {value!r}")


def plain_value(value: Value) -> Any:
    """A value as JSON holds it: instants and numbers that are not finite as text."""
    if isinstance(value, Instant):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
