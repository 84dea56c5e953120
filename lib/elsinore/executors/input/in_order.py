"""Aggregate events that arrive in time order, chunk by chunk, and drop old events.

A window is computed in the chunk in which it ends. The windows of a chunk reach back by at most the
longest WITHIN, so only this part of the past is kept. The open windows bound the memory, not the
input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from elsinore.errors import EngineError
from elsinore.events import TIME_COLUMN
from elsinore.timeline import Interval

#: Minimum number of new events per chunk. Measured with a million events, in chunks of 3,000 to
#: all: per query, a chunk costs 1 ms with segments and 5 ms with greta, in addition to 40 and 170
#: ns per event. At this size, chunks add a tenth to the time.
CHUNK_EVENTS = 300_000

#: Rows of windows, in any format.
Rows = TypeVar("Rows")

#: Computes the rows of the windows that end in an interval (None: all windows) from events.
Aggregate = Callable[[pa.Table, Interval | None], Iterator[Rows]]


def aggregate_in_order(
    batches: Iterable[pa.RecordBatch],
    reach: int,
    aggregate: Aggregate[Rows],
    *,
    owned: Interval | None = None,
    chunk_events: int = CHUNK_EVENTS,
) -> Iterator[Rows]:
    """Yield the rows of all windows, each from one chunk, for events in time order.

    A chunk spans at least `reach`, so each event is processed at most twice. It has at least
    `chunk_events` new events, except for the last chunk. Memory holds the events of one chunk, of
    the `reach` before it, and of one batch. If the windows are longer than the input, these are all
    events.

    Args:
        batches: events with the column `_time`, which never decreases; events of equal time may be
            in several batches.
        reach: the longest WITHIN of the queries, in the unit of `_time`.
        aggregate: called with the events of a chunk, as a table with the columns of the batches.
        owned: compute only windows that end in this interval; None for every window.
        chunk_events: minimum number of new events per chunk; it does not affect the rows.

    Yields:
        What `aggregate` yields.

    Raises:
        EngineError: the times decrease.
    """
    held = _Held()
    begun: int | None = None
    cut = False
    for batch in batches:
        if not batch.num_rows:
            continue
        held.add(batch)
        if begun is None:  # windows that end before the first event hold none
            begun = held.first if owned is None else max(held.first, owned.start)
        # More events with the last time may follow, so events of this time go to the next chunk.
        border = held.last if owned is None else min(held.last, owned.end)
        if border - begun >= reach and held.new >= chunk_events:
            yield from aggregate(held.table(border), Interval(begun, border))
            held.keep_from(border - reach + 1)
            begun, cut = border, True
    if begun is None:
        return
    if owned is None and not cut:
        yield from aggregate(held.table(None), None)
        return
    end = held.last + reach if owned is None else owned.end
    if begun < end:
        yield from aggregate(held.table(end), Interval(begun, end))


@dataclass
class _Held:
    """The events that open windows need, in time order."""

    #: batches with their times, int64[*]; none is empty.
    batches: list[tuple[pa.RecordBatch, np.ndarray]] = field(default_factory=list)
    new: int = 0  #: number of events added since the last cut

    @property
    def first(self) -> int:
        return int(self.batches[0][1][0])

    @property
    def last(self) -> int:
        return int(self.batches[-1][1][-1])

    def add(self, batch: pa.RecordBatch) -> None:
        times = np.asarray(batch[TIME_COLUMN])
        if bool((times[1:] < times[:-1]).any()) or (self.batches and times[0] < self.last):
            raise EngineError("events are not in the order of time")
        self.batches.append((batch, times))
        self.new += times.size

    def table(self, end: int | None) -> pa.Table:
        """Return the events before a timestamp; None: all."""
        cuts = (
            batch if end is None else batch.slice(0, int(np.searchsorted(times, end)))
            for batch, times in self.batches
        )
        return pa.Table.from_batches(cuts, schema=self.batches[0][0].schema)

    def keep_from(self, instant: int) -> None:
        """Drop the events before a timestamp."""
        cuts = [(*held, int(np.searchsorted(held[1], instant))) for held in self.batches]
        self.batches = [(b.slice(cut), times[cut:]) for b, times, cut in cuts if cut < times.size]
        self.new = 0
