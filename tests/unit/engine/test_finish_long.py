"""Finishing straight into the long table gives what finishing by rows gives."""

from __future__ import annotations

import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.finish import finish
from elsinore.engine.finish_long import finish_long
from elsinore.query.bound import Workload
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.results.published import LONG_SCHEMA, to_long
from elsinore.template.support import greta_refusals
from tests.property.random_cases import CALENDAR, SCHEMA, random_case

_ORDER = [(name, "ascending") for name in ("query", "group_key", "window_start", "aggregate")]


def plain(table: pa.Table) -> list[list[str]]:
    """Rows in one order as texts, in which NaN equals NaN."""
    return [[repr(value) for value in row.values()] for row in table.sort_by(_ORDER).to_pylist()]


def test_random_queries_over_the_whole_language() -> None:
    rows = 0
    for seed in range(400):
        case = random_case(seed)
        if case.schema is not CALENDAR and seed % 3:
            continue
        if greta_refusals(case.query):
            continue
        workload = Workload(case.schema, (case.query,))
        partial = aggregate_query(case.query, case.events)
        expected = to_long(finish(workload, partial))
        found = finish_long(workload, partial)
        assert found.schema == LONG_SCHEMA
        assert plain(found) == plain(expected), case.name
        rows += found.num_rows
    assert rows > 200


def test_nothing_makes_an_empty_table() -> None:
    assert finish_long(Workload(SCHEMA, ()), PARTIAL_SCHEMA.empty_table()).num_rows == 0
