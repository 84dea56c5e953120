"""Migrate a lake of release 0.2 to the tables of this release.

The old tables are moved to `before-0.3`, the new ones are built in a new directory of
`migrating-0.3`, and moved to their place when they are complete. Nothing is changed in the old
tables. So a migration that was killed is repeated: from its beginning before the new tables are
complete, and with the last moves afterwards.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from elsinore.errors import ParameterError, QueryError, SetupError, UnsupportedQueryError
from elsinore.ingest.changed_hours import record_changed_hours
from elsinore.ingest.refresh import refresh
from elsinore.ingest.tables import EVENTS, QUARANTINE, RAW
from elsinore.lake.answered import answered_by
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.from_records import Records, as_appended
from elsinore.ledger.results import failed_unchanged, stale
from elsinore.ledger.rows import State, entries
from elsinore.maintain.copy_old_tables import (
    OldFolders,
    copy_events,
    copy_raw,
    copy_records,
    copy_results,
    counts_of_files,
    event_hours,
    set_borders,
)
from elsinore.maintain.tables import OwnTables
from elsinore.places import is_here
from elsinore.publish.tables import RESULTS, STAGED
from elsinore.settings import LakePath, Settings
from elsinore.store.delta_log import read_rows
from elsinore.timeline import parse_hour

#: Name of the run, and of the step, in the ledger and in notes of commits.
RUN = "migrate"
#: The directory of complete new tables in `migrating-0.3`.
_READY = "ready"
#: Hours before their own that windows of unknown queries are taken to reach.
_ANY = 100_000
#: States of hours with results.
_OF_RESULTS = (State.AGGREGATED, State.VALIDATED, State.PUBLISHED)
#: Nanoseconds per microsecond.
_MICROSECOND = 1_000


@dataclass(frozen=True)
class Migrated:
    """The result of a migration.

    Attributes:
        rows: Number of rows of each new table.
        changed: Number of events that differ, because other records of them win now.
    """

    rows: Mapping[str, int]
    changed: int = 0


def migrate_lake(spark: SparkSession, settings: Settings) -> Migrated:
    """Move the tables of a stream to this release; see `Settings.is_old`.

    Args:
        spark: A session.
        settings: The settings of the stream, without a further workload.

    Raises:
        SetupError: the home is in an object store, or a directory of an earlier migration is in
            the way.
        DataError: an old table is missing or damaged.
        SchemaError: the schema does not fit the tables.
    """
    require_movable(settings)
    ready = settings.migrating / _READY
    done = Migrated({})
    if not ready.is_dir():
        settings.migrating.mkdir(exist_ok=True)
        _move(_lakes(settings.home / settings.stream), settings.before_migration)
        for path in settings.migrating.iterdir():
            shutil.rmtree(path)
        # Spark caches the logs of tables by path, so a second try needs other paths.
        built = settings.migrating / uuid4().hex
        done = _Migration(spark, settings, settings.model_copy(update={"home": built})).build()
        built.rename(ready)
    for lake, name in _lakes(ready / settings.stream):
        _move([(lake, name)], settings.home / settings.stream)
    # By one rename, so that a migration that is killed now has ended.
    rest = settings.before_migration / settings.migrating.name
    settings.migrating.rename(rest)
    shutil.rmtree(rest)
    return done


def require_movable(settings: Settings) -> None:
    """Raise SetupError if the home is in an object store, which cannot rename directories."""
    if not is_here(settings.home):
        raise SetupError(
            f"{settings.home} is in an object store, which cannot rename directories",
            hint="copy it to a disk, migrate it there, and copy it back to a new address",
        )


def old_rows(settings: Settings) -> dict[str, int]:
    """Return the number of rows of tables of release 0.2, for a dry run.

    Raises:
        DataError: a table is missing or damaged.
    """
    top = settings.home / settings.stream
    there = top if (top / "lake" / "landings").is_dir() else settings.before_migration
    names = (RAW, EVENTS, "trend_aggregates")
    return {name: len(read_rows(there / "lake", name, columns=["file"] if name in (RAW, EVENTS)
                                else ["query"])) for name in names}  # fmt: skip


def _lakes(top: Path) -> list[tuple[Path, str]]:
    """Return the directories of tables below a directory with their names, further workloads first.

    The main one shows that the lake is old, so it is moved last.
    """
    found = [*sorted(top.glob("workloads/*/lake")), top / "lake"]
    return [(path, path.relative_to(top).as_posix()) for path in found if path.is_dir()]


def _move(lakes: Iterable[tuple[Path, str]], to: Path) -> None:
    """Move directories of tables below another directory.

    Raises:
        SetupError: a directory is in the way.
    """
    for path, name in lakes:
        target = to / name
        if target.exists():
            raise SetupError(
                f"cannot move {path}: {target} exists", hint="move one of the two directories away"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


@dataclass(frozen=True)
class _Migration:
    """A migration while it builds the new tables.

    Attributes:
        spark: A session.
        settings: The settings of the stream.
        new: The same with the home of the new tables.
    """

    spark: SparkSession
    settings: Settings
    new: Settings

    def build(self) -> Migrated:
        old = self.settings.before_migration / "lake"
        main = OwnTables.open(self.spark, self.new)
        landings = read_rows(old, "landings")
        set_borders(main.ingest, old, landings)
        version = copy_events(main.ingest, old)
        copy_raw(main.ingest, old, _modified(landings))
        every = [main, *(OwnTables.open(self.spark, own) for own in self._others())]
        for own in every:
            copy_results(own.results, self._old(own.settings.workload))
            copy_records(own.lake, self._old(own.settings.workload))
            for rows in self._ledger_rows(own, main, version):
                main.ledger.append([rows], run=RUN)
        state = fold(main.ledger.read())
        raw_version = refresh(main.ingest, run=RUN).raw_version
        changed = record_changed_hours(
            main.ingest, main.ledger, state, raw_version, step=RUN, run=RUN
        )
        return Migrated(_row_counts(every), changed)

    def _others(self) -> list[Settings]:
        """Return the settings of further workloads, also of workloads that have no queries now."""
        lakes = sorted(self.settings.before_migration.glob("workloads/*/lake"))
        return [self.new.model_copy(update={"workload": lake.parent.name}) for lake in lakes]

    def _old(self, workload: str) -> LakePath:
        before = self.settings.before_migration
        if not workload:
            return before / "lake"
        return OldFolders(before / "lake", before / "workloads" / workload / "lake")

    def _ledger_rows(self, own: OwnTables, main: OwnTables, version: int) -> Iterable[pa.Table]:
        """Yield the rows of a workload, and of the stream with the main one, with new versions."""
        reach, fingerprint = self._queries(own.settings.workload)
        records = Records(
            lake=self._old(own.settings.workload), schema=main.ledger.schema,
            stream=main.ingest.stream.name, workload=own.settings.workload_name,
            fingerprint=fingerprint, run=RUN,
        )  # fmt: skip
        commits = records.commits()
        state = fold(as_appended(commits, main.ledger.schema), own.settings.workload_name)
        outdated = _outdated(state, reach) | records.unsettled()
        is_same = failed_unchanged(state, reach)
        retried = set(state.failed.last.hours[~is_same].tolist())
        versions = _Versions(
            version, main.ingest.store.version(RAW),
            {one: own.results.store.version(RESULTS if one is State.PUBLISHED else STAGED)
             for one in _OF_RESULTS},
            {**dict.fromkeys(_OF_RESULTS, outdated), State.FAILED: retried},
            counts_of_files(main.ingest) if own is main else {},
        )  # fmt: skip
        for rows in commits:
            yield versions.apply(rows, of_stream=own is main)
        if own is main:
            yield entries(
                main.ledger.schema, State.REFRESHED,
                np.setdiff1d(event_hours(main.ingest), state[State.REFRESHED].hours),
                stream=main.ingest.stream.name, step=RUN, run=RUN,
                columns={"events_version": version},
            )  # fmt: skip

    def _queries(self, workload: str) -> tuple[int, str]:
        """Return how far the windows of a workload reach back, and its fingerprint."""
        with suppress(QueryError, UnsupportedQueryError, ParameterError):
            one = answered_by(self.settings, (workload,))[0]
            return one.reach, one.fingerprint
        # Its queries were removed or are invalid: no run computes its hours.
        return _ANY, ""


def _outdated(state: Fold, reach: int) -> set[int]:
    """Return the published hours whose events changed since."""
    return set(stale(state, reach).tolist())


@dataclass(frozen=True)
class _Versions:
    """The versions and counts of the new tables, for rows of the ledger.

    Attributes:
        events: The version of `events` with the copied events.
        raw: The version of `raw_events`.
        results: By state, the version of its table of results.
        outdated: By state, hours that were not computed from the copied events.
        counts: By file hour, the counts of `raw_events`; without its raw records, an hour keeps
            the counts of release 0.2.
    """

    events: int
    raw: int
    results: Mapping[State, int]
    outdated: Mapping[State, Collection[int]]
    counts: Mapping[str, Mapping[str, Any]]

    def apply(self, rows: pa.Table, *, of_stream: bool) -> pa.Table:
        """Return rows of a workload, and of the stream on demand, with new versions."""
        found = [
            self._row(row) for row in rows.to_pylist() if of_stream or row["workload"]
        ]  # fmt: skip
        return pa.Table.from_pylist(found, schema=rows.schema)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        state = State(row["state"])
        if state is State.INGESTED:
            return row | {"raw_events_version": self.raw, **self.counts.get(row["hour"], {})}
        if state is State.REFRESHED:
            return row | {"events_version": self.events}
        if state not in self.outdated:
            return row
        is_old = parse_hour(row["hour"]) in self.outdated[state]
        # Without a version, an hour is stale.
        own = {"events_version": None if is_old else self.events}
        return (
            row | own | ({"results_version": self.results[state]} if state in self.results else {})
        )


def _modified(landings: pa.Table) -> dict[str, int]:
    """Return when each file was modified, in microseconds since 1970."""
    listings = (json.loads(text) for text in landings["listing"].to_pylist() if text is not None)
    return {
        name: min(state[1] // _MICROSECOND, 2**63 - 1)
        for listing in listings for name, state in listing.items() if name.strip("/")
    }  # fmt: skip


def _row_counts(every: Sequence[OwnTables]) -> dict[str, int]:
    """Return the number of rows of each table of data."""
    return {
        own.shown_as(name): store.read(name).count()
        for own in every for name, store in own.data.items()
        if name in (RAW, QUARANTINE, EVENTS, RESULTS)
    }  # fmt: skip
