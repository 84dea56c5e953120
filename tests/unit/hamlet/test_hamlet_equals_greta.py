"""Hamlet, however it decides, against greta and the reference on random sharable workloads.

`python -m tests.unit.hamlet --workloads 10000` compares more of the same.
"""

from __future__ import annotations

import importlib
from collections import Counter

import pytest

from elsinore.engine.finish import finish
from elsinore.engine.hamlet import aggregate_set
from elsinore.engine.hamlet.decisions import ALWAYS, DYNAMIC, NEVER, Decisions
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.streams import Event
from tests.unit.hamlet.judge_sets import judge_set
from tests.unit.hamlet.random_sets import random_set

SHORT, LONG = draws(30, 90), draws(10, 30)


def test_hamlet_equals_greta_and_the_reference() -> None:
    tally: Counter[str] = Counter()
    for number in range(SHORT):
        judge_set(random_set(f"short:{number}"), tally, reference=True)
    assert tally["against the reference"] > 3 * SHORT
    assert tally["answers"] > SHORT


def test_hamlet_equals_greta_on_long_bursts() -> None:
    tally: Counter[str] = Counter()
    for number in range(LONG):
        judge_set(random_set(f"long:{number}"), tally, reference=False)
    assert tally["answers"] > LONG


def _workload(*texts: str) -> Workload:
    queries = "".join(f"QUERY q{n} {text};" for n, text in enumerate(texts))
    return bind_workload(parse_workload(queries), SCHEMA)


@pytest.mark.parametrize("by", [ALWAYS, NEVER, DYNAMIC, Decisions.random(3)])
@pytest.mark.parametrize("burst", [1, 61, 62, 63, 64, 126, 200, 1_000])
def test_counts_are_exact_at_every_width(by: Decisions, burst: int) -> None:
    """One start, then b events: 2^b - 1 trends, each B in 2^(b-1); two starts double both."""
    workload = _workload(
        "RETURN COUNT(*), COUNT(B), SUM(B.x), MAX(B.x) PATTERN SEQ(A, B+) WITHIN 100000",
        "RETURN COUNT(*), COUNT(B), AVG(B.y) PATTERN SEQ(C, B+) WITHIN 100000",
    )
    rows: list[Event] = [("A", 0, {}), ("C", 0, {}), ("C", 1, {})]
    rows += [("B", time, {"x": -3, "y": 0.5}) for time in range(2, burst + 2)]
    events = EventTable.of(SCHEMA, rows)
    found = finish(workload, aggregate_set(workload.queries, events, decisions=by))
    trends, halves = 2**burst - 1, burst * 2 ** (burst - 1)
    assert [row.values for row in found] == [
        (
            ("COUNT(*)", trends),
            ("COUNT(B)", halves),
            ("SUM(B.x)", -3 * halves),
            ("MAX(B.x)", -3),
        ),
        (("COUNT(*)", 2 * trends), ("COUNT(B)", 2 * halves), ("AVG(B.y)", 0.5)),
    ]


def test_greta_takes_over_where_members_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("elsinore.engine.hamlet.aggregate_set")
    monkeypatch.setattr(module, "LARGEST_SCRATCH", 0)
    tally: Counter[str] = Counter()
    for number in range(6):
        judge_set(random_set(f"short:{number}"), tally, reference=False)
    assert tally["answers"]


def test_only_the_owned_windows_are_worked_out() -> None:
    workload = _workload(
        "RETURN COUNT(*) PATTERN B+ WITHIN 10 SLIDE 5",
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10",
    )
    events = EventTable.of(SCHEMA, [("A" if t % 4 == 0 else "B", t, {}) for t in range(40)])
    owned = Interval(10, 20)
    table = aggregate_set(workload.queries, events, owned=owned)
    ends = sorted((row["query"], row["window_end"]) for row in table.to_pylist())
    assert ends == [("q0", 15), ("q0", 20), ("q1", 20)]


def test_snapshots_at_event_level_carry_weighted_counts() -> None:
    """Hamlet Figure 5(c) with sums: q1 takes every B, q0 not the second; q0 has an edge predicate.

    q0 after a: {b3}, {b5}, {b3, b5}, 2 * 2 + 2 * 7 = 18. q1: every subset of b3, b4, b5 but the
    empty one, 4 * (2 + 5 + 7) = 56.
    """
    workload = _workload(
        "RETURN COUNT(*), SUM(B.x), COUNT(B) PATTERN SEQ(A, B+) "
        "WHERE B.x != 5 AND B.x < NEXT(B).x WITHIN 100",
        "RETURN COUNT(*), SUM(B.x) PATTERN SEQ(C, B+) WITHIN 100",
    )
    rows: list[Event] = [("A", 1, {}), ("C", 2, {})]
    rows += [("B", time, {"x": x}) for time, x in ((3, 2), (4, 5), (5, 7))]
    table = aggregate_set(workload.queries, EventTable.of(SCHEMA, rows), decisions=ALWAYS)
    assert [row.values for row in finish(workload, table)] == [
        (("COUNT(*)", 3), ("SUM(B.x)", 18), ("COUNT(B)", 4)),
        (("COUNT(*)", 7), ("SUM(B.x)", 56)),
    ]
