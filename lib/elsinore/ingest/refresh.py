"""Bring `events` up to date: a view of `raw_events` by key, with a watermark.

A refresh reads which keys changed in `raw_events` since the version that the last one noted in its
commit, finds the winning record of each of them among all raw records, and writes the rows of
`events` that differ. If a run is killed before its refresh, the next one of any run completes it.

Raw records that were removed after their retention period are not withdrawn: their events stay. If
a later record has the key of a removed one, the winner is the best of the records that remain. If
all keys are compared, events before `EVENTS_FROM` do not come back, and events of files before
`RAW_FROM` are not deleted (`retention`).

Refreshes are numbered. A refresh that writes adds one to the last number in the history, and it is
a transaction of Delta. If another refresh was committed since, Delta skips or refuses the write,
and the refresh begins again. So no row of `events` is based on an outdated state of it, even if two
refreshes touch different days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ConflictError
from elsinore.ingest.changes import changes_after
from elsinore.ingest.decode_records import STORED, decode_winners
from elsinore.ingest.event_keys import (
    LONGEST_LITERAL,
    WINNERS_FIRST,
    event_key,
    events_between,
    keys_between,
)
from elsinore.ingest.tables import EVENTS, EVENTS_FROM, RAW, RAW_FROM, IngestTables
from elsinore.store.delta_log import BUCKET
from elsinore.store.failures import is_of_same_application, is_vacuumed, try_again
from elsinore.store.spark_tables import Commit, Note, Once

#: The application of refreshes, whose transactions Delta orders.
_APPLICATION = "elsinore.refresh"
#: Commits of `events` in which the last refresh is looked for before all of them are.
_RECENT = 20
#: Versions of `raw_events` without a change to `events` after which the watermark is noted anyway.
_IDLE = 20
#: Operations that make `events` something else than the view that the last refresh left.
_REPLACING = ("RESTORE", "CLONE", "REPLACE TABLE", "CREATE TABLE", "CREATE OR REPLACE TABLE")
#: Names of columns: the action of a change, the key of an event, and the position of a row.
_ACTION, _KEY = "_action", "event_key"
_PLACE = ("event_day", "file_hour", "file", "record_number")


@dataclass(frozen=True)
class Refreshed:
    """The result of a refresh.

    Attributes:
        raw_version: The version of `raw_events` that `events` now reflects.
        inserted, updated, deleted: Number of changed rows of `events`.
    """

    raw_version: int
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def changed(self) -> int:
        """Number of changed rows."""
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True)
class Seen:
    """The state of `events` according to its history.

    Attributes:
        version: Latest version of `events`.
        number: Number of the last refresh.
        raw: The version of `raw_events` that `events` reflects; None: not known.
    """

    version: int
    number: int
    raw: int | None


@dataclass(frozen=True)
class _Changed:
    """Keys whose events may differ.

    Attributes:
        raw: The version of `raw_events` to which they are complete.
        rows: About how many raw rows changed.
        first, last: The smallest and the largest key, or their beginnings; see `keys_between`.
        few: The keys, if they are few and short.
        many: Otherwise the keys, which may repeat; None: all keys.
    """

    raw: int
    rows: int
    first: str = ""
    last: str = ""
    few: tuple[str, ...] = ()
    many: DataFrame | None = None

    @property
    def is_all(self) -> bool:
        """Return whether all keys may differ."""
        return self.many is None and not self.few


class _OvertakenError(ConflictError):
    """Another refresh was committed first."""


def refresh(tables: IngestTables, *, run: str) -> Refreshed:
    """Bring `events` up to date with `raw_events`, in at most one commit.

    Args:
        tables: The tables.
        run: Name of the run, for the history of `events`.

    Raises:
        ConflictError: other refreshes or writers won each time.
        DataError: stored records no longer fit the schema.
    """
    name = tables.store.name(EVENTS)
    return try_again(lambda: _refresh(tables, run), EVENTS, name, lost=_OvertakenError)


def _refresh(tables: IngestTables, run: str) -> Refreshed:
    seen = last_refresh(tables, run)
    changed = _changed_keys(tables, seen.raw)
    if changed is None:
        assert seen.raw is not None
        return Refreshed(seen.raw)
    tables.store.plan_for(changed.rows, tables.cores)
    differences = _differences_here(tables, changed, seen.version)
    if differences is None and not tables.store.read(EVENTS, seen.version).limit(1).collect():
        return _fill(tables, changed, seen, run)
    if differences is None:
        differences = _differences_in_tasks(tables, changed, seen.version)
    return _write(tables, differences, changed, seen, run)


# ------------------------------------------------------------------------- what changed


def last_refresh(tables: IngestTables, run: str) -> Seen:
    """Return what the history says; if it names no refresh, number one first."""
    for limit in (_RECENT, None):
        history = tables.store.history(EVENTS, limit)
        if seen := _seen(history):
            return seen
    # The notes are older than the table's log. Refreshes that are made at the same time must see
    # one number, so it is committed before anything is read.
    once = Once(_APPLICATION, history[0].version + 1)
    note = {"run": run, "refresh": once.number, "raw": None}
    nothing = tables.store.read(EVENTS).limit(0).select(tables.store.columns(EVENTS))
    tables.store.append(EVENTS, nothing, note, once)
    return last_refresh(tables, run)


def _seen(history: Sequence[Commit]) -> Seen | None:
    """Return the last refresh in a history; None without one."""
    is_replaced = False
    for commit in history:
        if isinstance(number := commit.note.get("refresh"), int):
            raw = None if is_replaced else commit.note.get("raw")
            return Seen(history[0].version, number, raw)
        is_replaced = is_replaced or commit.operation.startswith(_REPLACING)
    return None


def _changed_keys(tables: IngestTables, raw: int | None) -> _Changed | None:
    """Return the keys that changed after a version of `raw_events`; None if it is the latest."""
    latest = tables.store.version(RAW)
    if latest == raw:
        return None
    if raw is None or latest < raw:  # it was created again
        return _all_keys(tables, latest)
    try:
        feed = changes_after(tables.store, RAW, raw, latest)
        return None if feed is None else _keys_of(feed, latest)
    except PySparkException as error:
        if is_vacuumed(error):
            return _all_keys(tables, latest)
        raise


def _keys_of(feed: DataFrame, latest: int) -> _Changed | None:
    """Return the keys in a change feed up to a version; None if there are none."""
    keys = feed.where(F.col(_KEY).isNotNull()).select(_KEY)
    # An id can be longer than a message of Spark Connect.
    begin = F.substring(_KEY, 1, LONGEST_LITERAL + 1)
    found = keys.select(begin.alias(_KEY)).limit(_FEW + 1).toArrow()[_KEY].to_pylist()
    few = sorted(set(found))
    if len(found) <= _FEW and all(len(key) <= LONGEST_LITERAL for key in few):
        return _Changed(latest, len(few), few[0], few[-1], tuple(few)) if few else None
    row = keys.agg(
        F.count(_KEY).alias("rows"), F.min(begin).alias("first"), F.max(begin).alias("last")
    ).collect()[0]  # fmt: skip
    return _Changed(latest, row.rows, row.first, row.last, many=keys)


#: Keys that become literals of statements, at most.
_FEW = 1_000


def _all_keys(tables: IngestTables, raw: int) -> _Changed:
    return _Changed(raw, tables.store.read(RAW, raw).count())


# ------------------------------------------------------------------------- what differs


@dataclass(frozen=True)
class _Differences:
    """Rows of `events` to insert, update or delete.

    Attributes:
        rows: In addition to the columns of `events`, they have the action, and in `_old_...` the
            position of the replaced row. They are computed only once: Delta refuses a MERGE whose
            source is cached.
        counts: Their number by action.
        days: Days of the replaced rows.
        first, last: The earliest and the latest file hour of the replaced rows.
    """

    rows: DataFrame
    counts: Mapping[str, int]
    days: Collection[date]
    first: str
    last: str


def _differences_here(tables: IngestTables, changed: _Changed, version: int) -> _Differences | None:
    """Return the differences of few and small events, found in this process.

    It takes one statement, which reads the winning records and the current events.

    Returns:
        None if the rows are too large, or all keys may differ.
    """
    if changed.is_all or not tables.store.is_small(changed.rows):
        return None
    schema = tables.store.schema(EVENTS).arrow()
    both = _winners(tables, changed).join(
        _current(tables, changed, version), F.col(_KEY) == F.col(f"_old_{_KEY}"), "full_outer"
    )
    texts = [f"_old_{field.name}" for field in schema if pa.types.is_string(field.type)]
    sizes = [F.coalesce(F.octet_length(name), F.lit(0)) for name in ("record", *texts)]
    both = both.withColumn("_size", reduce(Column.__add__, sizes))
    both = both.withColumn("_sizes", F.expr("sum(_size) OVER ()"))
    pairs = both.where(F.col("_sizes") <= _MOST_LOCAL_BYTES).drop("_size", "_sizes").toArrow()
    if not pairs.num_rows:  # or without any event, which is rare
        return None
    rows = _compared(pairs, schema, tables.stream)
    old = rows.filter(rows["_old_file_hour"].is_valid())
    hours = pc.min_max(old["_old_file_hour"])
    return _Differences(
        tables.store.spark.createDataFrame(rows, from_arrow_schema(rows.schema)),
        Counter(rows[_ACTION].to_pylist()),
        set(old["_old_event_day"].to_pylist()),
        hours["min"].as_py() or "",
        hours["max"].as_py() or "",
    )


def _compared(pairs: pa.Table, schema: pa.Schema, stream: StreamSchema) -> pa.Table:
    """Return the rows of `_Differences` from pairs of winning records and current events."""
    names = schema.names
    is_new, is_old = pairs["record"].is_valid(), pairs[f"_old_{_KEY}"].is_valid()
    winners = pairs.filter(is_new).select(STORED).combine_chunks().to_batches()
    new = pa.Table.from_batches(decode_winners(stream, schema, BUCKET)(iter(winners)), schema)
    position = pc.subtract(pc.cumulative_sum(is_new.cast(pa.int64())), 1)
    new = new.take(pc.if_else(is_new, position, None))
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    old = pairs.select([f"_old_{name}" for name in names]).rename_columns(names).cast(nullable)
    same = reduce(pc.and_, (_equal(new[name], old[name]) for name in names))
    action = pc.if_else(is_old, pc.if_else(is_new, "update", "delete"), "insert")
    places = {f"_old_{name}": old[name] for name in _PLACE}
    rows = pa.table({**{name: new[name] for name in names}, _ACTION: action, **places})
    return rows.filter(pc.invert(pc.and_(same, pc.and_(is_new, is_old))))


#: Bytes of raw records and events that may pass through this process.
_MOST_LOCAL_BYTES = 16_000_000


def _equal(new: pa.ChunkedArray, old: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return whether values are equal as Spark's `<=>` compares them: NULL is NULL, NaN is NaN."""
    same = pc.fill_null(pc.equal(new, old), False)
    if pa.types.is_floating(new.type):
        both_nan = pc.and_(pc.is_nan(new), pc.is_nan(old))
        same = pc.or_(same, pc.fill_null(both_nan, False))
    return pc.or_(same, pc.and_(new.is_null(), old.is_null()))


def _differences_in_tasks(tables: IngestTables, changed: _Changed, version: int) -> _Differences:
    """Return the differences of many events, found by Spark."""
    names = tables.store.columns(EVENTS)
    new, current = _decoded_winners(tables, changed), _current(tables, changed, version)
    both = new.join(current, F.col(_KEY) == F.col(f"_old_{_KEY}"), "full_outer")
    same = F.lit(True)
    for name in names:
        same = same & F.col(name).eqNullSafe(F.col(f"_old_{name}"))
    action = F.when(F.col(f"_old_{_KEY}").isNull(), F.lit("insert"))
    action = action.when(F.col(_KEY).isNull(), F.lit("delete"))
    action = action.when(~same, F.lit("update"))
    places = [f"_old_{name}" for name in _PLACE]
    rows = both.withColumn(_ACTION, action).where(F.col(_ACTION).isNotNull())
    if changed.is_all:
        rows = rows.where(~_is_too_old(tables))
    # PySpark binds checkpoints to the session that this thread opened first.
    rows = rows.select(*names, _ACTION, *places).localCheckpoint()
    summary = rows.groupBy(_ACTION).agg(
        F.count("*").alias("rows"), F.collect_set("_old_event_day").alias("days"),
        F.min("_old_file_hour").alias("first"), F.max("_old_file_hour").alias("last"),
    ).collect()  # fmt: skip
    old = [row for row in summary if row.days]
    return _Differences(
        rows, {row[_ACTION]: row.rows for row in summary},
        {day for row in old for day in row.days},
        min((row.first for row in old), default=""), max((row.last for row in old), default=""),
    )  # fmt: skip


def _current(tables: IngestTables, changed: _Changed, version: int) -> DataFrame:
    """Return the events of changed keys at a version; their columns begin with `_old_`."""
    names = tables.store.columns(EVENTS)
    rows = tables.store.read(EVENTS, version).select(names)
    if not changed.is_all:
        rows = rows.where(events_between(tables.stream, changed.first, changed.last))
    rows = _of_keys(rows.withColumn(_KEY, event_key(tables.stream)), changed)
    return rows.withColumnsRenamed({name: f"_old_{name}" for name in [*names, _KEY]})


def _decoded_winners(tables: IngestTables, changed: _Changed) -> DataFrame:
    """Return the winning record of each key, decoded, with the columns of `events` and the key."""
    schema = tables.store.schema(EVENTS).arrow().append(pa.field(_KEY, pa.string()))
    decode = decode_winners(tables.stream, schema, BUCKET)
    return _winners(tables, changed).mapInArrow(decode, from_arrow_schema(schema))


def _is_too_old(tables: IngestTables) -> Column:
    """Return which differences are due to the removal of old rows."""
    borders = tables.store.properties(EVENTS)
    is_old = F.lit(False)
    if day := borders.get(EVENTS_FROM):
        is_old = (F.col(_ACTION) == "insert") & (F.col("event_day") < F.to_date(F.lit(day)))
    if day := borders.get(RAW_FROM):
        is_old = is_old | ((F.col(_ACTION) == "delete") & (F.col("_old_file_hour") < F.lit(day)))
    return is_old


def _winners(tables: IngestTables, changed: _Changed) -> DataFrame:
    """Return the winning record of each key, as it is stored, and the key."""
    place = F.expr(f"row_number() OVER (PARTITION BY {_KEY} ORDER BY {WINNERS_FIRST})")
    ranked = _candidates(tables, changed).withColumn("_rank", place)
    return ranked.where("_rank = 1").select(_KEY, *STORED)


def _candidates(tables: IngestTables, changed: _Changed) -> DataFrame:
    """Return the raw records of changed keys, without rejected ones."""
    rows = tables.store.read(RAW, changed.raw).where("reason_code IS NULL")
    if not changed.is_all:
        rows = rows.where(keys_between(F.col(_KEY), changed.first, changed.last))
    return _of_keys(rows, changed)


def _of_keys(rows: DataFrame, changed: _Changed) -> DataFrame:
    """Return the rows whose key changed."""
    if changed.few:
        return rows.where(F.col(_KEY).isin([F.lit(key) for key in changed.few]))
    if changed.many is None:
        return rows
    keys = F.broadcast(changed.many) if changed.rows <= _BROADCAST else changed.many
    return rows.join(keys, _KEY, "left_semi")


#: Keys that are sent to all tasks.
_BROADCAST = 200_000


# ------------------------------------------------------------------------- writing


def _write(
    tables: IngestTables, differences: _Differences, changed: _Changed, seen: Seen, run: str
) -> Refreshed:
    """Commit the differences.

    Raises:
        _OvertakenError: another refresh was committed first.
    """
    counts = differences.counts
    result = Refreshed(
        changed.raw, *(counts.get(action, 0) for action in ("insert", "update", "delete"))
    )
    if not counts and seen.raw is not None and changed.raw - seen.raw < _IDLE:
        return result

    def write(note: Note, once: Once) -> None:
        if counts.keys() <= {"insert"}:
            rows = differences.rows.select(tables.store.columns(EVENTS))
            rows = _in_order(rows, changed.rows, tables)
            tables.store.append(EVENTS, rows, note, once)
        else:
            on = _replaced(sorted(differences.days), differences.first, differences.last)
            actions = {name: F.col(_ACTION) == name for name in ("update", "delete", "insert")}
            rows = differences.rows
            tables.store.merge(EVENTS, rows, on=on, actions=actions, note=note, once=once)

    _commit(tables, write, changed, seen, run)
    return result


def _fill(tables: IngestTables, changed: _Changed, seen: Seen, run: str) -> Refreshed:
    """Append all winners to `events`, which is empty: no row can differ.

    Raises:
        _OvertakenError: another refresh was committed first.
    """
    rows = _decoded_winners(tables, changed).select(tables.store.columns(EVENTS))
    if changed.is_all and (day := tables.store.properties(EVENTS).get(EVENTS_FROM)):
        rows = rows.where(F.col("event_day") >= F.to_date(F.lit(day)))
    rows = _in_order(rows, changed.rows, tables)
    commit = _commit(
        tables, lambda note, once: tables.store.append(EVENTS, rows, note, once), changed, seen, run
    )
    return Refreshed(changed.raw, int(commit.metrics.get("numOutputRows", 0)))


def _commit(
    tables: IngestTables, write: Callable[[Note, Once], None], changed: _Changed, seen: Seen,
    run: str,
) -> Commit:  # fmt: skip
    """Write as the next numbered refresh; return the commit.

    Raises:
        _OvertakenError: another refresh was committed first.
    """
    once = Once(_APPLICATION, seen.number + 1)
    note = {"run": run, "refresh": once.number, "raw": changed.raw, "id": uuid4().hex}
    try:
        write(note, once)
    except ConflictError as error:
        if is_of_same_application(error.__cause__):
            raise _OvertakenError(error.message) from error
        raise
    # Delta skips the transaction if another one has its number.
    for limit in (_RECENT, None):
        for commit in tables.store.history(EVENTS, limit):
            if commit.note.get("id") == note["id"]:
                return commit
    raise _OvertakenError("another refresh of events was committed first")


def _replaced(days: Sequence[date], first: str, last: str) -> Column:
    """Return which row of `events` a change replaces, with literals that skip other files."""
    on = F.col("event_day").isin([F.lit(day) for day in days])
    on = on & F.col("file_hour").between(F.lit(first), F.lit(last))
    for name in _PLACE:
        on = on & (F.col(name) == F.col(f"_old_{name}"))
    return on


def _in_order(rows: DataFrame, number: int, tables: IngestTables) -> DataFrame:
    """Return rows for writing: by time within each file, and a file per partition of the table.

    Spark sorts by the columns of partitions in any case. Without one task for a small batch, it
    would write as many files per day as it has cores.
    """
    by = tables.store.schema(EVENTS).partition_by
    rows = rows.coalesce(1) if tables.store.is_small(number) else rows.repartition(*by)
    return rows.sortWithinPartitions(*by, "event_time")
