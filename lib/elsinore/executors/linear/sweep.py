"""Run the queries of one sweep set over the events of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import in_digits
from elsinore.executors.input.entries import Entries, key_codes, latest_entries
from elsinore.executors.input.weights import weigh_events
from elsinore.executors.linear.kernels.sweep_program import Events
from elsinore.executors.linear.panes import cheaper_by_panes, run_panes
from elsinore.executors.linear.run import Swept, joined, read_events, run_sweep, run_wide
from elsinore.executors.linear.sweep_sets import Place, SweepSet
from elsinore.executors.linear.sweep_tables import Lowered, lower_window
from elsinore.executors.output.digits import restored
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.timeline import Interval
from elsinore.windows import Window


def aggregate_sweep(
    sweep_set: SweepSet,
    events: EventTable | EventColumns,
    *,
    owned: Interval | None = None,
    threads: int = 1,
    panes: bool | None = None,
) -> list[PartialRows]:
    """Return partial rows of swept queries for the events of a table.

    Args:
        sweep_set: queries that are partitioned alike.
        events: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.
        threads: maximum number of threads. A single partition can be divided among them.
        panes: whether to compute overlapping windows of COUNT(*) as products of panes; None if this
            is predicted to cost less.
    """
    columns, asked = EventColumns.of(events), sweep_set.queries
    sweep_set = sweep_set.running([in_digits(query, columns) for query in asked])
    query = asked[0]
    codes = key_codes(query, columns)
    entries = latest_entries(sweep_set.placements, codes, columns, query.window)
    groups, found = Groups.of(entries.group_texts(query, codes)), list[PartialRows]()
    for window in dict.fromkeys(query.window for query in sweep_set.queries):
        lowered = lower_window(sweep_set, window, entries.classes)
        weights = weigh_events(lowered.tables.columns, columns, entries.rows, first=1)
        parts = make_runs(entries, window, owned, threads)
        swept_events = read_events(lowered.classes, entries, weights)
        queries = [member.query for member in lowered.members]
        bound = RowBound(queries)
        swept = _sweep_parts(lowered, swept_events, parts, window, panes, bound)
        rows = _with_wide(swept, lowered, swept_events, window, bound)
        found += partial_rows(rows, [Reading(q, groups, weights.meanings(q)) for q in queries])
    return restored(found, asked)


def _with_wide(
    swept: Iterable[Swept], lowered: Lowered, events: Events, window: Window, bound: RowBound
) -> Iterator[WindowRows]:
    """Yield the rows of sweeps, and of the windows that do not fit 64 bits."""
    for part in swept:
        yield part.rows
        yield from bound.counted(run_wide(lowered, events, part.outgrown, window))


# ---- parts of a stream, swept in parallel


def make_runs(
    entries: Entries[Place], window: Window, owned: Interval | None, parts: int
) -> list[np.ndarray]:
    """Divide the windows of all partitions into about `parts` parts with equally many entries.

    A partition that is larger than a part is cut between windows.

    Args:
        entries: the events by partition and time.
        window: the window clause.
        owned: only windows that end in this interval; None for every window.
        parts: number of parts.

    Returns:
        int64[*, 5] per part, see `executors.linear.kernels.sweep_program.WindowRun`.
    """
    first, last = window.owned(owned)
    offsets = entries.offsets
    filled = np.flatnonzero(np.diff(offsets))
    runs = np.empty((filled.size, 5), np.int64)
    runs[:, 0], runs[:, 1] = offsets[filled], offsets[filled + 1]
    runs[:, 2], runs[:, 3], runs[:, 4] = filled, first, last
    total = int(offsets[-1])
    if parts < 2 or not total:
        return [runs] if filled.size else []
    borders = [total * n // parts for n in range(1, parts)]
    cut = _cut(runs, entries.times, window, borders)
    place = (cut[:, 0] + cut[:, 1]) // 2 * parts // total
    return [cut[place == n] for n in range(parts) if (place == n).any()]


def _cut(runs: np.ndarray, times: np.ndarray, window: Window, borders: list[int]) -> np.ndarray:
    """Cut runs of windows at the first window that starts after the entry of each border."""
    found = []
    for border in borders:
        inside = np.flatnonzero((runs[:, 0] < border) & (border < runs[:, 1]))
        for n in inside:
            low, high, partition, first, last = runs[n].tolist()
            number = int(times[border]) // window.slide + 1
            if not first < number <= last:
                continue
            start = low + int(np.searchsorted(times[low:high], number * window.slide))
            end = low + int(
                np.searchsorted(times[low:high], (number - 1) * window.slide + window.within)
            )
            found.append([low, max(end, low), partition, first, number - 1])
            runs[n, 0], runs[n, 3] = start, number
    if not found:
        return runs
    parts = np.concatenate([runs, np.array(found, np.int64)])
    return parts[parts[:, 0] < parts[:, 1]]


def _sweep_parts(
    lowered: Lowered,
    events: Events,
    parts: Sequence[np.ndarray],
    window: Window,
    panes: bool | None,
    bound: RowBound,
) -> Iterator[Swept]:
    """Sweep the parts of a stream in threads, each part by the cheaper of the two methods."""

    def run(runs: np.ndarray) -> Swept:
        if not cheaper_by_panes(lowered.members, window, runs, events.times, panes):
            return run_sweep(lowered.tables, events, runs, window, bound=bound)
        found = run_panes(lowered, events, runs, window, bound)
        if not found.outgrown.size:
            return found
        # The bound of a product is loose: the window may still fit 64 bits.
        again = run_sweep(lowered.tables, events, found.outgrown, window)
        return Swept(joined([found, again]).rows, again.outgrown)

    if len(parts) == 1:
        yield run(parts[0])
    elif parts:
        with ThreadPoolExecutor(len(parts)) as pool:
            yield from pool.map(run, parts)
