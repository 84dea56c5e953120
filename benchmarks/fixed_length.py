"""Queries of fixed length: the segments of A-Seq against the sweep.

Ten queries `SEQ(A, B, C)`, `SEQ(B, C, D)`, ... over 200,000 events of five types. The cases that
the choice of `auto` stands on: windows that overlap, aggregates beside COUNT(*), counts that
outgrow 64 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import comparable, events_of, medians, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.executors.plan import SWEEP, Executor, plan_for
from elsinore.query.bound import Workload

EVENTS, KINDS, ROUNDS = 200_000, "ABCDE", 3
STREAM = stream_of(KINDS, "k", "v")
SUMS = "COUNT(*), SUM(x0.v), MIN(x1.v)"


class Case(NamedTuple):
    """Queries over the stream; each begins with another type."""

    name: str
    within: int = 100
    overlap: int = 1
    queries: int = 10
    length: int = 3
    returned: str = "COUNT(*)"
    where: str = ""

    def workload(self) -> Workload:
        """Its queries, called q0, q1, ..."""
        texts = []
        for number in range(self.queries):
            kinds = (KINDS[(number + at) % len(KINDS)] for at in range(self.length))
            pattern = ", ".join(f"{kind} x{at}" for at, kind in enumerate(kinds))
            texts.append(
                f"RETURN {self.returned} PATTERN SEQ({pattern}) {self.where}"
                f" WITHIN {self.within} SLIDE {self.within // self.overlap}"
            )
        return workload_of(STREAM, texts)


CASES = (
    Case("tumbling"),
    Case("tumbling, 50 queries", queries=50),
    Case("tumbling, 50 keys", 5_000, where="WHERE [k]"),
    Case("tumbling, of 8 events", 200, length=8),
    Case("tumbling, of 8 events, wide counts", 20_000, length=8),
    Case("tumbling, sums", returned=SUMS),
    Case("overlapping twice", overlap=2),
    Case("overlapping ten times", overlap=10),
    Case("overlapping twice, sums", overlap=2, returned=SUMS),
    Case("overlapping four times, wide counts", 20_000, overlap=4, length=8),
)


@benchmark(
    "fixed-length",
    "For queries of fixed length, the automatic choice is nearly as fast as the best executor",
    "10 queries of 3 events over 200,000 events of five types; segments and sweep in 10 cases",
    "times the fastest",
    at_most=1.2,
)
def fixed_length() -> Measured:
    """Time each case by both and as `auto` picks, in turns; the pick is the lesser of two times."""
    rows: list[dict[str, float | str]] = []
    events = _events()
    for case in CASES:
        workload = case.workload()
        plans = {
            name: plan_for(name, workload, events)
            for name in (Executor.ASEQ, Executor.SWEEP, Executor.AUTO)
        }
        ways = {str(name): lambda plan=plan: [*plan.run(events)] for name, plan in plans.items()}
        results = [comparable(way()) for way in ways.values()]
        assert results[0] == results[1] == results[2] != [], case.name
        seconds = medians(ways, ROUNDS)
        picks = plans[Executor.AUTO].choices[0].executor
        picked = min(seconds["auto"], seconds["sweep" if picks == SWEEP else "aseq"])
        rows.append(
            {"case": case.name, **{name: s * 1e3 for name, s in seconds.items()}, "picks": picks,
             "pick/best": picked / min(seconds["aseq"], seconds["sweep"])}
        )  # fmt: skip
    worst = max(float(row["pick/best"]) for row in rows)
    note = "CPU time in ms. `auto` shares segments if that saves time."
    return Measured(worst, "the rows of aseq, sweep and auto against each other", tuple(rows), note)


def _events() -> EventTable:
    dice = np.random.default_rng(1)
    kinds = dice.integers(0, len(KINDS), EVENTS)
    return events_of(STREAM, kinds, k=dice.integers(0, 50, EVENTS), v=dice.integers(0, 100, EVENTS))
