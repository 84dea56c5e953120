"""The ingest of a run: collect, find files, write raw events, refresh events, record the hours.

Each part is recorded in the ledger when its raw events are written. A run that is killed before
ingests the part again, with the same result.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.errors import DataError
from elsinore.ingest.changed_hours import record_changed_hours
from elsinore.ingest.collect import ASIDE, collect
from elsinore.ingest.find_files import Found, Part, find_files, listing, missed_hours
from elsinore.ingest.refresh import refresh
from elsinore.ingest.tables import EVENTS, RAW, IngestTables, of_file_hours
from elsinore.ingest.write_raw import HourCounts, Written, stored_counts, write_raw
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.rows import Longs, State, entries, hours_from, labels, list_files
from elsinore.ledger.table import Ledger
from elsinore.settings import Settings
from elsinore.store.task_failures import spark_failures
from elsinore.timeline import DAY, HOUR, Interval, hour_label, parse_hour
from elsinore.wording import some_of

#: Name of the step in the ledger.
STEP = "ingest"
#: Seconds for which a run ingests earlier hours. The next run ingests the others.
_EARLIER_SECONDS = 600


@dataclass(frozen=True)
class IngestedRun:
    """The result of the ingest of a run.

    Attributes:
        figures: Totals of the run's own hours: `hours`, `files`, `bytes`, `records`,
            `bad_records`, `accepted` (events of them), `repeated` (records of events that other
            records contain); `late_hours`, the number of ingested earlier hours; `changed_rows` of
            `events`; and the figures of `collect`.
        refused: Why earlier hours, by label, or files to collect, by name, were not ingested.
        refused_first: The hours among them of which no earlier run has recorded this reason.
        not_collected: The files among them.
    """

    figures: Mapping[str, int]
    refused: Mapping[str, str]
    refused_first: Mapping[str, str]
    not_collected: Mapping[str, str]


@dataclass
class _Run:
    """A run while it ingests."""

    tables: IngestTables
    ledger: Ledger
    settings: Settings
    own: Interval
    run: str
    counts: dict[str, HourCounts] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def ingest(self, parts: deque[Part]) -> None:
        """Write raw events part by part; a part with an unreadable earlier file is divided.

        Raises:
            DataError: of the run's own hours.
        """
        until = 0.0
        while parts and (parts[0].own or time.monotonic() < until):
            part = parts.popleft()
            try:
                written = self._write(part)
            except DataError as error:
                self._divide(part, parts, error)
                continue
            self.record_ingested(part, written)
            if part.own:
                until = time.monotonic() + _EARLIER_SECONDS

    def _write(self, part: Part) -> Written:
        """Write a part, without earlier hours that have no file.

        No run has recorded these, but one that was killed may have stored their records. If its
        files are gone, the records stay.
        """
        there = {file.landing for file in part.files}
        absent = [hour for hour in part.others if hour_label(hour) not in there]
        hours = [hour for hour in part.hours if hour not in absent]
        stored = stored_counts(self.tables, absent)
        if not hours:
            return Written(stored)
        share = self.settings.max_error_rate
        with spark_failures():  # such as a file that was removed since it was found
            written = write_raw(
                self.tables, part.files, hours, run=self.run, max_error_rate=share,
                optional=part.others,
            )  # fmt: skip
        return Written({**written.hours, **stored}, written.refused)

    def _divide(self, part: Part, parts: deque[Part], error: DataError) -> None:
        """Put smaller parts in place of one that failed, or refuse its only hour."""
        if not part.others:
            reasons = dict.fromkeys(map(hour_label, part.own), error.message)
            self.record_failed(reasons)
            raise error
        smaller = part.smaller()
        if len(smaller) == 1:
            self.refused[hour_label(part.others[0])] = error.message
        elif part.own:
            parts.appendleft(smaller[0])
            parts.append(smaller[1])
        else:
            parts.extend(smaller)

    def _rows(self, state: State, hours: Longs, columns: Mapping[str, Any]) -> pa.Table:
        stream = self.tables.stream.name
        return entries(
            self.ledger.schema, state, hours, stream=stream, step=STEP, run=self.run,
            columns=dict(columns),
        )  # fmt: skip

    def record_ingested(self, part: Part, written: Written) -> None:
        """Append the written hours to the ledger, with their files."""
        self.refused |= written.refused
        self.counts |= written.hours
        if not written.hours:
            return
        names = sorted(written.hours)
        hours = np.array(list(map(parse_hour, names)), np.int64)
        counts = [written.hours[name] for name in names]
        columns = {
            "raw_events_version": self.tables.store.version(RAW),
            "file_count": [one.files for one in counts],
            "bytes": [one.bytes for one in counts],
            "records": [one.records for one in counts],
            "bad_records": [one.rejected for one in counts],
            "first_event": [one.first_event for one in counts],
            "last_event": [one.last_event for one in counts],
            "files": list_files(hours, listing(part.files)),
        }
        self.ledger.append([self._rows(State.INGESTED, hours, columns)], run=self.run)

    def record_failed(self, reasons: Mapping[str, str]) -> None:
        """Append hours that could not be ingested, and why."""
        names = sorted(reasons)
        hours = np.array(list(map(parse_hour, names)), np.int64)
        columns = {"reason": [reasons[name] for name in names]}
        self.ledger.append([self._rows(State.FAILED, hours, columns)], run=self.run)

    def totals(self) -> Counter[str]:
        """Return the totals of the run's own hours."""
        own = [one for name, one in self.counts.items() if self.own.contains(parse_hour(name))]
        first, last = hour_label(self.own.start), hour_label(self.own.end - HOUR)
        accepted = self.tables.store.count(EVENTS, "file_hour", first, last)
        totals = Counter(
            hours=len(own), files=sum(one.files for one in own),
            bytes=sum(one.bytes for one in own), records=sum(one.records for one in own),
            bad_records=sum(one.rejected for one in own), accepted=accepted,
            late_hours=len(self.counts) - len(own),
        )  # fmt: skip
        totals["repeated"] = totals["records"] - totals["bad_records"] - accepted
        return totals


def ingest_run(
    tables: IngestTables, ledger: Ledger, settings: Settings, own: Interval, *, run: str,
    by_hand: bool = False,
) -> IngestedRun:  # fmt: skip
    """Ingest the hours of a run, and earlier ones that were missed or have new or changed files.

    The run's own hours come first. An earlier hour never fails the run: if it cannot be read, or
    too many of its records are bad, it stays as it was, and each run tries it again.

    Args:
        tables: The tables, which exist.
        ledger: The ledger, which exists.
        settings: The landing zone, and limits.
        own: The run's hours.
        run: Name of the run.
        by_hand: A user chose the hours, so that missed hours are left to other runs.

    Raises:
        DataError: the landing zone is missing, a file of the run's own hours cannot be read, too
            many of their records are bad, or their raw records were removed after their retention
            period.
        ConflictError: other writers won each time.
    """
    state = fold(ledger.read())
    looks = settings.late_arrival_days and not by_hand
    missed = missed_hours(state, own.start) if looks else np.array([], np.int64)
    days = settings.late_arrival_days + ceil((own.start - int(missed.min(initial=own.start))) / DAY)
    aside = settings.local / settings.stream / ASIDE
    collected = collect(settings.landing, tables.stream, own, days, aside)
    found = find_files(
        settings.landing, tables.stream.sources, state, own,
        late_arrival_days=settings.late_arrival_days, missed=missed,
    )  # fmt: skip
    found = _without_removed(tables, settings, state, found, own)
    this = _Run(tables, ledger, settings, own, run, refused=dict(found.refused))
    failed = state.failed_ingests.last
    again = set(failed.hours.tolist())
    this.ingest(deque(found.parts(settings.landing_bytes, again)))
    raw_version = refresh(tables, run=run).raw_version
    changed_rows = record_changed_hours(tables, ledger, state, raw_version, step=STEP, run=run)
    before = dict(zip(labels(failed.hours).to_pylist(), failed.rows["reason"].to_pylist(),
                      strict=True))  # fmt: skip
    first = {name: why for name, why in this.refused.items() if before.get(name) != why}
    this.record_failed(first)
    figures = {**collected.figures, **this.totals(), "changed_rows": changed_rows}
    return IngestedRun(figures, collected.refused | this.refused, first, collected.refused)


def _without_removed(
    tables: IngestTables, settings: Settings, state: Fold, found: Found, own: Interval
) -> Found:
    """Refuse hours whose raw records were removed, because other files could not replace them.

    Raises:
        DataError: of the run's own hours.
    """
    keep: Mapping[Any, int] = settings.retention_days
    days = {**keep, **tables.stream.retention_days}.get(RAW)
    if days is None:
        return found
    ingested = state[State.INGESTED]
    had = ingested.hours[(ingested.longs("records") > 0) & (ingested.hours < own.end - days * DAY)]
    asked = np.intersect1d(had, found.whole.hours)
    if not len(asked):
        return found
    stored = tables.store.read(RAW).where(of_file_hours(asked.tolist())).select("file_hour")
    gone = np.setdiff1d(asked, hours_from(stored.distinct().toArrow()["file_hour"]))
    if removed := [hour for hour in gone.tolist() if own.contains(hour)]:
        raise _were_removed(removed)
    refused = {hour_label(hour): _were_removed([hour]).message for hour in gone.tolist()}
    left = set(found.whole.hours).difference(gone.tolist())
    return Found(found.whole.of(left), found.refused | refused)


def _were_removed(hours: Collection[int]) -> DataError:
    return DataError(
        f"the raw records of {some_of(map(hour_label, hours))} were removed after their retention "
        "period",
        hint="published results stay; to ingest them again, remove raw_events from retention_days",
    )
