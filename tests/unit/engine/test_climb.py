"""The exact ladder: every rung is taken where it must be, and none needlessly."""

from __future__ import annotations

import pytest

from elsinore.engine import aggregate
from elsinore.engine.climb import Totals, climb
from elsinore.events.table import EventTable
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({"A": {"x": "long", "y": "double"}})


def rungs(
    monkeypatch: pytest.MonkeyPatch, returned: str, windows: list[int], **values: object
) -> dict[int, int]:
    """How many windows end on each rung (in limbs); window k holds `windows[k]` events."""
    taken: list[Totals] = []

    def watched(*arguments: object) -> list[Totals]:
        taken.extend(climb(*arguments))  # type: ignore[arg-type]
        return taken

    monkeypatch.setattr(aggregate, "climb", watched)
    query = bound_query(f"RETURN {returned} PATTERN A+ WITHIN 10000", SCHEMA)
    stream = [
        ("A", number * 10_000 + time, values)
        for number, events in enumerate(windows)
        for time in range(events)
    ]
    aggregate.aggregate_query(query, EventTable.of(SCHEMA, stream))
    return {totals.limbs: len(totals.spans) for totals in taken if len(totals.spans)}


def test_each_window_climbs_only_as_far_as_it_must(monkeypatch: pytest.MonkeyPatch) -> None:
    # A window of n events counts 2^n - 1 trends; a rung of b bits holds counts below 2^(b - 2).
    found = rungs(monkeypatch, "COUNT(*)", [1, 62, 63, 126, 127, 254, 255])
    assert found == {1: 2, 2: 2, 4: 2, 8: 1}


def test_a_sum_climbs_where_the_count_alone_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rungs(monkeypatch, "COUNT(*)", [10]) == {1: 1}
    assert rungs(monkeypatch, "SUM(A.x)", [10], x=-(2**60)) == {2: 1}


def test_a_sum_of_doubles_climbs_when_a_double_cannot_hold_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert rungs(monkeypatch, "SUM(A.y)", [3], y=1e300) == {1: 1}
    assert rungs(monkeypatch, "AVG(A.y)", [60], y=1e300) == {2: 1}
