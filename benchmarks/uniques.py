"""EACH and DISTINCT against COUNT(*) of the same query.

`SEQ(A, B+)` per key over a million events, in tumbling windows and in windows that overlap ten
times, without a condition on adjacent events and with one comparison. Then 20 queries that share
B+ with EACH, against the 20 queries with COUNT(*).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, events_of, medians, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.library.results import answer

EVENTS, KEYS, ROUNDS, SHARING = 1_000_000, 1_000, 3, 20
WITHIN = 50_000
STREAM = stream_of(["B", *(f"S{n}" for n in range(SHARING))], "k", "v")
#: Share of events that start a trend.
STARTS = 0.1
EACH = "COUNT(EACH B), SUM(EACH B.v), COUNT(DISTINCT k)"
EACH_OF_B = "COUNT(*), COUNT(EACH B), SUM(EACH B.v)"
RISING = " AND S.v < NEXT(B).v AND B.v < NEXT(B).v"
WINDOWS = {"tumbling": f"WITHIN {WITHIN}", "1:10": f"WITHIN {WITHIN} SLIDE {WITHIN // 10}"}


def _events() -> EventTable:
    dice = np.random.default_rng(11)
    starts = dice.random(EVENTS) < STARTS
    kinds = np.where(starts, dice.integers(1, SHARING + 1, EVENTS), 0)
    k, v = dice.integers(0, KEYS, EVENTS), dice.integers(0, 10**6, EVENTS)
    return events_of(STREAM, kinds, k=k, v=v)


def _query(first: str, window: str, rising: str, returned: str) -> str:
    """A query whose trends begin with a type."""
    return f"RETURN {returned} PATTERN SEQ({first} S, B+) WHERE [k]{rising} {window}"


@benchmark(
    "uniques",
    "EACH and DISTINCT cost little more than COUNT(*)",
    f"SEQ(S0, B+) per key, {EVENTS:,} events of {KEYS:,} keys; {EACH} against COUNT(*), auto",
    "times the time of COUNT(*)",
    at_most=2.2,
)
def uniques() -> Measured:
    """Without a condition on adjacent events; the target with one comparison is 2.5."""
    rows = [
        _measured(window, "one" if rising else "none", rising)
        for rising in ("", RISING)
        for window in WINDOWS
    ]
    return Measured(
        max(float(row["ratio"]) for row in rows if row["comparison"] == "none"),
        "every value, by a loop over the events of each key and window",
        tuple(rows),
        "CPU time of the whole call. The measured value excludes the rows with a comparison; their"
        " target is 2.5.",
    )


def _measured(window: str, compared: str, rising: str) -> dict[str, float | str]:
    events, clause = _events(), WINDOWS[window]
    workloads = {
        name: workload_of(STREAM, [_query("S0", clause, rising, returned)])
        for name, returned in (("COUNT(*)", "COUNT(*)"), ("EACH", EACH))
    }
    ways = {name: auto(workload, events) for name, workload in workloads.items()}
    rows = answer(workloads["EACH"], events)
    found = {row.window_start: tuple(value for _, value in row.values) for row in rows}
    slide = WITHIN if window == "tumbling" else WITHIN // 10
    assert found == dict(_expected(events.table, slide, bool(rising)))
    for way in ways.values():
        way()
    seconds = medians(ways, ROUNDS)
    ratio = seconds["EACH"] / seconds["COUNT(*)"]
    return {"windows": window, "comparison": compared, **seconds, "ratio": ratio}


def _expected(
    table: pa.Table, slide: int, rising: bool
) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Each window with a trend, and its number of B, their sum, and the number of keys."""
    kinds, k, v = (np.asarray(table[name]) for name in ("_type", "k", "v"))
    order = np.argsort(k, kind="stable")
    times = np.arange(EVENTS)
    for start in range(-WITHIN + slide, EVENTS, slide):
        low, high = max(start, 0), min(start + WITHIN, EVENTS)
        number = total = keys = 0
        inside = order[(times[order] >= low) & (times[order] < high)]
        for part in np.split(inside, np.flatnonzero(np.diff(k[inside])) + 1):
            chosen = _participating(kinds[part].tolist(), v[part].tolist(), rising)
            number, total, keys = number + len(chosen), total + sum(chosen), keys + bool(chosen)
        if number:
            yield start, (number, total, keys)


def _participating(kinds: list[int], values: list[int], rising: bool) -> list[int]:
    """The values of the B that a trend can reach; each of them can end it."""
    chosen, least = [], None
    for kind, value in zip(kinds, values, strict=True):
        if kind == 1:
            least = value if least is None else min(least, value)
        elif kind == 0 and least is not None and (not rising or least < value):
            chosen.append(value)
    return chosen


@benchmark(
    "shared-uniques",
    "20 queries that share a Kleene part with EACH cost little more than with COUNT(*)",
    f"SEQ(Si, B+) per key, {EVENTS:,} events of {KEYS:,} keys, tumbling windows, auto",
    "times the time with COUNT(*)",
    at_most=1.8,
)
def shared() -> Measured:
    """Without a condition on adjacent events, and with one comparison."""
    rows = [_shared(compared, rising) for compared, rising in (("none", ""), ("one", RISING))]
    return Measured(
        float(rows[0]["ratio"]),
        "every value, by a separate run of its query",
        tuple(rows),
        "CPU time of the whole call. The measured value excludes the row with a comparison.",
    )


def _shared(compared: str, rising: str) -> dict[str, float | str]:
    events, clause = _events(), WINDOWS["tumbling"]
    workloads = {
        name: workload_of(
            STREAM, [_query(f"S{n}", clause, rising, returned) for n in range(SHARING)]
        )
        for name, returned in (("COUNT(*)", "COUNT(*)"), ("EACH", EACH_OF_B))
    }
    alone = (
        (n, row.window_start, row.values)
        for n in range(SHARING)
        for row in answer(workload_of(STREAM, [_query(f"S{n}", clause, rising, EACH_OF_B)]), events)
    )
    found = (
        (int(row.query[1:]), row.window_start, row.values)
        for row in answer(workloads["EACH"], events)
    )
    assert sorted(found) == sorted(alone)
    ways = {name: auto(workload, events) for name, workload in workloads.items()}
    for way in ways.values():
        way()
    seconds = medians(ways, ROUNDS)
    ratio = seconds["EACH"] / seconds["COUNT(*)"]
    return {"comparison": compared, **seconds, "ratio": ratio}
