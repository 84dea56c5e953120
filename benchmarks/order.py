"""Edge predicates of one comparison: one window of a million events under `A.v < NEXT(A).v`.

`A+` with COUNT(*), the whole of `aggregate_query` from a table, beside bare Fenwick trees in
compiled loops that do nothing else. Two streams: blocks of 100 rising values, each block below the
one before, whose trends are the rising runs inside of the blocks, `10,000 * (2**100 - 1)`; and a
random permutation, whose count of 2,851 bits must be that of the bare loop, and on a smaller one
that of Python's integers. Then 20 queries under the same comparison beside one of them. Then what
an event costs by pairs and by trees in windows of 16 to 256 events, from which
`executors.graph.climb.BY_ORDER` was chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
from numba import njit

import elsinore.executors.graph.climb as ladder
from benchmarks.claim import Measured, benchmark
from benchmarks.increasing import BLOCK as NARROW_BLOCK
from benchmarks.increasing import increasing_subsequences, narrow
from benchmarks.streams import (
    auto,
    comparable,
    counts_of,
    events_of,
    medians,
    stream_of,
    workload_of,
)
from elsinore.catalog.stream import AttributeType
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.numbers.exact_columns import Integers, to_python
from elsinore.query.bound import BoundQuery

ROUNDS = 3
EVENTS = 1_000_000
BLOCK = 100
#: Words that a bare tree needs for the permutation.
WORDS = 45
SMALL = 3_000
WINDOWS = (16, 24, 32, 48, 64, 96, 128, 256)
WINDOW_EVENTS = 100_000
STREAM = stream_of("A", "v", of=AttributeType.DOUBLE)


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


@benchmark(
    "order",
    "An edge predicate of one comparison, compared with a bare tree of the same width",
    "A+ under A.v < NEXT(A).v over one window of a million events in random order",
    "times the time of the bare tree",
)
def by_order() -> Measured:
    """The random permutation, whose count has 2,851 bits, beside the blocks; in turns."""
    blocks, mixed = _blocks(), _permutation(EVENTS)
    _check_small()
    bare = f"permutation: bare tree, {WORDS} words"
    cases: dict[str, Callable[[], int]] = {
        "blocks: bare tree, one word": lambda: _as_int(_bare(blocks)),
        "blocks: bare tree, two words": lambda: _as_int(_bare_wide(blocks, 2)),
        "blocks: the query": _counting(blocks),
        "permutation: bare tree, one word": lambda: _as_int(_bare(mixed)),
        bare: lambda: _as_int(_bare_wide(mixed, WORDS)),
        "permutation: the query": _counting(mixed),
    }
    counts: dict[str, int] = {}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            clock, cpu = time.perf_counter(), time.process_time()
            counts[name] = case()
            times[name].append((time.perf_counter() - clock, time.process_time() - cpu))
    _check(counts)
    clocks, cpus = ({n: median(t[i] for t in found) for n, found in times.items()} for i in (0, 1))
    rows: list[dict[str, float | str]] = [
        {"case": name, "bits": counts[name].bit_length(), "seconds": clocks[name],
         "cpu_seconds": cpus[name]}
        for name in cases
    ]  # fmt: skip
    return Measured(
        cpus["permutation: the query"] / cpus[bare],
        "the count, by the bare tree; a smaller count, by Python integers",
        tuple(rows),
    )


#: Queries that share a comparison.
SHARING = 20


@benchmark(
    "shared-order",
    "20 queries with one comparison that differ at one end cost little more than one query",
    "SEQ(Si, B+) and SEQ(B+, Si) under B.v < NEXT(B).v, a window of a million events, auto",
    "times the time of one query",
    at_most=3.0,
)
def shared_order() -> Measured:
    """The worse of both; beside them queries that differ at both ends, which nothing helps."""
    patterns = "SEQ(S{n}, B+)", "SEQ(B+, S{n})", "SEQ(S{n} s, B+, S{m} e)"
    rows = [_shared(pattern) for pattern in patterns]
    return Measured(
        max(float(row["ratio"]) for row in rows[:2]),
        "every count, by a separate run of its query",
        tuple(rows),
        "CPU time of the whole call. Trends do not leave blocks of 1,000 values. The measured value"
        " excludes 20 queries that differ at both ends.",
    )


def _shared(pattern: str) -> dict[str, float | str]:
    """20 queries of a pattern over blocks that begin with each S, and end so."""
    stream = stream_of(["B", *(f"S{n}" for n in range(SHARING))], "v")
    blocks = EVENTS // NARROW_BLOCK
    inner = np.zeros(NARROW_BLOCK - 2 * SHARING, int)
    starts = np.arange(1, SHARING + 1)
    kinds = np.tile(np.concatenate([starts, inner, starts]), blocks)
    events = events_of(stream, kinds, v=narrow(EVENTS))
    text = f"PATTERN {pattern} WHERE B.v < NEXT(B).v WITHIN {EVENTS}"
    texts = [
        text.replace("{n}", str(n)).replace("{m}", str((n + 1) % SHARING)) for n in range(SHARING)
    ]
    every = auto(workload_of(stream, texts), events)
    alone = [auto(workload_of(stream, [text]), events) for text in texts]
    by_itself = {f"q{n}": list(counts_of(run()).values()) for n, run in enumerate(alone)}
    assert {name: [count] for (name, _, _), count in counts_of(every()).items()} == by_itself
    seconds = medians({"20 queries": every, "one": alone[0]}, ROUNDS)
    return {"pattern": pattern, **seconds, "ratio": seconds["20 queries"] / seconds["one"]}


@benchmark(
    "pairs-or-trees",
    "Smallest window in which trees are faster than pairs",
    "A+ under A.v < NEXT(A).v over random values in tumbling windows of 16 to 256 events",
    "events",
)
def pairs_or_trees() -> Measured:
    """What `executors.graph.climb.BY_ORDER` was chosen by."""
    rows = [_small_windows(window) for window in WINDOWS]
    quicker = [row["window"] for row in rows if row["trees, ns"] < row["pairs, ns"]]
    return Measured(min(quicker, default=float("inf")), "all rows against each other", tuple(rows))


def _blocks() -> np.ndarray:
    number = np.arange(EVENTS)
    return (EVENTS - 1 - number) // BLOCK * BLOCK + number % BLOCK


def _permutation(size: int) -> np.ndarray:
    return np.random.default_rng(1).permutation(size)


def _query(within: int) -> BoundQuery:
    return workload_of(STREAM, [f"PATTERN A+ WHERE A.v < NEXT(A).v WITHIN {within}"]).queries[0]


def _events(values: np.ndarray) -> EventTable:
    return events_of(STREAM, np.zeros(values.size, int), v=values.astype(float))


def _counting(values: np.ndarray) -> Callable[[], int]:
    query, events = _query(2 * EVENTS), _events(values)

    def count() -> int:
        [rows] = aggregate_query(query, events)
        counts = rows.columns[0]
        assert isinstance(counts, Integers)
        return int(to_python(counts)[0])

    return count


def _as_int(words: np.ndarray) -> int:
    return int.from_bytes(words.tobytes(), "little")


def _check_small() -> None:
    """Query and bare loop against a tree of Python's integers."""
    values = _permutation(SMALL)
    total = increasing_subsequences(values.tolist())
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

    def way(by_order: int) -> Callable[[], list[PartialRows]]:
        def run() -> list[PartialRows]:
            ladder.BY_ORDER = by_order
            return aggregate_query(query, events)

        return run

    ways: dict[str, Callable[[], list[PartialRows]]]
    ways = {"pairs, ns": way(window + 1), "trees, ns": way(1)}
    chosen = ladder.BY_ORDER
    pairs, trees = (comparable([run()]) for run in ways.values())
    assert pairs == trees
    seconds = medians(ways, ROUNDS)
    ladder.BY_ORDER = chosen
    return {"window": window, **{name: s / WINDOW_EVENTS * 1e9 for name, s in seconds.items()}}
