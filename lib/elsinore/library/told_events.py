"""Events of a result as mappings, and as text for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.trends import Trend
from elsinore.timeline import format_instant
from elsinore.wording import visible

#: Fields of every event.
_OF_EVENT = frozenset({"type", "id", "time"})


def event_words(event: Mapping[str, Any], keys: Collection[str]) -> str:
    """An event of `told_trends` in a line, without the keys, which its whole trend has."""
    shown = (f"{n}={v}" for n, v in event.items() if n not in (*_OF_EVENT, *keys))
    place = (event["type"], event.get("id"), str(event["time"]))
    return visible(" ".join([*filter(None, place), *shown]))


def told_trends(
    query: BoundQuery, events: EventTable, trends: Collection[Trend], ids: Sequence[str | None] = ()
) -> list[list[dict[str, Any]]]:
    """Return trends as lists of events: type, time, the attributes that the query reads, and `ids`.

    Attributes with the names type, time or id are left out.
    """
    rows = sorted({row for trend in trends for row in trend})
    instants = {
        n for n, kind in events.schema.attributes.items() if kind is AttributeType.TIMESTAMP
    }
    instants |= {TIME_COLUMN} if events.schema.time_unit.is_calendar else set()
    names = [TYPE_COLUMN, TIME_COLUMN, *sorted(query.attributes_read)]
    taken = events.table.select(names).take(pa.array(rows, pa.int64())).to_pylist()
    told = {}
    for row, values in zip(rows, taken, strict=True):
        kind = events.schema.types[values[TYPE_COLUMN]]
        values |= {n: format_instant(v) for n in instants if (v := values.get(n)) is not None}
        shown = kind.by_name.keys() - _OF_EVENT
        own = {name: value for name, value in values.items() if name in shown}
        told[row] = {"type": kind.name, "time": values[TIME_COLUMN], **own}
        if ids:
            told[row]["id"] = ids[row]
    return [[told[row] for row in trend] for trend in trends]
