"""Swept queries against greta on random workloads, and against what can be worked out by hand.

`python -m tests.unit.sweep --workloads 3000` compares more of the same.
"""

from __future__ import annotations

import importlib
from collections import Counter

import pyarrow as pa
import pytest

from elsinore.engine.finish import finish
from elsinore.engine.sweep import aggregate_sweep, sweep_refusals, sweep_sets
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from elsinore.results.row import ResultRow
from elsinore.timeline import Interval
from tests.draws import draws
from tests.golden_cases import GoldenCase, golden_cases, row_texts
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.streams import Event
from tests.unit.sweep.__main__ import judge_numbered

#: The first test compiles the kernels where they are not in the cache.
pytestmark = pytest.mark.timeout(1200)

COLLAPSED = [case for case in golden_cases("greta") if not sweep_refusals(case.query)]


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("case", draws(100, 300)),
        ("fixed", draws(15, 40)),
        ("short", draws(20, 60)),
        ("long", draws(10, 30)),
    ],
)
def test_swept_rows_are_gretas(kind: str, number: int) -> None:
    tally: Counter[str] = Counter()
    for n in range(number):
        judge_numbered(kind, n, tally)
    assert tally["sets"] > number / 4
    assert tally["rows"] > number
    assert tally["with reference"] > number / 8


@pytest.mark.parametrize("case", COLLAPSED, ids=str)
def test_golden_cases(case: GoldenCase) -> None:
    (members,) = sweep_sets([case.query]).sets
    rows = finish(
        Workload(case.events.schema, (case.query,)), aggregate_sweep(members, case.events)
    )
    assert row_texts(rows) == case.rows


def test_the_papers_collapsed_figures_are_among_them() -> None:
    names = {case.name for case in COLLAPSED}
    assert {
        *("GRETA figure 4a", "GRETA figure 4b", "GRETA figure 6", "GRETA section 9, star"),
        *("Hamlet table 3, a burst of a Kleene type", "Sharon figure 7"),
    } <= names


def _workload(*texts: str) -> Workload:
    queries = "".join(f"QUERY q{n} {text};" for n, text in enumerate(texts))
    return bind_workload(parse_workload(queries), SCHEMA)


def _rows(workload: Workload, events: EventTable) -> list[ResultRow]:
    found = sweep_sets(workload.queries)
    assert not found.beside
    return finish(
        workload, pa.concat_tables([aggregate_sweep(members, events) for members in found.sets])
    )


@pytest.mark.parametrize("burst", [1, 2, 51, 52, 53, 59, 61, 62, 63, 64, 65, 127, 128, 200, 1_000])
def test_counts_are_exact_at_every_width(burst: int) -> None:
    """One start, then b events: 2^b - 1 trends, each B in 2^(b-1); two starts double both."""
    workload = _workload(
        "RETURN COUNT(*), COUNT(B), SUM(B.x), MAX(B.x) PATTERN SEQ(A, B+) WITHIN 100000",
        "RETURN COUNT(*), COUNT(B), AVG(B.y) PATTERN SEQ(C, B+) WITHIN 100000",
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 100000",
    )
    rows: list[Event] = [("A", 0, {}), ("C", 0, {}), ("C", 1, {})]
    rows += [("B", time, {"x": -3, "y": 0.5}) for time in range(2, burst + 2)]
    trends, halves = 2**burst - 1, burst * 2 ** (burst - 1)
    assert [row.values for row in _rows(workload, EventTable.of(SCHEMA, rows))] == [
        (
            ("COUNT(*)", trends),
            ("COUNT(B)", halves),
            ("SUM(B.x)", -3 * halves),
            ("MAX(B.x)", -3),
        ),
        (("COUNT(*)", 2 * trends), ("COUNT(B)", 2 * halves), ("AVG(B.y)", 0.5)),
        (("COUNT(*)", trends),),
    ]


@pytest.mark.parametrize("times", [3, 30, 70, 300])
def test_events_of_one_time_never_follow_each_other(times: int) -> None:
    """Two B at each of n times: 3 choices each, so 3^n - 1 trends, times the A before them all.

    A type that is not asked for stands between, and C ties with each pair.
    """
    workload = _workload(
        "RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+) WITHIN 100000",
        "RETURN COUNT(*) PATTERN (B OR C)+ WITHIN 100000",
        "RETURN COUNT(*) PATTERN B+ WITHIN 100000",
    )
    rows: list[Event] = [("A", -1, {})]
    for time in range(times):
        rows += [("B", time, {}), ("D", time, {}), ("B", time, {}), ("C", time, {})]
    found = [row.values for row in _rows(workload, EventTable.of(SCHEMA, rows))]
    assert found == [  # windows begin at -100,000 and at 0, so that A is alone in its own
        (("COUNT(*)", 4**times - 1),),
        (("COUNT(*)", 3**times - 1),),
    ]
    rows[0] = ("A", 0, {})
    shifted = [(kind, time + (kind != "A"), values) for kind, time, values in rows]
    found = [row.values for row in _rows(workload, EventTable.of(SCHEMA, shifted))]
    # Each B is in 3^(n-1) trends.
    assert found[0] == (("COUNT(*)", 3**times - 1), ("COUNT(B)", 2 * times * 3 ** (times - 1)))


def test_windows_before_the_first_event_and_at_negative_times() -> None:
    workload = _workload("RETURN COUNT(*) PATTERN B+ WITHIN 10 SLIDE 4")
    rows: list[Event] = [("B", time, {}) for time in (-9, -8, -3, 6, 7)]
    found = _rows(workload, EventTable.of(SCHEMA, rows))
    assert [(row.window_start, row.values[0][1]) for row in found] == [
        (-16, 3),  # -9, -8
        (-12, 7),  # -9, -8, -3
        (-8, 3),  # -8, -3
        (-4, 1),  # -3
        (0, 3),  # 6, 7
        (4, 3),
    ]


def test_only_the_owned_windows_are_worked_out() -> None:
    workload = _workload(
        "RETURN COUNT(*) PATTERN B+ WITHIN 10 SLIDE 5",
        "RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10",
    )
    events = EventTable.of(SCHEMA, [("A" if t % 4 == 0 else "B", t, {}) for t in range(40)])
    (members,) = sweep_sets(workload.queries).sets
    table = aggregate_sweep(members, events, owned=Interval(10, 20))
    ends = sorted((row["query"], row["window_end"]) for row in table.to_pylist())
    assert ends == [("q0", 15), ("q0", 20), ("q1", 20)]


def test_rows_go_on_where_their_room_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows [5k, 5k + 20) over an event at each time; more rows, and wide ones, than room."""
    run = importlib.import_module("elsinore.engine.sweep.run")
    monkeypatch.setattr(run, "_ROWS", 3)
    monkeypatch.setattr(run, "_OUTGROWN", 2)
    workload = _workload(
        "RETURN COUNT(*), SUM(B.x) PATTERN B+ WITHIN 20 SLIDE 5",
        "RETURN COUNT(*) PATTERN B+ WHERE B.x < 9 WITHIN 20 SLIDE 5",
    )
    heavy = 2**62
    rows: list[Event] = [("B", t, {"x": heavy if t % 2 else 0}) for t in range(100)]
    found = _rows(workload, EventTable.of(SCHEMA, rows))
    begins = range(-15, 100, 5)
    insides = [[t for t in range(begin, begin + 20) if 0 <= t < 100] for begin in begins]
    assert [row.values for row in found] == [
        (
            ("COUNT(*)", 2 ** len(inside) - 1),
            ("SUM(B.x)", heavy * sum(t % 2 for t in inside) * 2 ** (len(inside) - 1)),
        )
        for inside in insides
    ] + [(("COUNT(*)", 2 ** sum(t % 2 == 0 for t in inside) - 1),) for inside in insides]


def test_tables_in_pieces_and_slices_of_tables() -> None:
    workload = _workload("RETURN COUNT(*) PATTERN B+ WITHIN 1000")
    whole = EventTable.of(SCHEMA, [("B", t, {}) for t in range(10)])
    for table, events in (
        (whole.table.slice(3), 7),
        (pa.concat_tables([whole.table.slice(5), whole.table.slice(0, 2)]), 7),
        (whole.table.slice(0, 0), 0),
    ):
        rows = _rows(workload, EventTable(SCHEMA, table))
        assert [row.values[0][1] for row in rows] == [2**events - 1] * bool(events)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(A, NOT C, B)", "NOT looks at events between"),
        ("PATTERN B+ WHERE B.x < NEXT(B).x", "an edge predicate looks at pairs of events"),
        ("PATTERN B+ SEMANTICS contiguous", "contiguous looks at events between"),
        ("PATTERN A AND B", "AND counts pairs of trends"),
    ],
)
def test_what_cannot_be_swept_is_refused_by_reason(text: str, reason: str) -> None:
    (query,) = _workload(f"RETURN COUNT(*) {text} WITHIN 10").queries
    assert sweep_refusals(query) == (reason,)
    assert sweep_sets([query]).beside == ((query, reason),)
