"""The exact ladder: every rung is taken where it must be, none needlessly, in little room."""

from __future__ import annotations

import numpy as np
import pytest

import elsinore.executors.graph.climb as ladder
from elsinore.events import EventTable
from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.orders import Orders, fill_domains
from elsinore.executors.graph.kernels.work import Work, make_work
from elsinore.executors.graph.run_template import run_template
from elsinore.executors.input.columns import EventColumns
from elsinore.template.build import build_templates
from tests.golden_cases import bound_query, stream_schema
from tests.property.compare import greta

SCHEMA = stream_schema({"A": {"x": "long", "y": "double"}, "N": {}})


def rungs(
    returned: str, windows: list[int], pattern: str = "A+", **values: object
) -> dict[int, int]:
    """How many windows end on each rung (in limbs); window k holds `windows[k]` events."""
    query = bound_query(f"RETURN {returned} PATTERN {pattern} WITHIN 10000", SCHEMA)
    stream = [
        ("A", number * 10_000 + time, values)
        for number, events in enumerate(windows)
        for time in range(events)
    ]
    columns = EventColumns(EventTable.of(SCHEMA, [*stream, ("N", -1, {})]))
    (template,) = build_templates(query)
    found = run_template(query, template, {}, columns, None)
    shapes = (rows.counts.shape for rungs in found.parts for rows in rungs)
    return {wide[0] if wide else 1: windows for windows, _, *wide in shapes if windows}


@pytest.mark.parametrize("pattern", ["A+", "SEQ(NOT N, A+)", "(SEQ(A, NOT N))+", "SEQ(N?, A+)"])
def test_each_window_climbs_only_as_far_as_it_must(pattern: str) -> None:
    # A window of n events counts 2^n - 1 trends; a rung of b bits holds counts below 2^(b - 2).
    found = rungs("COUNT(*)", [1, 62, 63, 126, 127, 254, 255], pattern)
    assert found == {1: 2, 2: 2, 4: 2, 8: 1}


def test_a_sum_climbs_where_the_count_alone_would_not() -> None:
    assert rungs("COUNT(*)", [10]) == {1: 1}
    assert rungs("SUM(A.x)", [10], x=-(2**60)) == {2: 1}


def test_a_sum_of_doubles_climbs_when_a_double_cannot_hold_it() -> None:
    assert rungs("SUM(A.y)", [3], y=1e300) == {1: 1}
    assert rungs("AVG(A.y)", [60], y=1e300) == {2: 1}


@pytest.mark.parametrize(
    ("text", "pairs", "trees"),
    [
        ("A+", 3, 3),  # the entries of an instant
        ("A+ SEMANTICS skip-till-next-match", 3, 3),
        ("A+ WHERE A.x < NEXT(A).x", 5, 3),
        ("A+ WHERE A.x + NEXT(A).x > 0", 5, 5),  # those of a window
        ("A+ WHERE A.x < NEXT(A).x SEMANTICS skip-till-next-match", 5, 5),
    ],
)
def test_no_more_entries_are_held_than_are_looked_at_again(
    text: str, pairs: int, trees: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern, _, semantics = text.partition(" SEMANTICS")
    clause = f"SEMANTICS{semantics}" if semantics else ""
    query = bound_query(f"RETURN COUNT(*) PATTERN {pattern} WITHIN 10 {clause}", SCHEMA)
    events = EventTable.of(SCHEMA, [("A", time, {"x": time}) for time in (1, 2, 2, 2, 3)])
    held: list[int] = []

    def watched(graph: Graph, spans: np.ndarray, limbs: int, orders: Orders | None = None) -> Work:
        work = make_work(graph, spans, limbs, orders)
        held.append(work.entries.counts.shape[0])
        return work

    monkeypatch.setattr(ladder, "make_work", watched)
    for least in (10**9, 1):
        monkeypatch.setattr(ladder, "BY_ORDER", least)
        assert greta(query, events)
    assert held == [pairs, trees]


def test_overlapping_windows_share_ranks_and_others_do_not() -> None:
    spans = np.array([[0, 10, 0, 0], [5, 15, 0, 1], [12, 41, 0, 2], [41, 50, 1, 0]])
    domain_of, domains = np.empty(4, np.int64), np.empty((4, 2), np.int64)
    # The first two fill 15 places, no more than four times their 10; with the third it were 41.
    assert fill_domains(spans, 4, domain_of, domains) == 3
    assert domain_of.tolist() == [0, 0, 1, 2]
    assert domains[:3].tolist() == [[0, 15], [12, 41], [41, 50]]
