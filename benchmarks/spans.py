"""Queries with a span: speed by the number of events per span, sharing, large counts, and SuSe.

Times are numbers of events, so a span of n - 1 contains n events. Ratios are of one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import (
    auto,
    batch_runner,
    events_of,
    medians,
    peak_megabytes,
    stream_of,
    workload_of,
)
from elsinore.events import EventTable
from elsinore.executors.input.in_order import aggregate_in_order
from elsinore.executors.plan import compile_plan
from elsinore.library.results import answer
from elsinore.sharing.observe import observe

SIZES = (10, 100, 1_000, 10_000, 100_000)
EVENTS, ROUNDS, SHARING = 2_000_000, 3, 50
STREAM = stream_of(["A", "B", "N"], "v")
SUSE = stream_of("ABCDEFG")
#: Ticks are half milliseconds.
SECOND, HOUR, HOURS = 2_000, 3600 * 2_000, (16, 32)
SUSE_EVENTS, SUSE_SPANS = 100_000, (49, 99, 499)


def _sparse(size: int, events: int = EVENTS) -> EventTable:
    """Events of which four in a span are A and B, so that counts are below 64 bits."""
    dice = np.random.default_rng(size)
    matched = dice.random(events) < min(4 / size, 0.4)
    return events_of(
        STREAM,
        np.where(matched, dice.integers(0, 2, events), 2),
        v=dice.integers(0, 10**6, events),
    )


@benchmark(
    "span-speed",
    "A span costs the same, whatever the number of its events",
    f"SEQ(A, B), COUNT(*), {EVENTS:,} events, 10 to 100,000 events per span, one core, auto",
    "million events per second",
    at_least=60,
)
def speed() -> Measured:
    """The slowest span; the target for the fastest by the slowest is 1.3."""
    rows: list[dict[str, float | str]] = []
    kinds = np.random.default_rng(1).integers(0, 2, EVENTS)
    events = events_of(STREAM, kinds, v=kinds)
    for size in SIZES:
        text = f"PATTERN SEQ(A, B) SPAN {size - 1} PER {EVENTS}"
        assert _total(text, events) == int(_starts_before(size, events).sum())
        way = auto(workload_of(STREAM, [text]), events)
        way()
        seconds = medians({"span": way}, ROUNDS)["span"]
        rows.append({"events per span": size, "million events/s": EVENTS / seconds / 1e6})
    speeds = [float(row["million events/s"]) for row in rows]
    return Measured(
        min(speeds),
        "the number of matches, by the number of A before each B",
        tuple(rows),
        f"The fastest span is {max(speeds) / min(speeds):.2f} times as fast as the slowest; the"
        " target is 1.3. Every event is in a match.",
    )


def _total(text: str, events: EventTable) -> int:
    """The sum of COUNT(*) over all rows."""
    rows = answer(workload_of(STREAM, [text]), events)
    return sum(int(str(value)) for row in rows for _, value in row.values)


def _starts_before(size: int, events: EventTable) -> np.ndarray:
    """The number of A in the span before each B."""
    kinds = np.asarray(events.table["_type"])
    before = np.concatenate([[0], np.cumsum(kinds == 0)])
    ends = np.flatnonzero(kinds == 1)
    return before[ends] - before[np.maximum(ends - (size - 1), 0)]


def _chains(size: int, events: EventTable) -> int:
    """The number of matches of SEQ(A+, B) in spans."""
    return sum((1 << number) - 1 for number in _starts_before(size, events).tolist())


@benchmark(
    "shared-spans",
    "50 queries with spans take little more than with tumbling windows",
    f"SEQ(A+, B), COUNT(*), {EVENTS // 10:,} events, about 1,000 per span, auto",
    "times the time of the same queries with WITHIN",
    at_most=4,
)
def shared() -> Measured:
    """Queries that differ in a condition, and queries that differ in their span."""
    conditions = [(f"WHERE A.v > {number * 1_000}", 1_000) for number in range(SHARING)]
    lengths = [("", 510 + 10 * number) for number in range(SHARING)]
    rows = [_shared("condition", conditions), _shared("span", lengths)]
    return Measured(
        max(float(row["ratio"]) for row in rows),
        "the number of matches of each query, by a run of its own",
        tuple(rows),
    )


def _shared(different: str, queries: list[tuple[str, int]]) -> dict[str, float | str]:
    """Seconds of queries with a condition and a number of events per span."""
    events = _sparse(1_000, EVENTS // 10)
    spans, windows = (
        [f"PATTERN SEQ(A+, B) {where} {clause(size)}" for where, size in queries]
        for clause in (
            lambda size: f"SPAN {size - 1} PER {size}",
            lambda size: f"WITHIN {size}",
        )
    )
    together = [0] * SHARING
    for row in answer(workload_of(STREAM, spans), events):
        together[int(row.query[1:])] += int(str(row.values[0][1]))
    assert together == [_total(text, events) for text in spans]
    ways = {
        "spans": auto(workload_of(STREAM, spans), events),
        "windows": auto(workload_of(STREAM, windows), events),
    }
    for way in ways.values():
        way()
    seconds = medians(ways, ROUNDS)
    ratio = seconds["spans"] / seconds["windows"]
    return {"different": different, "queries": SHARING, **seconds, "ratio": ratio}


def _against_windows(
    text: str, size: int, events: EventTable, *, checked: bool = True
) -> dict[str, float | str]:
    """Seconds of a query with a span and with a tumbling window of as many events."""
    span = workload_of(STREAM, [f"{text} SPAN {size - 1} PER {size}"])
    ways = {
        "span": auto(span, events),
        "windows": auto(workload_of(STREAM, [f"{text} WITHIN {size}"]), events),
    }
    if checked:
        by_first = _total(f"{text} SPAN {size - 1} PER {10 * EVENTS} BY FIRST", events)
        assert _total(f"{text} SPAN {size - 1} PER {size}", events) == by_first
    for way in ways.values():
        way()
    seconds = medians(ways, ROUNDS)
    return {"query": text, **seconds, "ratio": seconds["span"] / seconds["windows"]}


@benchmark(
    "wide-spans",
    "Counts of spans beyond 64 bits take little more than those of tumbling windows",
    "SEQ(A+, B), COUNT(*), 20,000 events, 200 per span, half A and half B, auto",
    "times the time of the same query with WITHIN",
    at_most=3,
)
def wide() -> Measured:
    """Counts have about 100 bits."""
    dice = np.random.default_rng(3)
    kinds = dice.integers(0, 2, 20_000)
    events = events_of(STREAM, kinds, v=dice.integers(0, 10**6, kinds.size))
    assert _total("PATTERN SEQ(A+, B) SPAN 199 PER 200", events) == _chains(200, events)
    row = _against_windows("PATTERN SEQ(A+, B)", 200, events)
    return Measured(float(row["ratio"]), "the number of matches, by a sum over ends", (row,))


@benchmark(
    "compared-spans",
    "One comparison of neighbors in spans of 10,000 events",
    "SEQ(A, B) WHERE A.v < NEXT(B).v, COUNT(*), 20,000 events, 10,000 per span, auto",
    "times the time of the same query with WITHIN",
    at_most=3,
)
def compared() -> Measured:
    """All events are A or B."""
    dice = np.random.default_rng(4)
    size, kinds = 10_000, dice.integers(0, 2, 20_000)
    v = dice.integers(0, 10**6, kinds.size)
    events = events_of(STREAM, kinds, v=v)
    text = "PATTERN SEQ(A, B) WHERE A.v < NEXT(B).v"
    expected = 0
    for end in np.flatnonzero(kinds == 1).tolist():
        low = max(end - size + 1, 0)
        expected += int(((kinds[low:end] == 0) & (v[low:end] < v[end])).sum())
    assert _total(f"{text} SPAN {size - 1} PER {size}", events) == expected
    row = _against_windows(text, size, events, checked=False)
    return Measured(float(row["ratio"]), "the number of matches, by a loop over ends", (row,))


@benchmark(
    "chained-spans",
    "Trends of any length that rise in spans of thousands of events",
    "A+ WHERE A.v < NEXT(A).v, COUNT(*), 2,000 and 10,000 events per span, twice as many events",
    "times the time of the same query with WITHIN, the most of two spans",
    at_most=3,
)
def chained() -> Measured:
    """All events are A, with random values."""
    text, rows = "PATTERN A+ WHERE A.v < NEXT(A).v", list[dict[str, float | str]]()
    for size in (2_000, 10_000):
        kinds = np.zeros(2 * size, np.int64)
        events = events_of(STREAM, kinds, v=np.random.default_rng(6).integers(0, 10**6, kinds.size))
        few = events_of(STREAM, kinds[:600], v=np.asarray(events.table["v"])[:600])
        wide, narrow = (_total(f"{text} WITHIN {within} SLIDE 1", few) for within in (200, 199))
        assert _total(f"{text} SPAN 199 PER 200", few) == wide - narrow
        ways = {
            "span": auto(workload_of(STREAM, [f"{text} SPAN {size - 1} PER {size}"]), events),
            "windows": auto(workload_of(STREAM, [f"{text} WITHIN {size}"]), events),
        }
        seconds = medians(ways, 1)
        ratio = seconds["span"] / seconds["windows"]
        rows.append({"events per span": size, **seconds, "ratio": ratio})
    return Measured(
        max(float(row["ratio"]) for row in rows),
        "the first 600 events, by the difference of two sliding windows",
        tuple(rows),
        "The time of a span grows with its events: see decision 11.",
    )


@benchmark(
    "suse",
    "SuSe's published setting, exactly",
    f"a(b*c)*d(e|f)g*, {SUSE_EVENTS:,} uniform events, spans of 49, 99 and 499, one core, auto",
    "CPU seconds, the most of three spans",
    at_most=1.2,
)
def suse() -> Measured:
    """Without start-up and reading."""
    dice = np.random.default_rng(5)
    kinds = dice.integers(0, 7, SUSE_EVENTS)
    events, rows = events_of(SUSE, kinds), list[dict[str, float | str]]()
    for span in SUSE_SPANS:
        text = f"PATTERN SEQ(A, (SEQ(B*, C))*, D, (E OR F), G*) SPAN {span} PER 1000"
        workload = workload_of(SUSE, [text])
        few = events_of(SUSE, kinds[:400])
        total = sum(int(str(row.values[0][1])) for row in answer(workload, few))
        assert total == _regular(kinds[:400].tolist(), span)
        way = auto(workload, events)
        way()
        rows.append({"span": span, "CPU s": medians({"span": way}, ROUNDS)["span"]})
    return Measured(
        max(float(row["CPU s"]) for row in rows),
        "the first 400 events, by the number of matches from each start",
        tuple(rows),
        "Elsinore counts all matches exactly. SuSe, which was not run here, estimates their number"
        " from a summary of bounded size.",
    )


#: The letters that can follow each letter of a(b*c)*d(e|f)g*.
_FOLLOWS = {0: (1, 2, 3), 1: (1, 2), 2: (1, 2, 3), 3: (4, 5), 4: (6,), 5: (6,), 6: (6,)}


def _regular(kinds: list[int], span: int) -> int:
    """The number of subsequences that match, by a count per start and letter."""
    total = 0
    for start in (at for at, kind in enumerate(kinds) if kind == 0):
        counts = [0] * 7
        counts[0] = 1
        for kind in kinds[start + 1 : start + span + 1]:
            if kind:
                arrived = sum(counts[k] for k, after in _FOLLOWS.items() if kind in after)
                counts[kind] += arrived
                total += arrived if kind >= 4 else 0
    return total


@benchmark(
    "span-memory",
    "A span of six hours with 1,000 starts per second runs in constant memory",
    "SEQ(A, B) SPAN 6 hours PER 1 hour, 1,000 A and one B per second, for 16 and 32 hours",
    "times the peak with half of the hours",
    at_most=1.1,
)
def memory() -> Measured:
    """Peak memory of a process for each number of hours."""
    rows = []
    for hours in HOURS:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.spans", str(hours)],
            check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1],
        )  # fmt: skip
        rows.append(json.loads(done.stdout))
    low, high = (row["peak MB"] for row in rows)
    return Measured(
        high / low,
        "each count of an hour, by its closed form",
        tuple(rows),
        "Peak resident memory of the whole process.",
    )


def aggregate(hours: int) -> dict[str, float]:
    """Run the events of some hours through, in batches of an hour; check each count."""
    text = f"PATTERN SEQ(A, B) SPAN {6 * HOUR} PER {HOUR}"
    workload = workload_of(SUSE, [text])
    plan = compile_plan(workload, observe(workload, events_of(SUSE, *_second(0))))
    batches = (
        batch
        for hour in range(hours)
        for batch in events_of(SUSE, *_hour(hour)).table.combine_chunks().to_batches()
    )
    found, (query,) = dict[int, int](), workload.queries
    for table in aggregate_in_order(batches, query.window.length, batch_runner(plan, SUSE)):
        for row in table.to_pylist():
            found[row["window_start"] // HOUR] = int(row["counts"][0])
    assert found == {hour: _pairs(hour) for hour in range(hours)}
    return {"hours": hours, "peak MB": peak_megabytes(), "CPU s": time.process_time()}


def _second(number: int) -> tuple[np.ndarray, np.ndarray]:
    """The types and times of 1,000 A at even ticks, and of one B at the last, odd tick."""
    times = np.append(np.arange(0, SECOND, 2), SECOND - 1)
    return np.append(np.zeros(times.size - 1, np.int64), 1), number * SECOND + times


def _hour(number: int) -> tuple[np.ndarray, np.ndarray]:
    kinds, times = _second(0)
    starts = (number * 3600 + np.arange(3600)) * SECOND
    return np.tile(kinds, 3600), (starts[:, None] + times).reshape(-1)


def _pairs(hour: int) -> int:
    """The number of pairs of an A and a B of this hour, at most six hours later."""
    seconds = np.arange(hour * 3600, (hour + 1) * 3600)
    return int(np.minimum((seconds + 1) * 1_000, 6 * 3600 * 1_000).sum())


if __name__ == "__main__":
    print(json.dumps(aggregate(int(sys.argv[1]))))
