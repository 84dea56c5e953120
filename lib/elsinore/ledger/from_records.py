"""Rows of the ledger from the tables of release 0.2: what they record about each hour."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.lake.delta_log import changed_partitions, commits, read_rows
from elsinore.lake.regions import interval_of
from elsinore.lake.tables import TableSchema
from elsinore.ledger.rows import Flags, Longs, State, entries, hours_from, longs
from elsinore.settings import LakePath
from elsinore.timeline import DAY, HOUR, Interval, hour_label, hours_of, parse_hour

#: Names in a listing that are not files: the ingest, or an erasure, has not ended.
_MARKS = ("", "/")

#: The latest time of modification, in 2262: producers can set any time.
_LATEST = 2**63 - 1

#: The steps that reached the states. Only failures of aggregation were recorded.
_STEPS = {
    State.INGESTED: "ingest", State.REFRESHED: "refresh", State.REMOVED: "maintain",
    State.PUBLISHED: "publish", State.FAILED: "aggregate",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Records:
    """The tables of release 0.2 of a stream and of one workload.

    Attributes:
        lake: the directory of the tables.
        schema: the declaration of the ledger.
        stream: name of the stream.
        workload: name of the workload.
        fingerprint: fingerprint of the workload, to find its failures.
        run: id of the run that reads them.
    """

    lake: LakePath
    schema: TableSchema
    stream: str
    workload: str
    fingerprint: str
    run: str = "migrate"

    def commits(self) -> list[pa.Table]:
        """Return rows of the ledger, a table per commit, to be appended in this order.

        Raises:
            DataError: a table is missing or damaged.
        """
        landings = read_rows(self.lake, "landings")
        publications = read_rows(self.lake, "publications")
        ingested = self._ingested(landings)
        known = np.union1d(
            hours_from(landings["file_hour"]), hours_from(publications["window_end_hour"])
        )
        return [
            pa.concat_tables([ingested, self._refreshed(known)]),
            self._removed(landings),
            self._published(publications),
            self._failed(publications),
        ]

    def _entries(self, state: State, hours: Longs, columns: dict[str, Any]) -> pa.Table:
        is_own = state in (State.PUBLISHED, State.FAILED)
        own = {"stream": self.stream, "step": _STEPS[state], "run": self.run}
        workload = self.workload if is_own else ""
        return entries(self.schema, state, hours, **own, workload=workload, columns=columns)

    def _ingested(self, landings: pa.Table) -> pa.Table:
        listings = [
            None if text is None else json.loads(text) for text in landings["listing"].to_pylist()
        ]
        ended: Flags = np.array([_MARKS[0] not in (one or {}) for one in listings], np.bool_)
        files = [
            None if one is None else [
                {"name": name, "size": state[0], "modified": min(state[1], _LATEST)}
                for name, state in one.items() if name not in _MARKS
            ]
            for one, is_over in zip(listings, ended, strict=True) if is_over
        ]  # fmt: skip
        rows = landings.filter(pa.array(ended))
        names = {
            "file_count": "files", "bytes": "bytes", "records": "lines",
            "bad_records": "quarantined", "first_event": "first_event", "last_event": "last_event",
        }  # fmt: skip
        columns = {name: rows[old] for name, old in names.items()}
        return self._entries(
            State.INGESTED, hours_from(rows["file_hour"]), {**columns, "files": files}
        )

    def _refreshed(self, known: Longs) -> pa.Table:
        """Return the last version of `events` that changed each hour.

        A commit without a note changed the days of its files. If these are unknown, too, it can
        have changed every known hour.
        """
        last: dict[int, int] = {}
        for commit in commits(self.lake / "events"):
            if not commit.changes_rows:
                continue
            hours: Iterable[int] = map(parse_hour, commit.note.get("touched", ()))
            if "touched" not in commit.note:
                days = changed_partitions(self.lake / "events", commit.version, "event_day")
                hours = known.tolist() if days is None else _hours_of_days(days)
            for hour in hours:
                last.setdefault(hour, commit.version)
        hours_of_events = np.array(list(last), np.int64)
        versions = np.array(list(last.values()), np.int64)
        return self._entries(State.REFRESHED, hours_of_events, {"events_version": versions})

    def _removed(self, landings: pa.Table) -> pa.Table:
        removed: set[int] = set()
        if "kept_from" in landings.column_names:
            rows = landings.filter(pc.is_valid(landings["kept_from"]))
            names = ("first_event", "last_event", "kept_from")
            for first, last, kept in zip(*(longs(rows[name]) for name in names), strict=True):
                if first < min(last + 1, kept):
                    removed |= {*hours_of(Interval(int(first), int(min(last + 1, kept))))}
        return self._entries(State.REMOVED, np.array(sorted(removed), np.int64), {})

    def _published(self, publications: pa.Table) -> pa.Table:
        names = {
            "events_version": "events_version", "results_version": "published_version",
            "plan_fingerprint": "plan_fingerprint", "workload_fingerprint": "workload_fingerprint",
            "rows": "rows", "checked_rows": "validated", "digest": "digest",
        }  # fmt: skip
        columns: dict[str, Any] = {name: publications[old] for name, old in names.items()}
        texts = [None] * len(publications)
        if "awaited" in publications.column_names:
            texts = publications["awaited"].to_pylist()
        columns["missing_inputs"] = [_hours_in(json.loads(text or "[]")) for text in texts]
        return self._entries(State.PUBLISHED, hours_from(publications["window_end_hour"]), columns)

    def _failed(self, publications: pa.Table) -> pa.Table:
        """Return the failures of hours that were not published afterwards."""
        where = (pc.field("step") == "failed") & (
            pc.field("workload_fingerprint") == self.fingerprint
        )
        metrics: dict[str, dict[str, float]] = defaultdict(dict)
        for row in read_rows(self.lake, "run_metrics", where=where).to_pylist():
            metrics[row["run_key"]][row["metric"]] = row["value"]
        done = dict(
            zip(
                hours_from(publications["window_end_hour"]).tolist(),
                longs(publications["published_at"]).tolist(),
                strict=True,
            )
        )
        last: dict[int, int] = {}
        for key, one in sorted(metrics.items(), key=lambda each: each[1]["time"]):
            for hour in hours_of(interval_of(key)):
                if done.get(hour, -1) < one["time"] * 1000:
                    last[hour] = int(one["events_version"])
        columns = {"events_version": list(last.values())}
        return self._entries(State.FAILED, np.array(list(last), np.int64), columns)


def _hours_of_days(days: Iterable[str]) -> Iterable[int]:
    for day in days:
        start = parse_hour(f"{day}T00")
        yield from range(start, start + DAY, HOUR)


def _hours_in(ranges: Iterable[tuple[str, str]]) -> list[str]:
    """Return the stored hours of ranges of stored hours."""
    parts = (Interval(parse_hour(start), parse_hour(end)) for start, end in ranges)
    return [hour_label(hour) for part in parts for hour in hours_of(part)]


def as_appended(commits_of: Iterable[pa.Table], schema: TableSchema) -> pa.Table:
    """Return rows as `Ledger.append` would store them, without a ledger.

    Their versions count from 1, and their time is 1970.
    """
    parts = []
    for version, rows in enumerate(commits_of, start=1):
        for name, value in (("version", version), ("time", 0)):
            one = pa.scalar(value, pa.int64()).cast(schema.columns[name].arrow())
            rows = rows.append_column(name, pa.repeat(one, len(rows)))
        parts.append(rows.select(schema.arrow().names).cast(schema.arrow()))
    return pa.concat_tables(parts)
