"""The papers' systems, each against the reference on small random streams; their page's figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.papers import figures, kernels, online, pointers, systems
from benchmarks.papers.draw import OTHERS, OURS, draw, draw_overview
from benchmarks.papers.factors import factor
from benchmarks.papers.figures import Point
from benchmarks.papers.measure import Found, measure
from benchmarks.papers.online import Task
from benchmarks.papers.page import HEADLINES, table_of
from benchmarks.streams import events_of, stream_of, workload_of
from elsinore.choices import Optimizer
from elsinore.errors import UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.executors.plan.choose_segments import shared_segments
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.observe import observe

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
    "RETURN k, COUNT(*), COUNT(b) PATTERN SEQ(A a, B b, A e, C c) GROUP-BY k WITHIN 40 SLIDE 10",
)
#: Workloads that share: E+ with other events around it, and fixed lengths with common parts.
AROUND = ("SEQ(A a, B b+)", "B b+", "SEQ(A a, B b+, C c)", "SEQ(C c, D d, B b+, A a, D e)")
CHAINS = (
    "SEQ(A a, B b, C c)",
    "SEQ(D d, A a, B b, C c)",
    "SEQ(A a, B b, C c, D d)",
    "SEQ(C c, D d)",
)


def make_events(seed: int, size: int = 24) -> EventTable:
    """Random events, of which some have the same time."""
    dice = np.random.default_rng(seed)
    times = np.cumsum(dice.integers(0, 3, size)) - 7
    values = {name: dice.integers(0, 2 if name == "k" else 8, size) for name in "kvw"}
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


@pytest.mark.slow
@pytest.mark.parametrize("system", [systems.sase, systems.cet, systems.flink])
@pytest.mark.parametrize("text", [*KLEENE, *FIXED])
def test_systems_that_do_not_share(system: Callable[..., list[ResultRow]], text: str) -> None:
    queries = bound(text).queries
    found = [make_events(seed) for seed in range(4)]
    assert sum(same(system(queries, events), queries, events) for events in found) > 2


@pytest.mark.parametrize("text", KLEENE[2:5])
def test_cet_cuts_its_graph_where_memory_is_short(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(systems, "BUDGET", 40 * 24)  # 40 sub-trends or fewer
    queries, events = bound(text).queries, make_events(5, size=60)
    kept: list[int] = []
    by_slices = kernels.by_slices
    monkeypatch.setattr(kernels, "by_slices", lambda *given: kept.append(by_slices(*given)))
    assert same(systems.cet(queries, events), queries, events) > 2
    assert 20 < max(kept) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("where", ["", "WHERE [k]", f"WHERE [k] AND {EDGE} AND b.w > 1"])
@pytest.mark.parametrize("window", ["WITHIN 14", "WITHIN 20 SLIDE 5"])
def test_mcep_constructs_the_trends_of_a_set_together(where: str, window: str) -> None:
    queries = bound(*(f"PATTERN {pattern} {where} {window}" for pattern in AROUND)).queries
    for seed in range(3):
        events = make_events(seed)
        assert same(systems.mcep(queries, events), queries, events) > 2
    few = make_events(0, size=3)
    same(systems.mcep(queries, few), queries, few)


def test_mcep_shares_only_what_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"PATTERN SEQ({a} a, B b+) {e} WITHIN 20" for a in "AC" for e in ("", f"WHERE {EDGE}")]
    queries, events = bound(*texts).queries, make_events(1)
    sets: list[int] = []
    complete = systems._complete

    def noted(*given: Any) -> list[ResultRow]:
        sets.append(len(given[1]))
        return complete(*given)

    monkeypatch.setattr(systems, "_complete", noted)
    assert same(systems.mcep(queries, events), queries, events) > 2
    assert sets == [2, 2]


@pytest.mark.parametrize("clauses", ["WITHIN 30", "WHERE [k] WITHIN 60 SLIDE 20"])
@pytest.mark.parametrize("optimizer", [None, Optimizer.GWMIN, Optimizer.OPTIMAL])
def test_spass_joins_pieces(clauses: str, optimizer: Optimizer | None) -> None:
    workload = bound(*(f"PATTERN {pattern} {clauses}" for pattern in CHAINS))
    for seed in range(3):
        events, shared = make_events(seed), []
        if optimizer is not None:
            statistics = observe(workload, events)
            shared = shared_segments(find_plan(workload, statistics, optimizer=optimizer))
            assert shared
        found = systems.spass(workload.queries, events, shared)
        assert same(found, workload.queries, events) > 2


def test_out_of_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, events = bound("PATTERN B b+ WITHIN 60").queries, make_events(0, size=60)
    monkeypatch.setattr(systems, "BUDGET", 12 * 20)
    with pytest.raises(pointers.OutOfMemoryError):
        systems.flink(queries, events)
    monkeypatch.setattr(pointers, "BUDGET", 4 * 10)
    with pytest.raises(pointers.OutOfMemoryError):
        systems.sase(queries, events)


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("sase", "RETURN AVG(b.v) PATTERN B b+ WITHIN 9"),
        ("sase", "PATTERN B b+ WITHIN 9 SEMANTICS contiguous"),
        ("sase", "PATTERN B b+ WHERE (b.v + NEXT(b).w) % 2 = 0 WITHIN 9"),
        ("sase", "PATTERN SEQ(NOT SEQ(N n, C c), B b+) WITHIN 9"),
        ("sase", "PATTERN SEQ(NOT N n, B b+, NOT C c) WITHIN 9"),
        ("flink", "PATTERN (SEQ(A a, B b+))+ WITHIN 9"),
        ("flink", "PATTERN SEQ(A a+, B b+) WITHIN 9"),
        ("mcep", "RETURN COUNT(b) PATTERN SEQ(A a, B b+) WITHIN 9"),
        ("mcep", "PATTERN SEQ(A a, B b) WITHIN 9"),
        ("mcep", "PATTERN SEQ(A a, B b+) WHERE a.v < NEXT(b).v WITHIN 9"),
    ],
)
def test_other_shapes_are_refused(system: str, text: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        getattr(systems, system)(bound(text).queries, make_events(0))


@pytest.mark.slow
@pytest.mark.parametrize("name", figures.EVERY)
def test_every_system_answers_as_the_reference(name: str) -> None:
    task = figures.low_setting(10, 300)
    work, to_rows = online.prepare(name, task)
    assert same(to_rows(work()), task.workload.queries, task.events) > 9


@pytest.mark.parametrize("name", ["SASE", "Flink", "SPASS", "A-Seq", "Sharon", "Sharon, greedy"])
def test_every_system_for_fixed_lengths_answers_as_the_reference(name: str) -> None:
    task = figures.purchases(4, 4, 800)
    work, to_rows = online.prepare(name, task)
    assert same(to_rows(work()), task.workload.queries, task.events) > 9


# ------------------------------------------------------------------------- factors and the page
def found(seconds: float, trends: float) -> Found:
    return Found([seconds], [1.0], {}, "", trends)


def points() -> list[Point]:
    return [
        Point(100, 100, {"SASE": found(0.5, 3), "GRETA": found(0.1, 3)}, checked=True),
        Point(200, 200, {"SASE": found(2.0, 4), "GRETA": found(0.2, 4)}),
        Point(400, 400, {"GRETA": found(0.4, 9)}, {"SASE": "time"}),
    ]


def test_factors() -> None:
    ours = factor(points(), "SASE", "GRETA")
    assert ours is not None
    assert (ours.least, ours.most, ours.lost) == ((5.0, 100), (10.0, 200), (400, "time"))
    exponent, at = ours.beyond or (0.0, 0)
    assert (round(exponent, 9), at) == (round(math.log10(2.0 * 10**5 / 0.4), 9), 400)
    assert ours.said() == (
        "**SASE / GRETA: 10** at 200 (5.00 at 100); SASE stops at 400 (time limit);"
        " extrapolated: 500,000 at 400"
    )
    assert factor(points(), "CET", "GRETA") is None


def test_the_page_tells_every_budget_that_was_broken(tmp_path: Path) -> None:
    experiment = next(each for each in figures.EXPERIMENTS if each.name == "greta-events")
    lines = table_of(experiment, points())
    assert "| SASE | 500, 1 | 2,000, 1 | time |" in lines
    assert "| checked by the reference | yes | – | – |" in lines
    shown = replace(experiment, values=(100, 200, 400))
    draw(shown, points(), tmp_path / "a.svg", 4)
    assert "stopped: time" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    overview = tmp_path / "b.svg"
    draw_overview(shown, points(), overview, 4)
    text = overview.read_text(encoding="utf-8")
    assert f">{OURS}</text>" in text
    assert f">{OTHERS}</text>" in text


@pytest.mark.slow
def test_a_measurement_ends_at_its_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "BUDGET", 2**16)
    task = Task(bound("PATTERN B b+ WITHIN 400"), make_events(0, size=300))
    assert measure("SASE", task, Found(), 1, observed=False) == "time"
    assert measure("Flink", task, Found(), 9, observed=False) == "memory"
    few = replace(task, events=make_events(0))
    one, other = Found(), Found()
    assert measure("SASE", few, one, 5, observed=False) is None
    assert measure("GRETA", few, other, 5, observed=False) is None
    assert one.answer == other.answer != ""


def test_the_page_is_there_and_names_every_figure() -> None:
    page = (Path(figures.__file__).parents[2] / "docs" / "benchmarks" / "papers.md").read_text(
        encoding="utf-8"
    )
    for experiment in figures.EXPERIMENTS:
        assert f"### {experiment.title}\n" in page
        assert f"pictures/papers-{experiment.name}.svg" in page
        assert f"*{experiment.figures}.* The paper: {experiment.claim}\n" in page
        assert f"{experiment.why} *Workload:* {experiment.setting}\n" in page
        assert f"| {experiment.variable}: ms, MB |" in page
    for claim, *_ in HEADLINES:
        assert f"| {claim} |" in page
