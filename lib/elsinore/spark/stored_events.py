"""Events of a Delta table, counted and looked at without Spark: what a plan is found from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa

from elsinore.errors import DataError
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.observe import count_events, event_types
from elsinore.sharing.statistics import Statistics
from elsinore.spark.aggregate_branches import attributes_read
from elsinore.spark.aggregate_worker import event_table
from elsinore.spark.event_files import EventFile, files_of
from elsinore.spark.files_in_order import events_in_order
from elsinore.timeline import Interval

#: Events that a profile is measured from, at most: some 2 s for the workload of flights. They are
#: the last ones, all of a stretch of time: bursts and pairs need the neighbours of an event, and
#: what is to come is most like what was last.
PROFILED = 100_000


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """The events of an interval that the queries of a workload name, in a table at a version.

    Attributes:
        workload: the queries.
        interval: the interval.
        files: where its events are.
    """

    workload: Workload
    interval: Interval
    files: tuple[EventFile, ...]

    @classmethod
    def of(
        cls,
        table: Path,
        workload: Workload,
        interval: Interval | None = None,
        *,
        version: int | None = None,
    ) -> Self:
        """The events of a table laid out like `events`.

        Args:
            table: its folder.
            workload: the queries.
            interval: which events; None: all.
            version: None: the latest.

        Raises:
            DataError: its files cannot be read without Spark, or it holds no events at all.
        """
        found = files_of(table, version, interval)
        if found.refusal is not None:
            raise DataError(
                f"the files of {table} cannot be read without Spark: {found.refusal}",
                hint="turn these features of the table off and have its files written anew",
            )
        if interval is None:
            if not found.files:
                raise DataError(f"{table} holds no events")
            ends = (max(file.last for file in found.files) + 1,)
            interval = Interval(min(file.first for file in found.files), *ends)
        return cls(workload, interval, found.files)

    def statistics(self) -> Statistics:
        """Counts of all events; in memory are the files whose times overlap, and distinct keys."""
        keys = sorted({name for names in partition_keys(self.workload) for name in names})
        return count_events(self.workload, self.interval, self._batches(self.interval, keys))

    def last(self, number: int = PROFILED) -> tuple[EventTable, Interval]:
        """All events of the last stretch of the interval that holds at most so many."""
        stretch = Interval(self._start_of_last(number), self.interval.end)
        queries = self.workload.queries
        read = sorted(frozenset().union(*(attributes_read(query) for query in queries)))
        batches = [*self._batches(stretch, read)] or [pa.table({})]
        events = pa.concat_tables(batches, promote_options="permissive")
        return event_table(self.workload.schema, events), stretch

    def _start_of_last(self, number: int) -> int:
        kept: deque[np.ndarray] = deque()
        size = 0
        for batch in self._batches(self.interval, ()):
            kept.append(np.asarray(batch[TIME_COLUMN]))
            size += kept[-1].size
            while size - kept[0].size > number:
                size -= kept.popleft().size
        if size <= number:
            return self.interval.start
        return int(np.concatenate(kept)[-number - 1]) + 1

    def _batches(self, interval: Interval, attributes: Sequence[str]) -> Iterator[pa.Table]:
        files = [f for f in self.files if f.first < interval.end and f.last >= interval.start]
        schema, types = self.workload.schema, event_types(self.workload)
        for batch in events_in_order(files, interval, schema, types, attributes):
            yield pa.Table.from_batches([batch])
