"""A-Seq and Sharon under any valid plan against the two-step reference, on random workloads.

`python -m tests.property.segments --workloads 500` compares more of the same.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import groupby
from operator import itemgetter

import pytest

from elsinore.engine.finish import finish
from elsinore.engine.segments import aggregate_segments
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.results.row import ResultRow, bounds_of, within
from elsinore.sharing.candidates import Segment, mine_candidates
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_workloads import Event, random_workload
from tests.property.segments import PLANS, judge_workload

WORKLOADS = draws(20, 60)


def test_sharon_equals_aseq_equals_twostep_on_random_workloads() -> None:
    tally: Counter[str] = Counter()
    for seed in range(WORKLOADS):
        judge_workload(random_workload(seed), tally)
    print(dict(tally))
    assert tally["with rows"] > WORKLOADS // 3
    assert tally["plans"] == PLANS * tally["workloads"]
    assert tally["shared segments"] > tally["plans"]


def _workload(text: str) -> Workload:
    return bind_workload(parse_workload(text), SCHEMA)


def _rows(
    workload: Workload, events: EventTable, shared: list[list[Segment]] | None
) -> list[ResultRow]:
    return finish(workload, aggregate_segments(workload.queries, events, shared))


@pytest.mark.parametrize("length", [1, 3, 8, 20])
@pytest.mark.parametrize("events", [1, 70, 1_000])
def test_counts_are_exact_at_every_width(events: int, length: int) -> None:
    """Blocks of n events a position: n^l trends, up to 2^199, and each event of a block in n^(l-1).

    Every choice of one event a block is a trend, and with them any rising choice inside of blocks
    where the same type stands in neighbouring positions; the types alternate, so there is none.
    """
    types = [("A", "B")[place % 2] for place in range(length)]
    names = ", ".join(f"{kind} e{place}" for place, kind in enumerate(types))
    end = length - 1
    text = (
        f"RETURN COUNT(*), COUNT(e0), SUM(e{end}.x), AVG(e0.y), MIN(e{end}.x) PATTERN SEQ({names})"
    )
    clauses = "WITHIN 1000000"
    workload = _workload(f"QUERY p {text} {clauses}; QUERY q {text} {clauses};")
    stream = [
        (kind, place * events + time, {"x": -(2**63) + (place != end), "y": 0.5})
        for place, kind in enumerate(types)
        for time in range(events)
    ]
    table = EventTable.of(SCHEMA, stream)
    trends = _rising(types, events)
    shared = [
        [Segment(name, start, tuple(types[start:stop])) for name in "pq"]
        for start, stop in ((0, length // 2), (length // 2, length))
        if stop - start > 1
    ]
    for plan in (None, shared):
        rows = _rows(workload, table, plan)
        assert [row.query for row in rows] == ["p", "q"]
        for row in rows:
            assert dict(row.values)["COUNT(*)"] == trends
            assert dict(row.values)["COUNT(e0)"] == trends
            average = dict(row.values)["AVG(e0.y)"]
            assert isinstance(average, float)
            assert within(average, bounds_of(Fraction(1, 2), Fraction(1, 2), len(stream)))
        assert_same_rows(rows, [row for query in workload.queries for row in greta(query, table)])


def _rising(types: list[str], events: int) -> int:
    """Trends by the definition of A-Seq's prefix counts, in Python's integers.

    >>> _rising(["A", "B"], 3)
    9
    """
    counts = [1] + [0] * len(types)
    for block in types:
        for _ in range(events):
            for place in reversed(range(len(types))):
                if types[place] == block:
                    counts[place + 1] += counts[place]
    return counts[-1]


def test_sums_beyond_every_double_keep_their_average() -> None:
    """Each of the 8 values of 1e308 is in 8 trends: the sum is 64e308, the average 1e308."""
    workload = _workload("QUERY p RETURN SUM(a.y), AVG(a.y) PATTERN SEQ(A a, B b) WITHIN 100;")
    stream = [("A" if time < 8 else "B", time, {"y": 1e308}) for time in range(16)]
    (row,) = _rows(workload, EventTable.of(SCHEMA, stream), None)
    values = dict(row.values)
    assert values["SUM(a.y)"] == math.inf
    assert values["AVG(a.y)"] == 1e308


def test_only_windows_that_end_in_the_interval() -> None:
    workload = _workload("QUERY p RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 4 SLIDE 2;")
    stream: list[Event] = [("AB"[time % 2], time, {}) for time in range(12)]
    table = EventTable.of(SCHEMA, stream)
    found = aggregate_segments(workload.queries, table, owned=Interval(4, 8))
    assert sorted(found["window_end"].to_pylist()) == [6, 8]


def test_sharing_across_windows_that_differ() -> None:
    """Section 7.2: one segment for queries with other windows, in the middle of one of them."""
    workload = _workload(
        "QUERY p RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 4 SLIDE 2;"
        "QUERY q RETURN COUNT(*) PATTERN SEQ(C c, A a, B b) WITHIN 6 SLIDE 3;"
    )
    (candidate,) = mine_candidates(workload)
    stream: list[Event] = [("CAB"[time % 3], time, {}) for time in range(30)]
    table = EventTable.of(SCHEMA, stream)
    alone = _rows(workload, table, None)
    assert {row.query for row in alone} == {"p", "q"}
    assert_same_rows(_rows(workload, table, [list(candidate.occurrences)]), alone)


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_exact_where_types_repeat_at_one_instant(seed: int) -> None:
    """Every event stands at several positions, and shares its instant with others."""
    dice = Dice(f"ties {seed}")
    types = [dice.pick("ABC") for _ in range(16)]
    names = ", ".join(f"{kind} e{place}" for place, kind in enumerate(types))
    text = f"RETURN COUNT(*) PATTERN SEQ({names}) WITHIN 1000000 SLIDE 250000"
    workload = _workload(f"QUERY p {text}; QUERY q {text};")
    stream: list[Event] = [
        (dice.pick("ABC"), 250_000 + dice.number(0, 1_200), {}) for _ in range(3_000)
    ]
    trends = _trends(types, stream)
    assert trends > 2**70
    halves = [[Segment(n, s, tuple(types[s : s + 8])) for n in "pq"] for s in (0, 8)]
    table = EventTable.of(SCHEMA, stream)
    for plan in (None, halves, halves[1:]):
        rows = _rows(workload, table, plan)
        assert [row.values for row in rows] == [(("COUNT(*)", trends),)] * 8


def _trends(types: list[str], stream: list[Event]) -> int:
    """Prefix counts instant by instant, in Python's integers."""
    counts = [1] + [0] * len(types)
    for _, together in groupby(sorted(stream, key=itemgetter(1)), key=itemgetter(1)):
        before = list(counts)
        for kind, _, _ in together:
            for place, wanted in enumerate(types):
                counts[place + 1] += before[place] * (wanted == kind)
    return counts[-1]
