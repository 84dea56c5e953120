"""Sweeps of a stream chunk by chunk, as tasks read it (`engine.in_order`)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from elsinore.engine.finish import finish
from elsinore.engine.in_order import aggregate_in_order
from elsinore.engine.plan import Request, RuntimePlan
from elsinore.engine.sweep import sweep_sets
from elsinore.events import EventTable
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.timeline import Interval
from tests.property.compare import assert_same_rows, greta
from tests.unit.hamlet.random_sets import RandomSet, random_set

OWNED = (None, Interval(7, 31), Interval(-100, 5))


@pytest.mark.parametrize("number", range(12))
def test_chunks_of_any_size_give_the_rows_of_the_whole(number: int) -> None:
    found = random_set(f"short:{number}")
    swept = [query for members in sweep_sets(found.workload.queries).sets
             for query in members.queries]  # fmt: skip
    plan = RuntimePlan.of(swept, sweeps=[[query.name for query in swept]])
    ordered = EventTable(found.events.schema, found.events.table.sort_by("_time"))

    def aggregate(table: pa.Table, owned: Interval | None) -> Iterator[pa.Table]:
        events = EventTable(ordered.schema, table)
        yield pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *plan.run(events, Request(owned))])

    reach = max((query.window.within for query in swept), default=1)
    for owned in OWNED:
        whole = sorted_rows(row for query in swept for row in greta(query, ordered, owned))
        for size in (1, 7, 1_000):
            batches = ordered.table.combine_chunks().to_batches(max_chunksize=size)
            chunks = aggregate_in_order(batches, reach, aggregate, owned=owned, chunk_events=size)
            assert_same_rows(_rows(found, list(chunks)), whole)


def _rows(found: RandomSet, tables: list[pa.Table]) -> list[ResultRow]:
    table = merge_partials(pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *tables]))
    return finish(found.workload, table)
