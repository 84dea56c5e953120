"""Two cores: keys divided between two processes, and one hot key, divided by time.

Each process holds the events of its part, as a task does; what is timed is the call of the executor
in all of them, from the word to begin until the last has its rows. Events are divided by key; those
of a hot key by the windows that they end in, with what these look back to, as the pipeline's slices
are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import median

import numpy as np
import pyarrow as pa

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import (
    auto,
    counts_of,
    events_of,
    one_b_in,
    stream_of,
    trends_of_a_b,
    workload_of,
)
from elsinore.timeline import Interval

EVENTS, KEYS, WITHIN, B_EVERY, ROUNDS = 4_000_000, 1_000, 100_000, 2_500, 5
STREAM = stream_of("AB", "k")


@dataclass(frozen=True)
class Part:
    """Part `number` of `parts` of the stream with so many keys."""

    keys: int
    parts: int
    number: int


UNIFORM = (Part(KEYS, 2, 0), Part(KEYS, 2, 1))
HOT = (Part(1, 2, 0), Part(1, 2, 1))
WHOLE = (Part(KEYS, 1, 0),)
NOTE = "Elapsed time, which includes other processes on the machine."
_SETTING = "SEQ(A, B+) GROUP-BY k, 4,000,000 events, tumbling windows of 100,000 with 40 B; "


@benchmark(
    "two-cores",
    "Two cores are nearly twice as fast as one core",
    _SETTING + "1,000 keys, in one process and divided by key between two",
    "times faster",
    at_least=1.8,
)
def two_cores() -> Measured:
    """Uniform keys in one process and in two."""
    one, two = _medians(WHOLE, UNIFORM)
    return _as_measured(one / two, {"one process": one, "two processes": two})


@benchmark(
    "hot-key",
    "One key with all events is as fast as uniform keys",
    _SETTING + "one key divided by time between two processes, 1,000 keys divided by key",
    "times the time of uniform keys",
    at_most=1.3,
)
def hot_key() -> Measured:
    """One key and uniform keys, in two processes both."""
    hot, uniform = _medians(HOT, UNIFORM)
    return _as_measured(hot / uniform, {"one key": hot, "uniform keys": uniform})


def _as_measured(figure: float, seconds: dict[str, float]) -> Measured:
    rows: tuple[dict[str, float | str], ...] = tuple(
        {"case": n, "seconds": s, "million events/s": EVENTS / s / 1e6} for n, s in seconds.items()
    )
    return Measured(figure, "every row, by its closed form", rows, NOTE)


def _medians(*cases: tuple[Part, ...]) -> list[float]:
    """Median elapsed seconds of each case, in turns."""
    with _workers([part for case in cases for part in case]) as ends:
        for case in cases:
            found: dict[tuple[str, str, int], int] = {}
            for part in case:
                found |= ends[part].recv()
            assert found == _expected(case[0].keys), case
        seconds: dict[tuple[Part, ...], list[float]] = {case: [] for case in cases}
        for _ in range(ROUNDS):
            for case, times in seconds.items():
                times.append(_together([ends[part] for part in case]))
    return [median(times) for times in seconds.values()]


@contextmanager
def _workers(parts: list[Part]) -> Iterator[dict[Part, Connection]]:
    """A process for each part; they end when this does."""
    context = get_context("spawn")
    ends, processes = {}, []
    try:
        for part in parts:
            ends[part], there = context.Pipe()
            processes.append(context.Process(target=work, args=(there, part), daemon=True))
            processes[-1].start()
            there.close()
        yield ends
    finally:
        for end in ends.values():
            end.close()
        for process in processes:
            process.join()


def _together(ends: list[Connection]) -> float:
    began = time.perf_counter()
    for end in ends:
        end.send(None)
    for end in ends:
        end.recv()
    return time.perf_counter() - began


def work(end: Connection, part: Part) -> None:
    """Aggregate a part whenever told to, until the other end closes."""
    run = _run_of(part)
    end.send(counts_of(run()))
    while True:
        try:
            end.recv()
        except EOFError:
            return
        run()
        end.send(None)


def _run_of(part: Part) -> Callable[[], pa.Table]:
    times, kinds, keys = _stream(part.keys)
    owned, mine = None, keys % part.parts == part.number
    if part.keys == 1 < part.parts:
        ends = np.linspace(0, EVENTS, part.parts + 1).astype(int)
        low, high = int(ends[part.number]), int(ends[part.number + 1])
        # the last one has the windows that are open at the end, too
        owned = Interval(low, high if high < EVENTS else EVENTS + WITHIN + 1)
        mine = (times >= low - WITHIN) & (times < high)
    text = f"PATTERN SEQ(A, B+) GROUP-BY k WITHIN {WITHIN}"
    events = events_of(STREAM, kinds[mine], times[mine], k=keys[mine])
    return auto(workload_of(STREAM, [text]), events, owned)


def _stream(keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, types and keys."""
    drawn = np.random.default_rng(7).integers(0, keys, EVENTS)
    return np.arange(EVENTS), one_b_in(B_EVERY, EVENTS), drawn


def _expected(keys: int) -> dict[tuple[str, str, int], int]:
    times, kinds, k = _stream(keys)
    found = trends_of_a_b(k * EVENTS + times // WITHIN, kinds == 1, times)
    return {
        ("q0", f"[{owner // EVENTS}]", owner % EVENTS * WITHIN): trends
        for owner, trends in found.items()
    }
