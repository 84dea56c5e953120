"""Find all data of a key: raw files, rows of tables, reports, Data Docs and logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.read_lines import DEFAULT_LIMITS, open_unpacked, says_unusable
from elsinore.files.rejection import Reason, UnreadableFile
from elsinore.ingest.decode_records import STORED
from elsinore.ingest.landing_zone import (
    LandingFile,
    all_files,
    decode_again,
    scan_files,
    scanned_schema,
)
from elsinore.ingest.tables import EVENTS, QUARANTINE, RAW, IngestTables
from elsinore.maintain.key import Key
from elsinore.maintain.pages import Page, find_pages
from elsinore.maintain.tables import VALIDATIONS, OwnTables
from elsinore.publish.tables import HOUR_COLUMN, RESULTS, STAGED
from elsinore.settings import Settings

Batches = Iterator[pa.RecordBatch]

#: The position of a record in the landing zone.
PLACE = ("file_hour", "file", "record_number")
#: The columns of groups of results, and their number of rows.
GROUP, _ROWS = (HOUR_COLUMN, "group_key"), "rows"

_GROUPS = pa.schema({**dict.fromkeys(GROUP, pa.string()), _ROWS: pa.int64()})

#: Bytes of the beginning of a file that can say that another file could not be used.
_MOST_SAID = 1 << 16


class Removed(NamedTuple):
    """Removed rows or records of a table or directory, and removed or rewritten files."""

    rows: int
    files: int


@dataclass(frozen=True)
class Found:
    """All data of a key.

    Attributes:
        zone: all raw files of the landing zone, by name.
        files: positions of records in raw files.
        raw: positions of records in `raw_events`.
        quarantine: positions of records in `quarantine`.
        events: number of its events.
        groups: groups of results, by the shown name of their table.
        pages: reports, Data Docs and logs.
    """

    zone: Mapping[str, LandingFile]
    files: Mapping[LandingFile, set[int]]
    raw: pa.Table
    quarantine: pa.Table
    events: int
    groups: Mapping[str, pa.Table]
    pages: Sequence[Page]

    def removed(self, files: Mapping[str, int]) -> dict[str, Removed]:
        """Return what is removed, by table or directory; `files`: removed files of the tables."""
        rows = {RAW: len(self.raw), QUARANTINE: len(self.quarantine), EVENTS: self.events}
        rows |= {name: pc.sum(one[_ROWS]).as_py() or 0 for name, one in self.groups.items()}
        records = sum(map(len, self.files.values()))
        shown = {"raw files": Removed(records, len(self.files))}
        shown |= {table: Removed(count, files.get(table, 0)) for table, count in rows.items()}
        return shown | {"reports, Data Docs, logs": Removed(0, len(self.pages))}


def find_key(every: Sequence[OwnTables], settings: Settings, key: Key) -> Found:
    """Find all data of a key.

    Args:
        every: The tables of the stream, and the tables of its further workloads.
        settings: The settings of the stream.
        key: The key.

    Raises:
        DataError: a raw file cannot be searched.
    """
    tables = every[0].ingest
    zone = {file.name: file for file in all_files(settings.landing, tables.stream.sources)}
    raw = _records(tables, RAW, key)
    return Found(
        zone,
        _in_files(zone, tables.stream, key),
        raw,
        _records(tables, QUARANTINE, key),
        events_of(tables, key, raw).count(),
        {
            own.shown_as(table): _groups(own, table, key)
            for own in every
            for table in (STAGED, RESULTS, VALIDATIONS)
        },
        list(find_pages(settings, key)),
    )


def _in_files(
    zone: Mapping[str, LandingFile], stream: StreamSchema, key: Key
) -> Mapping[LandingFile, set[int]]:
    found: dict[LandingFile, set[int]] = defaultdict(set)
    for batch in scan_files(list(zone.values()), stream):
        rows = pa.Table.from_batches([batch])
        _require_searched(rows, zone)
        for row in rows.filter(key.among(rows)).select(PLACE).to_pylist():
            found[zone[row["file"]]].add(row["record_number"])
    return found


def _require_searched(rows: pa.Table, zone: Mapping[str, LandingFile]) -> None:
    """Raise DataError for files whose content is unknown."""
    is_empty = pc.field("_reason_code") == Reason.EMPTY_FILE.value
    for row in rows.filter((pc.field("record_number") == 0) & ~is_empty).to_pylist():
        if not _is_only_a_reason(zone[row["file"]]):
            raise DataError(
                f"the raw file {row['file']} cannot be searched: {row['_reason']}",
                hint="correct or remove the file, and run it again",
            )


def _is_only_a_reason(file: LandingFile) -> bool:
    """Return whether a raw file only says why a collected file could not be used."""
    with (
        suppress(UnreadableFile),
        file.local_copy() as path,
        open_unpacked(path, DEFAULT_LIMITS) as lines,
    ):
        return says_unusable(lines.read(_MOST_SAID))
    return False


def _records(tables: IngestTables, table: str, key: Key) -> pa.Table:
    """Return the positions of a key's records in a table of records."""
    schema = scanned_schema(tables.stream)
    places = pa.schema([schema.field(name) for name in PLACE])
    rows = tables.store.read(table).select(*STORED)
    found = rows.mapInArrow(_search(key, tables.stream), from_arrow_schema(places)).toArrow()
    return found.select(PLACE).cast(places)


def _search(key: Key, stream: StreamSchema) -> Callable[[Batches], Batches]:
    """Return the function that finds the positions of a key's records in tasks."""

    def search(batches: Batches) -> Batches:
        for batch in batches:
            rows = decode_again(pa.Table.from_batches([batch]).select(STORED), stream)
            if rows.num_rows:
                yield from rows.filter(key.among(rows)).select(PLACE).to_batches()

    return search


def events_of(tables: IngestTables, key: Key, raw: pa.Table) -> DataFrame:
    """Return the positions and days of events of a key: by their values, or by their raw records.

    Args:
        tables: The tables.
        key: The key.
        raw: Positions of raw records.
    """
    columns = ["event_day", *PLACE]
    events = tables.store.read(EVENTS)
    found = events.where(reduce(and_, map(_equals, *zip(*key.values.items(), strict=True))))
    found = found.select(columns)
    if len(raw):
        places = tables.store.spark.createDataFrame(raw)
        found = found.unionByName(events.select(columns).join(places, [*PLACE], "left_semi"))
    return found.distinct()


def _equals(name: str, value: pa.Scalar) -> Column:
    literal = F.lit(value.as_py())
    if pa.types.is_timestamp(value.type):
        literal = F.timestamp_micros(F.lit(value.cast(pa.int64()).as_py()))
    return F.col(name).eqNullSafe(literal)


def _groups(own: OwnTables, table: str, key: Key) -> pa.Table:
    """Return the groups of a key in a table of results, by hour, with their number of rows."""
    if table == VALIDATIONS:
        rows = own.lake.dataset(table).to_table(columns=list(GROUP))
        rows = pa.table({name: rows[name].cast(pa.string()) for name in GROUP})
        counts = rows.group_by([*GROUP]).aggregate([([], "count_all")])
        parts = counts.rename_columns([*GROUP, _ROWS]).cast(_GROUPS).to_batches()
        return pa.Table.from_batches(_groups_with(key)(iter(parts)), _GROUPS)
    counts = own.results.store.read(table).groupBy(*GROUP).agg(F.count("*").alias(_ROWS))
    found = counts.mapInArrow(_groups_with(key), from_arrow_schema(_GROUPS)).toArrow()
    return found.cast(_GROUPS)


def _groups_with(key: Key) -> Callable[[Batches], Batches]:
    """Return the function that keeps the groups of a key, in tasks too."""

    def keep(batches: Batches) -> Batches:
        for batch in batches:
            groups = batch["group_key"].to_pylist()
            yield batch.filter(pa.array([key.is_in(group) for group in groups], pa.bool_()))

    return keep
