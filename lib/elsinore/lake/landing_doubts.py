"""Find probable problems with the events of landed hours whose lines are all valid."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.acero import AggregateNodeOptions

from elsinore.catalog.stream import StreamSchema
from elsinore.engine.ties import Ties, ties_of
from elsinore.files.file_names import lost_records, order_doubt, packed_twins
from elsinore.files.rejection import Reason
from elsinore.lake.delta_log import aggregate_rows
from elsinore.lake.event_files import (
    attributes_read,
    event_table,
    events_in_order,
    types_read,
)
from elsinore.lake.landing_zone import find_sources
from elsinore.lake.regions import Landings
from elsinore.lake.run_metrics import COPIES, EMPTIED, LOST
from elsinore.lake.stored_events import files_of
from elsinore.lake.tables import Lake
from elsinore.query.bound import Workload
from elsinore.settings import LakePath, Settings
from elsinore.timeline import DAY, HOUR, Interval, hour_label, hours_of, parse_hour

#: Number of earlier hours that an hour is compared with.
_HISTORY = 7 * DAY
#: Maximum probability that a field has no value by chance.
_CHANCE = 0.001
#: The file and position of a correction in the reason of a superseded line.
_CORRECTED_BY = re.compile(r" was corrected by (.+):[0-9]+(?:, .*)?$", re.DOTALL)

#: An event type and the name of an attribute.
_Field = tuple[str, str]


class _Filled(NamedTuple):
    """How many events of a type there are, and how many of them have a value."""

    events: int
    values: int


def emptied_fields(lake: Lake, interval: Interval) -> dict[str, list[str]]:
    """Return by hour the fields without a value that had values in the week before.

    A producer that renames a column causes this. A rarely filled field does not count if an hour
    with the same number of events has no value of it with a probability of 0.001 or more. A type
    without events in the hour does not count either.

    Returns:
        By the label of a landed hour, names such as `Checkout.price`, in the schema's order.

    Raises:
        DataError: `events` cannot be read.
    """
    own = _filled(lake, Landings(interval), _nullable(lake.stream))
    empty = [
        (label, field)
        for label, fields in own.items()
        for field, counts in fields.items()
        if counts.events and not counts.values
    ]
    if not empty:
        return {}
    suspects = {field for _, field in empty}
    history = Landings(Interval(interval.start - _HISTORY, interval.end))
    seen = _filled(lake, history, [field for field in _nullable(lake.stream) if field in suspects])
    found: dict[str, list[str]] = defaultdict(list)
    for label, field in sorted(empty, key=lambda each: each[0]):
        first = hour_label(parse_hour(label) - _HISTORY)
        before = [fields[field] for other, fields in seen.items()
                  if first <= other < label and field in fields]  # fmt: skip
        events, values = (sum(counts[place] for counts in before) for place in (0, 1))
        number = own[label][field].events
        if values and (1 - values / events) ** number < _CHANCE:
            found[label].append(".".join(field))
    return dict(found)


def _nullable(stream: StreamSchema) -> list[_Field]:
    return [(kind.name, one.name) for kind in stream.types for one in kind.attributes
            if one.nullable]  # fmt: skip


def _filled(
    lake: Lake, hours: Landings, fields: Sequence[_Field]
) -> dict[str, dict[_Field, _Filled]]:
    """Return by hour how many events have a value of each field."""
    names = list(dict.fromkeys(name for _, name in fields))
    if not names:
        return {}
    columns = {name: pc.field(name) for name in ("file_hour", "event_type", *names)}
    wanted = AggregateNodeOptions(
        [
            ([], "hash_count_all", None, "events"),
            *((name, "hash_count", None, f"values of {name}") for name in names),
        ],
        keys=["file_hour", "event_type"],
    )
    found: dict[str, dict[_Field, _Filled]] = defaultdict(dict)
    for row in aggregate_rows(lake.root, "events", columns, wanted, hours=hours).to_pylist():
        for kind, name in fields:
            if kind == row["event_type"]:
                counts = _Filled(row["events"], row[f"values of {name}"])
                found[row["file_hour"]][kind, name] = counts
    return found


def lost_corrections(lake: Lake, interval: Interval) -> list[str]:
    """Return a sentence about each file whose superseded lines may be corrections themselves.

    If several files of an hour have the same id, the last file by name wins. A file that was
    modified later, or whose name sorts first only because of its extension, probably has the
    corrections.

    Raises:
        DataError: a table cannot be read.
    """
    landed = Landings(interval)
    is_superseded = pc.field("reason_code") == Reason.SUPERSEDED.value
    rows = lake.rows(
        "quarantine",
        landed.expression(by_day=True) & is_superseded,
        columns=["file_hour", "file", "reason"],
    )
    if not rows.num_rows:
        return []
    changed = _changed(lake, landed)
    lost: Counter[tuple[str, str, str]] = Counter()
    for row in rows.to_pylist():
        if match := _CORRECTED_BY.search(row["reason"]):
            pair = row["file"], match[1]
            times = [changed.get(row["file_hour"], {}).get(file, 0) for file in pair]
            if all(times) and (doubt := order_doubt(*pair, *times)):  # else the hour decided
                lost[*pair, doubt] += 1
    return [lost_records(number, *files) for files, number in lost.items()]


def _changed(lake: Lake, landed: Landings) -> dict[str, dict[str, int]]:
    """Return by hour when its files were modified, in nanoseconds since 1970."""
    rows = lake.rows("landings", landed.expression(by_day=False), columns=["file_hour", "listing"])
    return {
        row["file_hour"]: {name: of[1] for name, of in json.loads(row["listing"] or "{}").items()
                         if name.strip("/")}
        for row in rows.to_pylist()
    }  # fmt: skip


def packed_copies(
    lake: Lake, settings: Settings, interval: Interval, days: int
) -> list[tuple[str, str]]:
    """Return the pairs of files that differ only by how they are compressed.

    The files are files of the landed hours, and source files of the stream's rules. One file of a
    pair is probably a copy of the other, and its events without ids count twice.

    Raises:
        DataError: `landings` cannot be read, or the directory of a rule is missing.
    """
    names: Collection[str] = [n for of in _changed(lake, Landings(interval)).values() for n in of]
    looked = Interval(interval.start - days * DAY, interval.end + DAY)
    return sorted({*packed_twins(names), *packed_twins(_source_names(lake, settings, looked))})


def _source_names(lake: Lake, settings: Settings, looked: Interval) -> Iterator[str]:
    for source in find_sources(settings.landing, lake.stream.sources, looked):
        yield source.name


def stored_ties(root: LakePath, workload: Workload, interval: Interval) -> list[Ties]:
    """Count the stored events of some hours that share their time, as `ties_of` does.

    Events are read hour by hour, because equal times are in the same hour.

    Raises:
        DataError: `events` cannot be read.
    """
    queries = workload.queries
    types, names = types_read(workload, queries), attributes_read(queries)
    found: dict[tuple[tuple[str, ...], tuple[str, ...]], Ties] = {}
    for hour in hours_of(interval):
        part = Interval(hour, hour + HOUR)
        files = files_of(root / "events", None, part)
        batches = list(events_in_order(files, part, workload.schema, types, names))
        if not batches:
            continue
        rows = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
        for one in ties_of(queries, event_table(workload.schema, rows)):
            place = one.queries, one.keys
            found[place] = found[place].joined(one) if place in found else one
    return list(found.values())


def doubts(lake: Lake, settings: Settings, interval: Interval) -> dict[str, Any]:
    """Return the metrics of a landing about probable problems; empty if there are none."""
    found = {
        EMPTIED: emptied_fields(lake, interval),
        LOST: lost_corrections(lake, interval),
        COPIES: packed_copies(lake, settings, interval, settings.late_days),
    }
    return {name: json.dumps(value) for name, value in found.items() if value}
