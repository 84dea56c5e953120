"""The papers' systems, each against the reference on small random streams; their page's figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.papers import pointers, systems
from benchmarks.streams import events_of, stream_of, workload_of
from elsinore.errors import UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow

STREAM = stream_of("ABCDN", "k", "v", "w")
RETURNED = "RETURN COUNT(*), COUNT(b), SUM(b.v)"
EDGE = "b.v < NEXT(b).v"

#: Shapes of the papers' figures: Kleene, edges, keys, groups, NOT on each side, sliding windows.
KLEENE = (
    "PATTERN B b+ WITHIN 12",
    "PATTERN SEQ(A a, B b+) WITHIN 12 SLIDE 5",
    f"{RETURNED} PATTERN SEQ(A a, B b+, C c) WHERE [k] AND {EDGE} WITHIN 30 SLIDE 10",
    f"RETURN k, COUNT(*), SUM(b.w) PATTERN SEQ(A a, B b+) WHERE {EDGE} AND b.w > 2"
    " GROUP-BY k WITHIN 25",
    f"{RETURNED} PATTERN SEQ(NOT N n, B b+) WHERE [k] AND {EDGE} WITHIN 30 SLIDE 10",
    "PATTERN SEQ(A a, NOT N n, B b+) WITHIN 14 SLIDE 7",
    f"{RETURNED} PATTERN SEQ(B b+, NOT N n, C c) WITHIN 14 SLIDE 7",
    "PATTERN SEQ(A a, B b+, NOT N n) WITHIN 14 SLIDE 7",
    "PATTERN B b+ WHERE b.v * 2 > NEXT(b).w + 1 AND NEXT(b).v != b.w AND b.w >= 1 WITHIN 15",
)
FIXED = (
    "PATTERN SEQ(A a, B b) WITHIN 12 SLIDE 5",
    "PATTERN SEQ(A a, B b, C c, D d) WHERE [k] WITHIN 40 SLIDE 10",
    "RETURN k, COUNT(*), COUNT(b) PATTERN SEQ(A a, B b, A e, C c) GROUP-BY k WITHIN 40",
)
#: Workloads that share: E+ with other events around it, and fixed lengths with common parts.
AROUND = ("SEQ(A a, B b+)", "B b+", "SEQ(A a, B b+, C c)", "SEQ(C c, D d, B b+, A a, D e)")
CHAINS = ("SEQ(A a, B b, C c)", "SEQ(D d, A a, B b, C c)", "SEQ(A a, B b, C c, D d)", "SEQ(C c, D d)")


def make_events(seed: int, size: int = 24) -> EventTable:
    """Random events, of which some have the same time."""
    dice = np.random.default_rng(seed)
    times = np.cumsum(dice.integers(0, 3, size)) - 7
    values = {name: dice.integers(0, 3 if name == "k" else 8, size) for name in "kvw"}
    kinds = dice.choice(5, size, p=[0.25, 0.35, 0.2, 0.15, 0.05])
    return events_of(STREAM, kinds, times, **values)


def expected(queries: tuple[BoundQuery, ...], events: EventTable) -> list[ResultRow]:
    return sorted(
        (row for query in queries for row in two_step(query, events)), key=lambda row: row.key
    )


def same(found: list[ResultRow], queries: tuple[BoundQuery, ...], events: EventTable) -> int:
    rows = expected(queries, events)
    assert sorted(found, key=lambda row: row.key) == rows
    return len(rows)


def bound(*texts: str) -> Workload:
    return workload_of(STREAM, texts)


@pytest.mark.parametrize("system", [systems.sase, systems.cet, systems.flink])
@pytest.mark.parametrize("text", [*KLEENE, *FIXED])
def test_systems_that_do_not_share(system: Callable[..., list[ResultRow]], text: str) -> None:
    queries = bound(text).queries
    found = [make_events(seed) for seed in range(4)]
    assert sum(same(system(queries, events), queries, events) for events in found) > 2
