"""Remove everything of tables except their latest version: files, change feed and log.

Entries of a log contain minimum and maximum values of the files that were written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq

from elsinore.errors import EngineError
from elsinore.ingest.changes import RECORDED, changes_after
from elsinore.ingest.refresh import last_refresh
from elsinore.ingest.tables import EVENTS, RAW, IngestTables
from elsinore.ledger.fold import fold
from elsinore.ledger.results import recorded_events_version
from elsinore.ledger.table import Ledger
from elsinore.maintain.key import Key
from elsinore.maintain.optimize import vacuum_records
from elsinore.maintain.tables import VALIDATIONS, OwnTables
from elsinore.places import local_copy
from elsinore.store.delta_log import open_table, write_failures
from elsinore.store.spark_tables import Note

#: An entry of a log, or its checksum.
_ENTRY = re.compile(r"\.?(\d{20})\..*")


def erase_history(own: OwnTables, key: Key, *, run: str) -> dict[str, int]:
    """Remove all files of old versions, and log entries that may contain a key.

    All changes must be in `events` and in the ledger before, because the change feeds are gone
    afterwards. No other process may write the tables.

    Returns:
        By table, the number of removed files of tables.

    Raises:
        ConflictError: another writer committed first.
    """
    note, removed = {"run": run}, dict[str, int]()
    for table, store in own.data.items():
        removed[own.shown_as(table)] = store.vacuum(table, 0, note)
    validations = own.lake.path(VALIDATIONS)
    removed[own.shown_as(VALIDATIONS)] = vacuum_records(validations, 0, run)
    if own.is_of_stream:
        notes = _notes(own.ingest, own.ledger, run)
        for table in (RAW, EVENTS):  # the watermark of events is the last version of raw events
            _clear_log(own, table, notes(table))
    for table in own.data:
        if table not in (RAW, EVENTS) and _shows(own.lake.path(table), key):
            _clear_log(own, table, note)
    _clear_log_of_records(validations)
    return removed


def _notes(tables: IngestTables, ledger: Ledger, run: str) -> Callable[[str], Note]:
    """Return the function that gives the notes of the latest commits of raw events and events.

    They replace the notes of the removed entries: which raw events are in `events`, and that the
    changed hours are in the ledger.
    """
    store, seen = tables.store, last_refresh(tables, run)
    is_refreshed = (
        seen.raw is not None and changes_after(store, RAW, seen.raw, store.version(RAW)) is None
    )
    recorded = recorded_events_version(fold(ledger.read()))
    is_recorded = changes_after(store, EVENTS, recorded, store.version(EVENTS)) is None

    def note(table: str) -> Note:
        if table == RAW:
            return {"run": run}
        raw = store.version(RAW) if is_refreshed else None
        refreshed = {"run": run, "refresh": seen.number, "raw": raw}
        return {**refreshed, RECORDED: True} if is_recorded else refreshed

    return note


def _clear_log(own: OwnTables, table: str, note: Note) -> None:
    """Remove the entries of a log before a new checkpoint."""
    _remove_before(own.lake.path(table), own.data[table].checkpoint(table, note))


def _clear_log_of_records(path: Path) -> None:
    table = open_table(path)
    with write_failures(path):
        table.create_checkpoint()
    _remove_before(path, int(table.version()))


def _remove_before(table: Path, version: int) -> None:
    """Remove the entries of a log before a version that has a checkpoint."""
    log = table / "_delta_log"
    names = [path.name for path in log.iterdir()]
    if not any(name.startswith(f"{version:020}.checkpoint") for name in names):
        raise EngineError(f"the table {table.name} has no checkpoint of version {version}")
    for name in names:
        entry = _ENTRY.fullmatch(name)
        if entry and int(entry[1]) < version:
            with suppress(FileNotFoundError):
                (log / name).unlink()


def _shows(table: Path, key: Key) -> bool:
    """Return whether the log of a table contains a key."""
    return any(map(key.is_shown, _entries(table / "_delta_log")))


def _entries(log: Path) -> Iterator[bytes]:
    for path in log.iterdir():
        if not _ENTRY.fullmatch(path.name):
            continue
        if path.suffix == ".parquet":
            with local_copy(path) as copy:
                rows: list[Mapping[str, object]] = pq.read_table(copy).to_pylist()
            yield json.dumps(rows, ensure_ascii=False, default=str).encode()
        else:
            yield path.read_bytes()
