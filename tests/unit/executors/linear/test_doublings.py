"""Counts beyond 64 bits by doublings, against greta, which adds event by event."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from benchmarks.streams import counts_of, events_of, stream_of, text_rows, workload_of
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import sweep_sets

TYPES = "ABCD"
STREAM = stream_of(TYPES)

#: `+` at the end of trends; the last two count otherwise.
PATTERNS = (
    *("B+", "SEQ(A, B+)", "SEQ(C, B+)", "SEQ(A, C, B+)", "SEQ(A first, C, A, B+)"),
    *("SEQ(D first, D+)", "SEQ(A, C)", "SEQ(B+, A)"),
)


def draw_stream(dice: Random, size: int, ties: float) -> list[tuple[int, str]]:
    """Bursts of one type, some of them at one time, some with other types at the same time."""
    found: list[tuple[int, str]] = []
    time = 0
    while len(found) < size:
        kind, length = dice.choice("ABBBC" if dice.random() < 0.9 else TYPES), dice.randint(1, 9)
        for _ in range(length):
            time += dice.random() >= ties
            found.append((time, kind if dice.random() < 0.9 else dice.choice(TYPES)))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_adding_event_by_event(seed: int) -> None:
    dice = Random(f"doublings {seed}")
    stream = draw_stream(dice, 900, (0.0, 0.2, 0.7)[seed % 3])
    within = dice.choice((150, 400))
    slide = dice.choice((within, within // 3))
    queries = workload_of(
        STREAM, [f"PATTERN {pattern} WITHIN {within} SLIDE {slide}" for pattern in PATTERNS]
    ).queries
    (found,) = sweep_sets(queries)
    kinds = np.array([TYPES.index(kind) for _, kind in stream])
    events = events_of(STREAM, kinds, np.array([time for time, _ in stream]))
    wanted: dict[tuple[str, str, int], int] = {}
    for query in queries:
        wanted |= counts_of(text_rows(aggregate_query(query, events)))
    assert counts_of(text_rows(aggregate_sweep(found, events, panes=False))) == wanted
    assert max(wanted.values()).bit_length() > 64


def test_windows_with_too_many_trends_before_the_last_state_are_counted_otherwise() -> None:
    """Six states in a row of 500 events each have 2^53.8 trends, which outgrow a cell."""
    kinds = np.concatenate([np.repeat(np.arange(6), 500), np.full(70, 6)])
    few = np.concatenate([np.repeat(np.arange(6), 5), np.full(70, 6)])
    stream, size = stream_of("ABCDEFG"), kinds.size
    times = np.concatenate([np.arange(size), size + np.arange(few.size)])
    query = f"PATTERN SEQ(A, B, C, D, E, F, G+) WITHIN {size}"
    (found,) = sweep_sets(workload_of(stream, [query]).queries)
    rows = aggregate_sweep(found, events_of(stream, np.concatenate([kinds, few]), times))
    counted = counts_of(text_rows(rows))
    assert counted == {
        ("q0", "[]", first): many**6 * (2**70 - 1) for first, many in ((0, 500), (size, 5))
    }
