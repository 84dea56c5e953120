"""The files of ingested hours in the ledger, while an erasure rewrites some of them.

Before a file is rewritten, its hour gets a row without files, so that no run takes the file for
changed. Afterwards the hour gets a row with its files as they are then. If the erasure is killed in
between, runs refuse the hour (`ledger.inputs.interrupted`) until the erasure is repeated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.ingest.landing_zone import LandingFile
from elsinore.ingest.tables import EVENTS, RAW, RAW_FROM, IngestTables
from elsinore.ingest.write_raw import stored_counts
from elsinore.ledger.fold import Fold, LastRows, fold, is_in
from elsinore.ledger.inputs import ERASING, interrupted
from elsinore.ledger.rows import Longs, State, entries
from elsinore.ledger.table import Ledger
from elsinore.timeline import hour_label

#: Name of the step in the ledger.
STEP = "forget"

#: Columns of ingested hours.
_COLUMNS = (
    "raw_events_version", "file_count", "bytes", "records", "bad_records", "first_event",
    "last_event", "files",
)  # fmt: skip

#: A raw file: its name, size in bytes and modification time in ns.
FileState = tuple[str, int, int]


@dataclass(frozen=True)
class RecordedFiles:
    """The files of hours in the ledger.

    Attributes:
        ledger: The ledger.
        stream: Name of the stream.
        run: Name of the run.
        state: The state of the hours before the erasure.
        listed: The last row of each ingested hour that names its files.
        broken: Hours that a killed erasure left without files.
    """

    ledger: Ledger
    stream: str
    run: str
    state: Fold
    listed: LastRows
    broken: Longs

    @classmethod
    def read(cls, ledger: Ledger, stream: str, run: str) -> RecordedFiles:
        """Return the files of all hours."""
        rows = ledger.read()
        state = fold(rows)
        has_files = pc.and_(pc.equal(rows["state"].cast(pa.string()), str(State.INGESTED)),
                            pc.is_valid(rows["files"]))  # fmt: skip
        listed = fold(rows.filter(has_files))[State.INGESTED]
        return cls(ledger, stream, run, state, listed, interrupted(state))

    def begin(self, hours: Collection[int]) -> None:
        """Append rows without files of the ingested hours among some hours."""
        self._append(self._ingested(hours), {"files": None, "reason": ERASING})

    def end(
        self, tables: IngestTables, hours: Collection[int],
        rewritten: Mapping[FileState, LandingFile], zone: Mapping[str, LandingFile],
    ) -> None:  # fmt: skip
        """Append rows with current files and counts of some hours, and of interrupted ones.

        Args:
            tables: The tables.
            hours: The hours that were rewritten.
            rewritten: By the former state of a file, the file as it is now.
            zone: All files by name, as they were before.
        """
        rows = self._ingested({*hours, *self.broken.tolist()})
        if not len(rows.hours):
            return
        files = self._files(rows.hours, rewritten, zone)
        columns: dict[str, Any] = {"files": files}
        columns["bytes"] = [
            before if of_hour is None else sum(file["size"] for file in of_hour)
            for of_hour, before in zip(files, rows.rows["bytes"].to_pylist(), strict=True)
        ]
        self._append(rows, columns | self._counts(tables, rows))

    def _counts(self, tables: IngestTables, rows: LastRows) -> dict[str, list[Any]]:
        """Return the counts of hours, unchanged for hours whose raw records were removed."""
        border = tables.store.properties(EVENTS).get(RAW_FROM, "")
        stored = stored_counts(tables, [h for h in rows.hours.tolist() if hour_label(h) >= border])
        version = tables.store.version(RAW)
        names = ("raw_events_version", "records", "bad_records", "first_event", "last_event")
        before = rows.rows.select(names).to_pylist()
        found = []
        for hour, old in zip(rows.hours.tolist(), before, strict=True):
            now = stored.get(hour_label(hour))
            found.append(old if now is None else {
                "raw_events_version": version, "records": now.records,
                "bad_records": now.rejected, "first_event": now.first_event,
                "last_event": now.last_event,
            })  # fmt: skip
        return {name: [row[name] for row in found] for name in names}

    def _files(
        self,
        hours: Longs,
        rewritten: Mapping[FileState, LandingFile],
        zone: Mapping[str, LandingFile],
    ) -> list[list[dict[str, Any]] | None]:
        """Return the files of each hour as they are now.

        A killed erasure may have rewritten any file of its hours. Rewritten files keep their time.
        """
        broken = set(self.broken.tolist())
        lists = dict(
            zip(self.listed.hours.tolist(), self.listed.rows["files"].to_pylist(), strict=True)
        )
        found = list[list[dict[str, Any]] | None]()
        for hour in hours.tolist():
            of_hour = lists.get(hour)
            for file in of_hour or ():
                known = (file["name"], file["size"], file["modified"])
                there = zone.get(file["name"])
                if hour in broken and there is not None and there.changed == file["modified"]:
                    known = (there.name, there.size, there.changed)
                    file["size"] = there.size
                if now := rewritten.get(known):
                    file |= {"size": now.size, "modified": now.changed}
            found.append(of_hour)
        return found

    def _ingested(self, hours: Collection[int]) -> LastRows:
        ingested = self.state[State.INGESTED]
        return ingested.where(np.isin(ingested.hours, np.array(sorted(hours), np.int64)))

    def _append(self, rows: LastRows, changed: Mapping[str, Any]) -> None:
        """Append rows of ingested hours. Hours whose events were removed stay removed."""
        own = {"stream": self.stream, "step": STEP, "run": self.run}
        columns = {name: rows.rows[name] for name in _COLUMNS} | dict(changed)
        tables = [
            entries(self.ledger.schema, State.INGESTED, rows.hours, columns=columns, **own)
        ]  # fmt: skip
        removed, ingested = self.state[State.REMOVED], self.state[State.INGESTED]
        is_gone = is_in(rows.hours, removed.hours)
        is_gone &= removed.order > ingested.order_of(removed.hours)
        gone = removed.where(is_gone)
        if len(gone.hours):
            again = {"rows": gone.rows["rows"]}
            tables.append(
                entries(self.ledger.schema, State.REMOVED, gone.hours, columns=again, **own)
            )
        self.ledger.append(tables, run=self.run)
