"""Aggregates events that come in the order of time, chunk by chunk: old events are let go.

A window is computed in the chunk of events that it ends in. What a chunk's windows can hold reaches
back by the longest WITHIN, so that is all of the past that is kept: memory is bounded by the live
windows, not by the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from elsinore.errors import EngineError
from elsinore.events import TIME_COLUMN
from elsinore.timeline import Interval

#: New events of a chunk, at least. Measured with a million events, in chunks of 3,000 to all: a
#: chunk costs a query 1 ms in the segments' kernels and 5 ms in greta's, beside the 40 and 170 ns
#: that each of its events costs; at this size that adds a tenth.
CHUNK_EVENTS = 300_000

#: Makes the rows of the windows that end in an interval (None: of all windows) from events.
Aggregate = Callable[[pa.Table, Interval | None], Iterator[pa.Table]]


def aggregate_in_order(
    batches: Iterable[pa.RecordBatch],
    reach: int,
    aggregate: Aggregate,
    *,
    owned: Interval | None = None,
    chunk_events: int = CHUNK_EVENTS,
) -> Iterator[pa.Table]:
    """The rows of all windows, each window in one chunk, from events in the order of time.

    A chunk is at least `reach` long, so that no event is worked on more than twice, and has at
    least `chunk_events` events that the one before did not have; the last is what is left. Held at
    a time are the events of one chunk, of the `reach` before it and of one batch. Where the windows
    are longer than what they are asked of, that is everything.

    Args:
        batches: events with the column `_time`, which never falls; batches may end between events
            of equal time.
        reach: the longest WITHIN of the queries, in the unit of `_time`.
        aggregate: is given the events of a chunk as a table with the columns of the batches.
        owned: only the windows that end in this interval; None for every window.
        chunk_events: see above; the rows do not depend on it.

    Raises:
        EngineError: time falls.
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
        # More events of the last time may follow: they are left for the next chunk.
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
    """The events of the present, in the order of time."""

    #: each with its times, int64; none is empty.
    batches: list[tuple[pa.RecordBatch, np.ndarray]] = field(default_factory=list)
    new: int = 0  #: how many events were added since the last cut

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
        """The events before an instant; None: all."""
        cuts = (
            batch if end is None else batch.slice(0, int(np.searchsorted(times, end)))
            for batch, times in self.batches
        )
        return pa.Table.from_batches(cuts, schema=self.batches[0][0].schema)

    def keep_from(self, instant: int) -> None:
        """Let go of the events before an instant."""
        cuts = [(*held, int(np.searchsorted(held[1], instant))) for held in self.batches]
        self.batches = [(b.slice(cut), times[cut:]) for b, times, cut in cuts if cut < times.size]
        self.new = 0
