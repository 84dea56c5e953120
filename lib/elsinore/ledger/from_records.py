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

from elsinore.ledger.inputs import ERASING
from elsinore.ledger.rows import OF_STREAM, Flags, Longs, State, entries, hours_from, longs
from elsinore.settings import LakePath
from elsinore.store.delta_log import changed_partitions, commits, read_rows
from elsinore.store.regions import interval_of
from elsinore.store.tables import TableSchema
from elsinore.timeline import DAY, HOUR, Interval, hour_label, hours_of, parse_hour

#: Names in a listing that are not files: the ingest, or an erasure, has not ended.
_UNDER_WAY, _ERASING = _MARKS = ("", "/")

#: The table of published results.
_RESULTS = "trend_aggregates"

#: Steps in `run_metrics` whose runs were asked for results of their hours.
_ASKED = ("land", "tried", "missed")

#: The latest time of modification, in 2262: producers can set any time.
_LATEST = 2**63 - 1

#: The steps that reached the states. Only failures of aggregation were recorded.
_STEPS = {
    State.PLANNED: "ingest", State.INGESTED: "ingest", State.REFRESHED: "refresh",
    State.REMOVED: "maintain", State.AGGREGATED: "aggregate", State.VALIDATED: "validate",
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

        They contain versions of the old tables.

        Raises:
            DataError: a table is missing or damaged.
        """
        landings = read_rows(self.lake, "landings")
        publications = read_rows(self.lake, "publications")
        ingested = self._ingested(landings)
        known = np.union1d(hours_from(landings["landing"]), hours_from(publications["owned_hour"]))
        return [
            pa.concat_tables([ingested, self._refreshed(known)]),
            self._erasing(landings, ingested),
            self._removed(landings),
            pa.concat_tables([self._planned(publications), *self._published(publications)]),
            self._failed(publications),
        ]

    def unsettled(self) -> set[int]:
        """Return the published hours whose results changed after their publication was recorded.

        A run that was killed between its two commits leaves such hours, and so does a change by
        hand. Each commit of a run notes the digests of its hours.

        Raises:
            DataError: a table is missing or damaged.
        """
        publications = read_rows(self.lake, "publications")
        names = ("owned_hour", "published_version", "digest")
        published = {
            hour: own for hour, *own in zip(*(publications[n].to_pylist() for n in names),
                                            strict=True)
        }  # fmt: skip
        if not published:
            return set()
        first = min(version for version, _ in published.values())
        last: dict[str, tuple[int, str]] = {}
        for commit in commits(self.lake / _RESULTS, after=first - 1):
            digests = commit.note.get("digests", {})
            if commit.changes_rows and not commit.note:
                days = changed_partitions(self.lake / _RESULTS, commit.version, "owned_day") or ()
                digests = {hour: "" for hour in published if hour[:10] in days}
            for hour, digest in digests.items():
                last.setdefault(hour, (commit.version, digest))
        return {
            parse_hour(hour) for hour, (version, digest) in published.items()
            if hour in last and last[hour][0] >= version and last[hour][1] != digest
        }  # fmt: skip

    def _entries(self, state: State, hours: Longs, columns: dict[str, Any]) -> pa.Table:
        is_own = state not in OF_STREAM
        own = {"stream": self.stream, "step": _STEPS[state], "run": self.run}
        workload = self.workload if is_own else ""
        return entries(self.schema, state, hours, **own, workload=workload, columns=columns)

    def _ingested(self, landings: pa.Table) -> pa.Table:
        listings = [
            None if text is None else json.loads(text) for text in landings["listing"].to_pylist()
        ]
        ended: Flags = np.array([_UNDER_WAY not in (one or {}) for one in listings], np.bool_)
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
            State.INGESTED, hours_from(rows["landing"]), {**columns, "files": files}
        )

    def _erasing(self, landings: pa.Table, ingested: pa.Table) -> pa.Table:
        """Return the ingested hours whose files an interrupted erasure may have rewritten."""
        marked = [
            label for label, text in zip(*(landings[name].to_pylist() for name in
                                           ("landing", "listing")), strict=True)
            if text is not None and _ERASING in json.loads(text)
        ]  # fmt: skip
        rows = ingested.filter(pc.is_in(ingested["hour"], pa.array(marked, pa.string())))
        columns = {
            name: rows[name] for name in rows.column_names
            if name not in ("stream", "workload", "hour", "state", "step", "run")
        }  # fmt: skip
        columns |= {"files": None, "reason": ERASING}
        return self._entries(State.INGESTED, hours_from(rows["hour"]), columns)

    def _planned(self, publications: pa.Table) -> pa.Table:
        """Return the hours that runs were asked for and that are not published."""
        where = pc.field("step").isin(_ASKED)
        keys = read_rows(self.lake, "run_metrics", columns=["run_key"], where=where)["run_key"]
        asked = {hour for key in keys.unique().to_pylist() for hour in hours_of(interval_of(key))}
        asked -= set(hours_from(publications["owned_hour"]).tolist())
        return self._entries(State.PLANNED, np.array(sorted(asked), np.int64), {})

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

    def _published(self, publications: pa.Table) -> list[pa.Table]:
        """Return published hours, which also count as aggregated and validated."""
        names = {
            "events_version": "events_version", "results_version": "published_version",
            "plan_fingerprint": "plan_fingerprint", "workload_fingerprint": "workload_fingerprint",
            "rows": "rows", "checked_rows": "validated", "run": "run",
        }  # fmt: skip
        hours = hours_from(publications["owned_hour"])
        columns: dict[str, Any] = {name: publications[old] for name, old in names.items()}
        texts = [None] * len(publications)
        if "awaited" in publications.column_names:
            texts = publications["awaited"].to_pylist()
        missing = [_hours_in(json.loads(text or "[]")) for text in texts]
        own = {"missing_inputs": missing, "digest": publications["digest"]}
        return [
            *(self._entries(one, hours, columns) for one in (State.AGGREGATED, State.VALIDATED)),
            self._entries(State.PUBLISHED, hours, {**columns, **own}),
        ]

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
                hours_from(publications["owned_hour"]).tolist(),
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
