"""Find probable problems with the events of ingested hours whose records are all valid.

The tables are read with Arrow, and the names of files from the ledger.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.acero import AggregateNodeOptions

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import SetupError
from elsinore.files.file_names import lost_records, order_doubt, order_of_name, packed_twins
from elsinore.ingest.landing_zone import find_sources
from elsinore.ledger.fold import Fold
from elsinore.ledger.rows import Longs, State, labels
from elsinore.ledger.run_metrics import COPIES, EMPTIED, LOST, UNCHECKED
from elsinore.settings import LakePath, Settings
from elsinore.store.delta_log import aggregate_rows, read_rows
from elsinore.store.regions import Landings
from elsinore.store.tables import Lake
from elsinore.timeline import DAY, Interval, hour_label, parse_hour

#: Number of earlier hours that an hour is compared with.
_HISTORY = 7 * DAY
#: Maximum probability that a field has no value by chance.
_CHANCE = 0.001
#: Maximum number of records that are compared at a time; an hour with more is read whole.
_RECORDS = 1_000_000
#: Columns that show which record of a key wins.
_RAW = (
    "file_hour", "file", "record_number", "event_key", "event_version", "content_hash",
)  # fmt: skip

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
        By the label of an ingested hour, names such as `Checkout.price`, in the schema's order.

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
    before = {field: _Totals.of(seen, field) for field in suspects}
    found: dict[str, list[str]] = defaultdict(list)
    for label, field in sorted(empty, key=lambda each: each[0]):
        first = hour_label(parse_hour(label) - _HISTORY)
        events, values = before[field].between(first, label)
        number = own[label][field].events
        if values and (1 - values / events) ** number < _CHANCE:
            found[label].append(".".join(field))
    return dict(found)


class _Totals(NamedTuple):
    """Running totals of a field over hours: `totals[n]` is the sum over the first n labels."""

    labels: Sequence[str]
    totals: Sequence[_Filled]

    @classmethod
    def of(cls, seen: Mapping[str, Mapping[_Field, _Filled]], field: _Field) -> Self:
        """Return the totals of a field over all hours that have events of its type."""
        labels = sorted(label for label, fields in seen.items() if field in fields)
        totals = [_Filled(0, 0)]
        for label in labels:
            events, values = seen[label][field]
            totals.append(_Filled(totals[-1].events + events, totals[-1].values + values))
        return cls(labels, totals)

    def between(self, first: str, end: str) -> _Filled:
        """Return the totals of the hours from one label up to another, without the latter."""
        after, before = (self.totals[bisect_left(self.labels, label)] for label in (end, first))
        return _Filled(after.events - before.events, after.values - before.values)


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


def lost_corrections(lake: Lake, state: Fold, interval: Interval) -> list[str]:
    """Return a sentence about each file whose superseded records may be corrections themselves.

    If records of several files of an hour have the same key and version, the file whose name
    without its extensions sorts last wins. A file that was modified later, or whose name sorts
    first only because of its extension or of the name of its directory, probably has the
    corrections.

    Args:
        lake: The lake with `raw_events` and `events`.
        state: The state of the hours, with their files.
        interval: The hours of the files.

    Raises:
        DataError: a table cannot be read.
        SetupError: delta-rs cannot read a table; the field `features` names the features.
    """
    modified = _modified(state, interval)
    several = {label for label, times in modified.items() if len(times) > 1}
    lost: Counter[tuple[str, str, str]] = Counter()
    for hours in _groups(state, several):
        lost.update(_lost(lake.root, hours, modified))
    return [lost_records(number, *files) for files, number in sorted(lost.items())]


def _modified(state: Fold, interval: Interval) -> dict[str, dict[str, int]]:
    """Return by hour when its files were modified, in nanoseconds since 1970."""
    ingested = state[State.INGESTED]
    own = ingested.where((ingested.hours >= interval.start) & (ingested.hours < interval.end))
    return {
        label: {file["name"]: file["modified"] for file in files or ()}
        for label, files in zip(
            labels(own.hours).to_pylist(), own.rows["files"].to_pylist(), strict=True
        )
    }


def _groups(state: Fold, wanted: set[str]) -> Iterator[Landings]:
    """Yield hours whose records are compared together."""
    ingested = state[State.INGESTED]
    group, size = list[int](), 0
    for hour, records in zip(ingested.hours.tolist(), ingested.longs("records"), strict=True):
        if hour_label(hour) not in wanted:
            continue
        if group and size + records > _RECORDS:
            yield Landings.of(group)
            group, size = [], 0
        group.append(hour)
        size += int(records)
    if group:
        yield Landings.of(group)


def _lost(
    lake: LakePath, hours: Landings, modified: Mapping[str, Mapping[str, int]]
) -> dict[tuple[str, str, str], int]:
    """Return the number of doubtful superseded records by their file, the winner and the reason."""
    is_event = pc.field("event_key").is_valid()
    found = _beaten(read_rows(lake, "raw_events", columns=_RAW, hours=hours, where=is_event))
    pairs = []
    for pair in found.group_by(["file_hour", "file", "by"]).aggregate([]).to_pylist():
        times = (modified[pair["file_hour"]].get(pair[name], 0) for name in ("file", "by"))
        if doubt := order_doubt(pair["file"], pair["by"], *times):
            pairs.append({**pair, "doubt": doubt})
    if not pairs:
        return {}
    doubtful = found.join(pa.Table.from_pylist(pairs), ["file_hour", "file", "by"], None, "inner")
    # If a record of another hour is the event, it makes no difference which of these lost.
    place = ["file_hour", "file", "record_number"]
    events = read_rows(lake, "events", columns=place, hours=hours)
    events = events.set_column(0, "file_hour", events["file_hour"].cast(pa.string()))
    doubtful = doubtful.join(events, ["file_hour", "by", "by_number"], place, "left semi")
    counts = doubtful.group_by(["file", "by", "doubt"]).aggregate([([], "count_all")])
    return {(row["file"], row["by"], row["doubt"]): row["count_all"] for row in counts.to_pylist()}


def _beaten(rows: pa.Table) -> pa.Table:
    """Return the records that differ from the winner of their key, which is in another file.

    Only records of the same hour and version are compared.

    Returns:
        A row per record, with `file_hour`, `file`, and in `by` and `by_number` the file and the
        number of the winner.
    """
    hours, files, keys = (_codes(rows[name]) for name in ("file_hour", "file", "event_key"))
    _, place = np.unique(
        keys.codes * max(len(hours.values), 1) + hours.codes, return_inverse=True
    )  # fmt: skip
    again = np.flatnonzero(np.bincount(place)[place] > 1)  # few of all records
    by_name = sorted(range(len(files.values)), key=lambda code: order_of_name(files.values[code]))
    rank = np.empty(len(by_name), np.int64)
    rank[by_name] = np.arange(len(by_name))
    columns = {
        "place": place[again], "version": rows["event_version"].take(pa.array(again)),
        "rank": rank[files.codes[again]],
        "record_number": rows["record_number"].take(pa.array(again)),
    }  # fmt: skip
    # As in `event_keys.WINNERS_FIRST`. NULL comes last in any order.
    order = pc.sort_indices(
        pa.table(columns),
        [("place", "ascending"), *((name, "descending") for name in [*columns][1:])],
    )
    again = again[np.asarray(order)]
    sorted_place = place[again]
    is_first = np.append(True, sorted_place[1:] != sorted_place[:-1])[: len(again)]
    winner = again[np.maximum.accumulate(np.where(is_first, np.arange(len(again)), 0))]
    versions, hashes = _codes(rows["event_version"]).codes, np.asarray(rows["content_hash"])
    is_beaten = (hashes[again] != hashes[winner]) & (files.codes[again] != files.codes[winner])
    is_beaten &= versions[again] == versions[winner]
    beaten, winner = pa.array(again[is_beaten]), pa.array(winner[is_beaten])
    return pa.table(
        {
            "file_hour": rows["file_hour"].take(beaten).cast(pa.string()),
            "file": rows["file"].take(beaten).cast(pa.string()),
            "by": rows["file"].take(winner).cast(pa.string()),
            "by_number": rows["record_number"].take(winner),
        }
    )


class _Coded(NamedTuple):
    """A column as codes of its different values; NULL has a code, too."""

    codes: Longs
    values: list[Any]


def _codes(column: pa.ChunkedArray) -> _Coded:
    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    coded = plain.combine_chunks().dictionary_encode(null_encoding="encode")
    return _Coded(np.asarray(coded.indices, np.int64), coded.dictionary.to_pylist())


def packed_copies(
    lake: Lake, settings: Settings, state: Fold, interval: Interval
) -> list[tuple[str, str]]:
    """Return the pairs of files that differ only by how they are compressed.

    The files are files of the ingested hours, and source files of the stream's rules. One file of a
    pair is probably a copy of the other, and its events without ids count twice.

    Args:
        lake: The lake of the stream.
        settings: The landing zone, and in `late_arrival_days` how far back source files are looked
            for.
        state: The state of the hours, with their files.
        interval: The hours of the files.

    Raises:
        DataError: the directory of a rule is missing.
    """
    names = [name for files in _modified(state, interval).values() for name in files]
    looked = Interval(interval.start - settings.late_arrival_days * DAY, interval.end + DAY)
    sources = (
        source.name for source in find_sources(settings.landing, lake.stream.sources, looked)
    )
    return sorted({*packed_twins(names), *packed_twins(sources)})


def doubts(lake: Lake, settings: Settings, state: Fold, interval: Interval) -> dict[str, Any]:
    """Return the metrics of an ingest about probable problems; empty if there are none.

    Args:
        lake: The lake of the stream.
        settings: The landing zone.
        state: The state of the hours after their ingest.
        interval: The hours of the run.

    Raises:
        DataError: a table cannot be read, or the directory of a source rule is missing.
    """
    found: dict[str, Any] = {COPIES: packed_copies(lake, settings, state, interval)}
    unchecked = {}
    try:
        found[EMPTIED] = emptied_fields(lake, interval)
        found[LOST] = lost_corrections(lake, state, interval)
    except SetupError as error:
        if "features" not in error.fields:
            raise
        # Spark reads such tables, and a run must not stop because of a missing warning.
        unchecked = {UNCHECKED: error.message}
    return {**{name: json.dumps(value) for name, value in found.items() if value}, **unchecked}
