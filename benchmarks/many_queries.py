"""Fifty queries `SEQ(x, B+)` on one core, in bursts of 50 B and without bursts.

Each query has a start type x of its own. `bursts`: a start, then 50 B, in a tumbling window of its
own. `alternating`: start, B, start, B, ... in tumbling windows of 100 events, whose starts are
those of one query. Counts fit 64 bits, which bounds the events of a window; so the more queries
have trends in each window, the more of the work is writing rows: up to one for two events. The
figures are those of one query a window; beside them stands what it is when all 50 have trends in
all windows. Two more figures bound them: the kernel of the sweep alone, and a bare loop of 50
counters side by side, event by event.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import Way, auto, events_of, medians, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import make_entries
from elsinore.executors.input.weights import weigh_events
from elsinore.executors.linear.run import read_events, run_sweep
from elsinore.executors.linear.sweep import make_runs
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.linear.sweep_tables import lower_window
from elsinore.query.bound import Workload

QUERIES, LENGTH, WINDOWS, ROUNDS = 50, 50, 20_000, 5
STREAM = stream_of(["B", *(f"S{n}" for n in range(QUERIES))])

#: For each window the starts in it (numbers of types), and what the query counts whose first start
#: is the n-th of its window.
_Case = tuple[np.ndarray, Callable[[int], int]]


_SETTING = "50 queries SEQ(x, B+), each with its own start type; "


@benchmark(
    "bursts",
    "Many queries run fast on one core if events come in bursts",
    _SETTING + "a start, then a burst of 50 B, in its own tumbling window; counts fit 64 bits",
    "million events/s",
    at_least=100.0,
)
def bursts() -> Measured:
    """One start and 50 B a window; 50 starts and 50 B a window."""
    return _measured(
        {
            "one query per window": (_drawn(1), lambda n: 2**LENGTH - 1),
            "all queries in each window": (_each(), lambda n: 2**LENGTH - 1),
        },
        alternating=False,
    )


@benchmark(
    "alternating",
    "Many queries run fast on one core if event types alternate",
    _SETTING + "alternating starts and B, tumbling windows of 100 events; counts fit 64 bits",
    "million events/s",
    at_least=50.0,
)
def alternating() -> Measured:
    """50 starts of one query among 50 B a window; 50 starts of 50 queries."""
    return _measured(
        {
            # starts are followed by 50, 49, ... 1 B
            "one query per window": (np.repeat(_drawn(1), LENGTH, axis=1), lambda n: 2**51 - 52),
            "all queries in each window": (_each(), lambda n: 2 ** (LENGTH - n) - 1),
        },
        alternating=True,
    )


def _measured(cases: dict[str, _Case], *, alternating: bool) -> Measured:
    rows: list[dict[str, float | str]] = []
    for name, (starts, trends) in cases.items():
        events, within = _events(starts, alternating=alternating)
        queries = [f"PATTERN SEQ(S{n}, B+) WITHIN {within}" for n in range(QUERIES)]
        workload = workload_of(STREAM, queries)
        run = auto(workload, events)
        _check(run(), starts, within, trends)
        ways = {"call": run, "kernel": kernel_of(workload, events), "loop": loop_of(events, within)}
        seconds = medians(ways, ROUNDS)
        rows.append(
            {
                "case": name,
                "events": len(events),
                "rows": sum(np.unique(row).size for row in starts),
                "ms": seconds["call"] * 1e3,
                "million events/s": len(events) / seconds["call"] / 1e6,
                "kernel only": len(events) / seconds["kernel"] / 1e6,
                "bare loop": len(events) / seconds["loop"] / 1e6,
            }
        )
    return Measured(
        float(rows[0]["million events/s"]),
        "every row, by its closed form",
        tuple(rows),
        "CPU time of the whole call, from an event table to rows of text. Only compiled code is"
        " cached between calls.",
    )


def kernel_of(workload: Workload, events: EventTable) -> Way:
    """The sweep of events that lie ready as columns, without the rows' texts."""
    (found,) = sweep_sets(workload.queries)
    columns, window = EventColumns(events), workload.queries[0].window
    entries = make_entries(
        found.placements, {}, columns, found.queries[0].window
    )  # no query has a key
    lowered = lower_window(found, window, entries.classes)
    weights = weigh_events(lowered.tables.columns, columns, entries.rows, first=1)
    swept = read_events(lowered.classes, entries, weights)
    (runs,) = make_runs(entries, window, None, 1)
    return lambda: run_sweep(lowered.tables, swept, runs, window)


def loop_of(events: EventTable, within: int) -> Way:
    """50 counters side by side, event by event, over tumbling windows."""
    times, kinds = (np.asarray(events.table[name]) for name in ("_time", "_type"))
    counters = np.zeros((2, QUERIES), np.int64)
    _count(times, kinds, within, counters)  # compiles
    return lambda: _count(times, kinds, within, counters)


@njit
def _count(times, kinds, within, counters):  # type: ignore[no-untyped-def]
    starts, trends = counters[0], counters[1]
    end, rows = np.int64(0), 0
    for i in range(times.size):
        if times[i] >= end:
            for q in range(QUERIES):
                rows += trends[q] != 0
                starts[q] = trends[q] = 0
            end = times[i] // within * within + within
        if kinds[i] == 0:
            for q in range(QUERIES):
                trends[q] += trends[q] + starts[q]
        else:
            starts[kinds[i] - 1] += 1
    return rows


def _drawn(width: int) -> np.ndarray:
    dice = np.random.default_rng(1)
    return dice.integers(1, QUERIES + 1, (WINDOWS, width))


def _each() -> np.ndarray:
    return np.tile(np.arange(1, QUERIES + 1), (WINDOWS // 2, 1))


def _events(starts: np.ndarray, *, alternating: bool) -> tuple[EventTable, int]:
    """The stream, and the length of its windows."""
    size = starts.shape[1]
    within = size + LENGTH
    kinds = np.zeros((starts.shape[0], within), np.int32)
    if alternating:
        kinds[:, ::2] = starts
    else:
        kinds[:, :size] = starts
    return events_of(STREAM, kinds.ravel()), within


def _check(rows: pa.Table, starts: np.ndarray, within: int, trends: Callable[[int], int]) -> None:
    """One row for each window and each query that starts in it."""
    rows = rows.sort_by([("window_start", "ascending"), ("query", "ascending")])
    wanted = [
        (f"q{kind - 1}", window * within, str(trends(place)))
        for window, row in enumerate(starts.tolist())
        for kind, place in {kind: row.index(kind) for kind in row}.items()
    ]
    wanted.sort(key=lambda found: (found[1], found[0]))
    names, begins, counts = zip(*wanted, strict=True)
    assert rows.column("query").to_pylist() == list(names)
    assert rows.column("window_start").to_pylist() == list(begins)
    assert pc.list_flatten(rows.column("counts")).to_pylist() == list(counts)
