"""Bring `events` up to date: a view of `raw_events` by key, with a watermark.

A refresh reads which keys changed in `raw_events` since the version that the last one noted in its
commit, finds the winning record of each of them among all raw records, and writes the rows of
`events` that differ. If a run is killed before its refresh, the next one of any run completes it.

Refreshes are numbered. A refresh that writes adds one to the last number in the history, and it is
a transaction of Delta. If another refresh was committed since, Delta skips or refuses the write,
and the refresh begins again. So no row of `events` is based on an outdated state of it, even if two
refreshes touch different days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.errors import ConflictError
from elsinore.ingest.decode_records import STORED, decode_winners
from elsinore.ingest.event_keys import (
    LONGEST_LITERAL,
    WINNERS_FIRST,
    event_key,
    events_between,
    keys_between,
)
from elsinore.ingest.tables import EVENTS, RAW, IngestTables
from elsinore.lake.delta_log import BUCKET
from elsinore.store.failures import is_of_same_application, is_vacuumed, try_again
from elsinore.store.spark_tables import Commit, Once

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
class _Seen:
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
    return try_again(lambda: _refresh(tables, run), EVENTS, lost=_OvertakenError)


def _refresh(tables: IngestTables, run: str) -> Refreshed:
    seen = _last_refresh(tables, run)
    changed = _changed_keys(tables, seen.raw)
    if changed is None:
        assert seen.raw is not None
        return Refreshed(seen.raw)
    tables.store.plan_for(changed.rows, tables.cores)
    differences = _differences(tables, changed, seen.version)
    # Computed once: Delta refuses a MERGE whose source is cached.
    if _is_local(tables, changed):
        differences = tables.store.spark.createDataFrame(differences.toArrow(), differences.schema)
    else:
        # PySpark binds checkpoints to the session that this thread opened first.
        differences = differences.localCheckpoint()
    return _write(tables, differences, changed, seen, run)


def _is_local(tables: IngestTables, changed: _Changed) -> bool:
    """Return whether the differences fit into this process and into a statement."""
    if not tables.store.is_small(changed.rows):
        return False
    size = _candidates(tables, changed).agg(F.sum(F.octet_length("record")).alias("size"))
    return (size.collect()[0].size or 0) <= _MOST_LOCAL_BYTES


#: Bytes of raw records whose events may pass through this process.
_MOST_LOCAL_BYTES = 16_000_000


# ------------------------------------------------------------------------- what changed


def _last_refresh(tables: IngestTables, run: str) -> _Seen:
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
    return _last_refresh(tables, run)


def _seen(history: Sequence[Commit]) -> _Seen | None:
    """Return the last refresh in a history; None without one."""
    is_replaced = False
    for commit in history:
        if isinstance(number := commit.note.get("refresh"), int):
            raw = None if is_replaced else commit.note.get("raw")
            return _Seen(history[0].version, number, raw)
        is_replaced = is_replaced or commit.operation.startswith(_REPLACING)
    return None


def _changed_keys(tables: IngestTables, raw: int | None) -> _Changed | None:
    """Return the keys that changed after a version of `raw_events`; None if it is the latest."""
    if raw is None:
        return _all_keys(tables)
    feed = tables.store.changes(RAW, raw + 1)
    if feed is None:
        latest = tables.store.version(RAW)
        return None if latest == raw else _all_keys(tables)  # it was created again
    try:
        return _keys_of(tables, feed, raw)
    except PySparkException as error:
        if is_vacuumed(error):
            return _all_keys(tables)
        raise


def _keys_of(tables: IngestTables, feed: DataFrame, raw: int) -> _Changed | None:
    """Return the keys in the change feed after a version; None if there are none."""
    own = feed.where(F.col(_KEY).isNotNull()).select(_KEY, "_commit_version")
    # An id can be longer than a message of Spark Connect.
    begin = F.substring(_KEY, 1, LONGEST_LITERAL + 1)
    some = own.limit(_FEW + 1).select(begin.alias(_KEY), "_commit_version")
    few = some.toArrow().to_pydict()
    keys = sorted(set(few[_KEY]))
    if len(few[_KEY]) <= _FEW and all(len(key) <= LONGEST_LITERAL for key in keys):
        if not keys:
            return None
        return _Changed(max(few["_commit_version"]), len(keys), keys[0], keys[-1], tuple(keys))
    found = own.agg(
        F.max("_commit_version").alias("raw"), F.count(_KEY).alias("rows"),
        F.min(begin).alias("first"), F.max(begin).alias("last"),
    ).collect()[0]  # fmt: skip
    feed_until = tables.store.changes(RAW, raw + 1, found.raw)
    assert feed_until is not None
    keys_until = feed_until.where(F.col(_KEY).isNotNull()).select(_KEY)
    return _Changed(found.raw, found.rows, found.first, found.last, many=keys_until)


#: Keys that become literals of statements, at most.
_FEW = 1_000


def _all_keys(tables: IngestTables) -> _Changed:
    raw = tables.store.version(RAW)
    return _Changed(raw, tables.store.read(RAW, raw).count())


# ------------------------------------------------------------------------- what differs


def _differences(tables: IngestTables, changed: _Changed, version: int) -> DataFrame:
    """Return a row per row of `events` to insert, update or delete.

    In addition to the columns of `events`, it has the action, and in `_old_...` the position of the
    replaced row.
    """
    names = tables.store.columns(EVENTS)
    new = _winners(tables, changed)
    current = tables.store.read(EVENTS, version).select(names)
    if not changed.is_all:
        current = current.where(events_between(tables.stream, changed.first, changed.last))
    current = _of_keys(current.withColumn(_KEY, event_key(tables.stream)), changed)
    current = current.withColumnsRenamed({name: f"_old_{name}" for name in [*names, _KEY]})
    both = new.join(current, F.col(_KEY) == F.col(f"_old_{_KEY}"), "full_outer")
    same = F.lit(True)
    for name in names:
        same = same & F.col(name).eqNullSafe(F.col(f"_old_{name}"))
    action = F.when(F.col(f"_old_{_KEY}").isNull(), F.lit("insert"))
    action = action.when(F.col(_KEY).isNull(), F.lit("delete"))
    action = action.when(~same, F.lit("update"))
    places = [f"_old_{name}" for name in _PLACE]
    rows = both.withColumn(_ACTION, action).where(F.col(_ACTION).isNotNull())
    return rows.select(*names, _ACTION, *places)


def _winners(tables: IngestTables, changed: _Changed) -> DataFrame:
    """Return the winning record of each key, decoded, with the columns of `events` and the key."""
    place = F.expr(f"row_number() OVER (PARTITION BY {_KEY} ORDER BY {WINNERS_FIRST})")
    ranked = _candidates(tables, changed).withColumn("_rank", place)
    winners = ranked.where("_rank = 1").select(_KEY, *STORED)
    schema = tables.store.schema(EVENTS).arrow().append(pa.field(_KEY, pa.string()))
    decode = decode_winners(tables.stream, schema, BUCKET)
    return winners.mapInArrow(decode, from_arrow_schema(schema))


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
    tables: IngestTables, differences: DataFrame, changed: _Changed, seen: _Seen, run: str
) -> Refreshed:
    """Commit the differences.

    Raises:
        _OvertakenError: another refresh was committed first.
    """
    summary = differences.groupBy(_ACTION).agg(
        F.count("*").alias("rows"), F.collect_set("_old_event_day").alias("days"),
        F.min("_old_file_hour").alias("first"), F.max("_old_file_hour").alias("last"),
    ).collect()  # fmt: skip
    counts = {row[_ACTION]: row.rows for row in summary}
    result = Refreshed(
        changed.raw, *(counts.get(action, 0) for action in ("insert", "update", "delete"))
    )
    if not counts and seen.raw is not None and changed.raw - seen.raw < _IDLE:
        return result
    once = Once(_APPLICATION, seen.number + 1)
    note = {"run": run, "refresh": once.number, "raw": changed.raw, "id": uuid4().hex}
    names = tables.store.columns(EVENTS)
    try:
        if counts.keys() <= {"insert"}:
            rows = _by_day(differences.select(names), changed.rows, tables)
            tables.store.append(EVENTS, rows, note, once)
        else:
            old = [row for row in summary if row.days]
            days = sorted({day for row in old for day in row.days})
            on = _replaced(days, min(row.first for row in old), max(row.last for row in old))
            actions = {name: F.col(_ACTION) == name for name in ("update", "delete", "insert")}
            tables.store.merge(EVENTS, differences, on=on, actions=actions, note=note, once=once)
    except ConflictError as error:
        if is_of_same_application(error.__cause__):
            raise _OvertakenError(error.message) from error
        raise
    _require_committed(tables, note["id"])
    return result


def _replaced(days: Sequence[date], first: str, last: str) -> Column:
    """Return which row of `events` a change replaces, with literals that skip other files."""
    on = F.col("event_day").isin([F.lit(day) for day in days])
    on = on & F.col("file_hour").between(F.lit(first), F.lit(last))
    for name in _PLACE:
        on = on & (F.col(name) == F.col(f"_old_{name}"))
    return on


def _by_day(rows: DataFrame, number: int, tables: IngestTables) -> DataFrame:
    """Return rows ordered for writing: a day of a large batch is written by one task."""
    if tables.store.is_small(number):
        return rows
    return rows.repartition("event_day").sortWithinPartitions("event_day", "event_time")


def _require_committed(tables: IngestTables, ours: object) -> None:
    """Raise _OvertakenError if Delta skipped the transaction."""
    for limit in (_RECENT, None):
        if any(commit.note.get("id") == ours for commit in tables.store.history(EVENTS, limit)):
            return
    raise _OvertakenError("another refresh of events was committed first")
