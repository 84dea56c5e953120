"""The exact ladder: every rung is taken where it must be, and none needlessly."""

from __future__ import annotations

import pytest

from elsinore.engine.columns import EventColumns
from elsinore.engine.run_template import run_template
from elsinore.events import EventTable
from elsinore.lowering.carriers import carriers_of
from elsinore.template.build import build_templates
from tests.golden_cases import bound_query, stream_schema

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
    found = run_template(query, template, carriers_of(query), [], columns, None)
    assert found is not None
    return {totals.limbs: len(totals.spans) for totals in found.rungs if len(totals.spans)}


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
