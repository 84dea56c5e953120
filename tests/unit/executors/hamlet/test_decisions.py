"""How bursts are decided about: query sets, lengths at which a plan turns, any forced sequence."""

from __future__ import annotations

import numpy as np
import pytest

from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.executors.hamlet.decisions import DYNAMIC, Decisions, load_costs, load_wide_costs
from elsinore.executors.hamlet.kernels.ways import ALONE, BESIDE, SHARED
from elsinore.executors.hamlet.observe import Decision, Observer
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.streams import Event


def _workload(*texts: str) -> Workload:
    queries = "".join(f"QUERY q{n} RETURN COUNT(*) {text};" for n, text in enumerate(texts))
    return read_workload(queries, SCHEMA)


def _burst(xs: list[int], first: int) -> list[Event]:
    return [("B", first + n, {"x": x}) for n, x in enumerate(xs)]


def _decided(workload: Workload, rows: list[Event], by: Decisions = DYNAMIC) -> list[Decision]:
    """The decisions about bursts of B."""
    observer = Observer()
    events = EventTable.of(SCHEMA, rows)
    aggregate_set(workload.queries, events, decisions=by, observer=observer)
    most = max(decision.k for decision in observer.decisions)
    return [decision for decision in observer.decisions if decision.k == most]


def test_a_long_burst_without_predicates_is_shared_and_a_short_one_is_not() -> None:
    """Splits and merges are counted where bursts of one type follow each other across panes."""
    workload = _workload(
        "PATTERN SEQ(A, B+) WITHIN 1000 SLIDE 100", "PATTERN SEQ(C, B+) WITHIN 1000 SLIDE 100"
    )
    rows: list[Event] = [("A", 1, {}), ("C", 2, {}), *_burst([1] * 60, 3)]
    rows += [*_burst([1], 100), *_burst([1] * 60, 200)]
    observer = Observer()
    aggregate_set(workload.queries, EventTable.of(SCHEMA, rows), observer=observer)
    bursts = [(d.b, d.queries) for d in observer.decisions if d.k == 2]
    assert bursts == [(60, (0, 1)), (1, ()), (60, (0, 1))]
    assert (observer.counts["split"], observer.counts["merged"]) == (1, 1)


def test_snapshots_are_left_to_the_queries_that_bring_few() -> None:
    """Theorem 4.5: who misses every second event is left out, who misses one event is not.

    The first twenty take all events (Theorem 4.3); twenty windows overlap.
    """
    edge = "B.x + NEXT(B).x < 1000"
    workload = _workload(
        *(f"PATTERN SEQ(A, B+) WHERE {edge} WITHIN 1000 SLIDE 50" for _ in range(20)),
        f"PATTERN SEQ(C, B+) WHERE {edge} AND B.x != 7 WITHIN 1000 SLIDE 50",
        f"PATTERN SEQ(C, B+) WHERE {edge} AND B.x % 2 = 0 WITHIN 1000 SLIDE 50",
    )
    xs = [0] * 20 + [7] + [1, 2] * 9
    rows: list[Event] = [("A", 1, {}), ("C", 2, {}), *_burst(xs, 3)]
    observer = Observer()
    aggregate_set(workload.queries, EventTable.of(SCHEMA, rows), observer=observer)
    (burst,) = [d for d in observer.decisions if d.k == 22]
    assert burst.shared < burst.alone
    assert observer.counts["event snapshots"] == 1


def test_a_predicate_that_no_other_query_has_shares_nothing() -> None:
    workload = _workload(
        "PATTERN SEQ(A, B+) WHERE B.x < NEXT(B).x WITHIN 100",
        "PATTERN SEQ(C, B+) WHERE B.x < NEXT(B).x WITHIN 100",
        "PATTERN SEQ(C, B+) WHERE B.x > NEXT(B).x WITHIN 100",
    )
    rows: list[Event] = [("A", 1, {}), ("C", 2, {}), *_burst([1, 2, 3], 3)]
    (burst,) = _decided(workload, rows)
    assert burst.queries == (0, 1)


def test_given_decisions_are_taken_in_turn() -> None:
    workload = _workload("PATTERN SEQ(A, B+) WITHIN 100", "PATTERN SEQ(C, B+) WITHIN 100")
    rows: list[Event] = [("A", 1, {}), *_burst([1, 2], 2), ("C", 5, {}), *_burst([1], 6)]
    by = Decisions.of(((ALONE, SHARED), (True, True), (BESIDE, ALONE), (ALONE, ALONE)))
    assert [d.queries for d in _decided(workload, rows, by)] == [(0, 1), ()]


def test_no_decision_at_all_is_refused() -> None:
    with pytest.raises(ParameterError):
        Decisions.of(())


def test_a_plan_turns_where_its_costs_are_equal() -> None:
    """One run of two queries, two lanes: burst + 2 product = turn * (step + 2 addition - coef.)."""
    workload = _workload("PATTERN SEQ(A, B+) WITHIN 100", "PATTERN SEQ(C, B+) WITHIN 100")
    cost = load_costs()
    exact = (cost.burst + 2 * cost.product) / (cost.step + 2 * cost.addition - cost.coefficient)
    turn = int(np.ceil(exact))
    for length in (turn - 1, turn):
        rows: list[Event] = [("A", 1, {}), ("C", 2, {}), *_burst([1] * length, 3)]
        (burst,) = _decided(workload, rows)
        assert bool(burst.queries) == (length >= turn)


def test_every_cost_is_known_and_wide_counts_cost_more() -> None:
    narrow, wide, wider = load_costs(), load_wide_costs(2), load_wide_costs(4)
    assert np.isfinite(narrow).all()
    assert min(narrow) >= 0
    assert narrow.product < wide.product < wider.product
