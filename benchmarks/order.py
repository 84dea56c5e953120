"""Edge predicates of one comparison: one window of a million events under `A.v < NEXT(A).v`.

`A+` with COUNT(*), the whole of `aggregate_query` from a table, beside bare Fenwick trees in
compiled loops that do nothing else. Two streams: blocks of 100 rising values, each block below the
one before, whose trends are the rising runs inside of the blocks, `10,000 * (2**100 - 1)`; and a
random permutation, whose count of 2,851 bits must be that of the bare loop, and on a smaller one
that of Python's integers. Then what an event costs by pairs and by trees in windows of 16 to 256
events, from which `engine.climb.BY_ORDER` was chosen.

`python -m benchmarks.order [--json]`.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit
from rich.console import Console
from rich.table import Table

import elsinore.engine.climb as ladder
from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.engine.aggregate import aggregate_query
from elsinore.events import EventTable, arrow_schema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.timeline import TimeUnit

ROUNDS = 3
EVENTS = 1_000_000
BLOCK = 100
#: Words that a bare tree needs for the permutation.
WORDS = 45
SMALL = 3_000
WINDOWS = (16, 24, 32, 48, 64, 96, 128, 256)
WINDOW_EVENTS = 100_000
SCHEMA = StreamSchema(
    "bench",
    "time",
    TimeUnit.INTEGER,
    "type",
    None,
    (EventType("A", (Attribute("v", AttributeType.DOUBLE),)),),
)


@dataclass(frozen=True)
class Times:
    """Seconds of several rounds, on the clock and on the processor."""

    clock: list[float]
    cpu: list[float]

    def medians(self) -> tuple[float, float]:
        """The medians of both."""
        return statistics.median(self.clock), statistics.median(self.cpu)


@njit(cache=True)
def _bare(ranks: np.ndarray) -> np.ndarray:
    """A tree of one word for ranks 0 to n - 1; the count modulo 2**64."""
    size = np.int64(ranks.size)
    tree = np.zeros(size + 1, np.uint64)
    total = np.zeros(1, np.uint64)
    for rank in ranks:
        found = np.uint64(1)
        i = rank
        while i > 0:
            found += tree[np.uint64(i)]
            i &= i - 1
        total[0] += found
        i = rank + 1
        while i <= size:
            tree[np.uint64(i)] += found
            i += i & -i
    return total


@njit(cache=True)
def _add(target, more):  # type: ignore[no-untyped-def]
    carry = np.uint64(0)
    for k in range(target.size):
        partial = target[k] + more[k]
        wrapped = np.uint64(partial < more[k])
        target[k] = partial + carry
        carry = wrapped + np.uint64(target[k] < partial)


@njit(cache=True)
def _bare_wide(ranks, words):  # type: ignore[no-untyped-def]
    """A tree of `words` words that carry."""
    size = np.int64(ranks.size)
    tree = np.zeros((size + 1, words), np.uint64)
    total, found = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    for rank in ranks:
        found[:] = 0
        found[0] = 1
        i = rank
        while i > 0:
            _add(found, tree[i])
            i &= i - 1
        _add(total, found)
        i = rank + 1
        while i <= size:
            _add(tree[i], found)
            i += i & -i
    return total


def main() -> None:
    """Run all cases, print seconds."""
    rows = one_window()
    even = [_small_windows(window) for window in WINDOWS]
    if "--json" in sys.argv:
        print(json.dumps({"one_window": rows, "small_windows": even}))
        return
    _print(rows, even)


def one_window() -> list[dict[str, float | str]]:
    """Bits, elapsed and CPU seconds of each case; the cases take turns and are checked."""
    sys.set_int_max_str_digits(0)
    blocks, mixed = _blocks(), _permutation(EVENTS)
    _check_small()
    cases: dict[str, Callable[[], int]] = {
        "blocks: bare tree, one word": lambda: _as_int(_bare(blocks)),
        "blocks: bare tree, two words": lambda: _as_int(_bare_wide(blocks, 2)),
        "blocks: the query": _counting(blocks),
        "permutation: bare tree, one word": lambda: _as_int(_bare(mixed)),
        f"permutation: bare tree, {WORDS} words": lambda: _as_int(_bare_wide(mixed, WORDS)),
        "permutation: the query": _counting(mixed),
    }
    counts: dict[str, int] = {}
    times = {name: Times([], []) for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            clock, cpu = time.perf_counter(), time.process_time()
            counts[name] = case()
            times[name].cpu.append(time.process_time() - cpu)
            times[name].clock.append(time.perf_counter() - clock)
    _check(counts)
    return [
        {"case": name, "bits": counts[name].bit_length(), "seconds": clock, "cpu_seconds": cpu}
        for name, (clock, cpu) in ((name, found.medians()) for name, found in times.items())
    ]


def _print(rows: list[dict[str, float | str]], even: list[dict[str, float]]) -> None:
    table = Table("case", "bits", "s", "CPU s", title=f"{EVENTS:,} events, median of {ROUNDS}")
    for row in rows:
        table.add_row(*(f"{v:,.3f}" if isinstance(v, float) else str(v) for v in row.values()))
    Console().print(table)
    table = Table("events a window", "pairs, ns an event", "trees", title="random values")
    for each in even:
        table.add_row(*(f"{value:,.0f}" for value in each.values()))
    Console().print(table)


def _blocks() -> np.ndarray:
    number = np.arange(EVENTS)
    return (EVENTS - 1 - number) // BLOCK * BLOCK + number % BLOCK


def _permutation(size: int) -> np.ndarray:
    return np.random.default_rng(1).permutation(size)


def _query(within: int) -> BoundQuery:
    text = f"QUERY q RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v WITHIN {within};"
    return bind_workload(parse_workload(text), SCHEMA).queries[0]


def _events(values: np.ndarray) -> EventTable:
    columns = [np.arange(values.size), np.zeros(values.size, np.int32), values.astype(np.float64)]
    arrays = [pa.array(column) for column in columns]
    return EventTable(SCHEMA, pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA)))


def _counting(values: np.ndarray) -> Callable[[], int]:
    query, events = _query(2 * EVENTS), _events(values)
    return lambda: int(aggregate_query(query, events)["counts"][0].as_py()[0])


def _as_int(words: np.ndarray) -> int:
    return int.from_bytes(words.tobytes(), "little")


def _check_small() -> None:
    """Query and bare loop against a tree of Python's integers."""
    values = _permutation(SMALL)
    tree = [0] * (SMALL + 1)
    total = 0
    for rank in values.tolist():
        found, i = 1, rank
        while i > 0:
            found += tree[i]
            i &= i - 1
        total += found
        i = rank + 1
        while i <= SMALL:
            tree[i] += found
            i += i & -i
    assert _counting(values)() == total
    assert _as_int(_bare_wide(values, WORDS)) == total
    assert int(_bare(values)[0]) == total % 2**64


def _check(counts: dict[str, int]) -> None:
    blocks = EVENTS // BLOCK * (2**BLOCK - 1)
    assert counts["blocks: the query"] == counts["blocks: bare tree, two words"] == blocks
    assert counts["blocks: bare tree, one word"] == blocks % 2**64
    wide = counts[f"permutation: bare tree, {WORDS} words"]
    assert counts["permutation: the query"] == wide
    assert counts["permutation: bare tree, one word"] == wide % 2**64


def _small_windows(window: int) -> dict[str, float]:
    """Nanoseconds an event in tumbling windows, by pairs and by trees; their rows are equal."""
    query = _query(window)
    events = _events(np.random.default_rng(2).random(WINDOW_EVENTS))
    seconds: dict[int, list[float]] = {window + 1: [], 1: []}
    found = []
    chosen = ladder.BY_ORDER
    for _ in range(ROUNDS):
        for by_order, spent in seconds.items():
            ladder.BY_ORDER = by_order
            began = time.process_time()
            found.append(aggregate_query(query, events))
            spent.append(time.process_time() - began)
    ladder.BY_ORDER = chosen
    assert all(table.equals(found[0]) for table in found)
    pairs, trees = (statistics.median(s) / WINDOW_EVENTS * 1e9 for s in seconds.values())
    return {"window": window, "pairs_ns": pairs, "trees_ns": trees}


if __name__ == "__main__":
    main()
