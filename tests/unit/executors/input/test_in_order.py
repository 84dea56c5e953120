"""Events in the order of time, chunk by chunk: the rows of the whole table, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pytest

from elsinore.errors import EngineError
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.input.in_order import Aggregate, aggregate_in_order
from elsinore.executors.output.finish import NOTHING, Answered, finish
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.plan import Request, RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.template.support import greta_refusals
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.compare import assert_same_rows, greta
from tests.property.random_cases import SCHEMA, random_case
from tests.property.random_cases.dice import Dice
from tests.property.random_workloads import random_workload
from tests.property.ways import ways

Seen = list[tuple[int, Interval | None]]


def chunked(
    workload: Workload,
    events: EventTable,
    aggregate: Callable[[EventTable, Interval | None], Iterator[list[PartialRows]]],
    dice: Dice,
    owned: Interval | None = None,
    answered: Answered = NOTHING,
) -> tuple[list[ResultRow], Seen]:
    """Finished rows by way of chunks of a random size, and what was worked on in each."""
    seen: Seen = []

    def watched(table: pa.Table, part: Interval | None) -> Iterator[list[PartialRows]]:
        seen.append((table.num_rows, part))
        yield from aggregate(EventTable(events.schema, table), part)

    found = aggregate_in_order(
        batches_of(events, dice),
        max(query.window.within for query in workload.queries),
        watched,
        owned=owned,
        chunk_events=dice.pick((1, 1, 2, 5, 20)),
    )
    return finished(workload, found, answered), seen


def batches_of(events: EventTable, dice: Dice) -> Iterator[pa.RecordBatch]:
    """The events by time in batches of random sizes, some of them empty."""
    table = events.table.sort_by(TIME_COLUMN).combine_chunks()
    at = 0
    while at < table.num_rows:
        size = dice.pick((0, 1, 1, 2, 3, 7, 100))
        yield from table.slice(at, size).to_batches() or [_none(table)]
        at += size


def _none(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=table.schema)


def finished(
    workload: Workload, partial: Iterator[list[PartialRows]], answered: Answered = NOTHING
) -> list[ResultRow]:
    return finish(workload, merge([*chain.from_iterable(partial)]), answered)


def repeated(rows: Sequence[tuple[str, int, dict]], within: int, dice: Dice) -> list:
    """A stream again and again, overlapping, adjoining or after a gap, huge at times."""
    found, shift = [], dice.pick((0, -3 * within, 10**6))
    for _ in range(dice.number(1, 5)):
        found += [(kind, time + shift, values) for kind, time, values in rows]
        shift += dice.pick((within // 2, within, within + 1, 3 * within, 10**12))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seeds"), [("", draws(25, 150)), ("fixed:", draws(10, 60)), ("short:", draws(10, 60))]
)
def test_any_chunks_give_the_rows_of_the_whole_table(kind: str, seeds: int) -> None:
    """For any query, and for workloads that share whatever they can."""
    chunks = 0
    for seed in range(seeds):
        case = random_workload(f"{kind}{seed}") if kind else random_case(seed)
        queries = [query for query in case.workload.queries if not greta_refusals(query)]
        if not queries:
            continue
        dice = Dice(f"chunks of {kind}{seed}")
        reach = max(query.window.within for query in queries)
        schema = case.events.schema
        events = EventTable.of(schema, repeated(case.rows, reach, dice))
        workload = Workload(schema, tuple(queries))
        plan = ways(workload, case.events, case.name)[-1].plan
        owned = _some_interval(events, dice)

        def aggregate(
            table: EventTable, part: Interval | None, plan: RuntimePlan = plan
        ) -> Iterator[list[PartialRows]]:
            return plan.run(table, Request(part))

        expected = sorted_rows(row for query in queries for row in greta(query, events, owned))
        answered = answered_by(plan.row_classes)
        rows, seen = chunked(workload, events, aggregate, dice, owned, answered)
        assert_same_rows(rows, expected)
        chunks += len(seen) > 1
    assert chunks > seeds // 4


def _some_interval(events: EventTable, dice: Dice) -> Interval | None:
    """None, or an interval that the stream overlaps, or not."""
    times = events.table[TIME_COLUMN].to_pylist()
    if not times or dice.chance(0.4):
        return None
    start = dice.number(min(times) - 5, max(times) + 5)
    return Interval(start, start + dice.pick((1, 10, 50, 10**13)))


def _count(text: str) -> Workload:
    return read_workload(f"QUERY q RETURN COUNT(*) PATTERN {text};", SCHEMA)


def _stream(times: Sequence[int]) -> pa.RecordBatch:
    rows = EventTable.of(SCHEMA, [("A", time, {}) for time in times]).table.to_batches()
    return rows[0]


def _spy(seen: Seen) -> Aggregate[list[PartialRows]]:
    def aggregate(table: pa.Table, part: Interval | None) -> Iterator[list[PartialRows]]:
        seen.append((table.num_rows, part))
        yield []

    return aggregate


def test_chunks_are_as_long_as_the_reach_and_no_event_is_in_three() -> None:
    seen: Seen = []
    batches = (_stream([time]) for time in range(100))
    list(aggregate_in_order(batches, 10, _spy(seen), chunk_events=1))
    # Windows that end at 10 hold times 0 to 9; those that end up to 20 hold times from 1 on.
    assert seen[0] == (10, Interval(0, 10))
    assert seen[1] == (19, Interval(10, 20))
    assert seen[-1] == (19, Interval(90, 109))
    assert len(seen) == 10
    assert sum(size for size, _ in seen) < 2 * 100


def test_a_chunk_has_as_many_new_events_as_asked_for() -> None:
    seen: Seen = []
    batches = (_stream(range(start, start + 10)) for start in range(0, 100, 10))
    list(aggregate_in_order(batches, 1, _spy(seen), chunk_events=25))
    # After 30 events the last time seen is 29, whose events may go on: the border.
    assert seen[:2] == [(29, Interval(0, 29)), (30, Interval(29, 59))]


def test_windows_that_are_longer_than_the_stream_hold_everything_at_once() -> None:
    seen: Seen = []
    batches = (_stream([time]) for time in range(100))
    list(aggregate_in_order(batches, 1000, _spy(seen), chunk_events=1))
    assert seen == [(100, None)]


def test_events_of_equal_time_that_batches_cut_apart_stay_together() -> None:
    workload = _count("SEQ(A a, A b) WITHIN 2")
    batches = [_stream(times) for times in ([0, 1, 1], [1], [2, 2], [2, 3])]

    def aggregate(table: pa.Table, part: Interval | None) -> Iterator[list[PartialRows]]:
        yield aggregate_query(workload.queries[0], EventTable(SCHEMA, table), owned=part)

    found = aggregate_in_order(batches, 2, aggregate, chunk_events=1)
    # Window 0: 0 before three 1s. Window 2: three 2s before 3.
    assert [row.values[0][1] for row in finished(workload, found)] == [3, 3]


def test_no_events_make_no_rows() -> None:
    assert list(aggregate_in_order([], 5, _spy([]))) == []
    assert list(aggregate_in_order([_stream([0]).slice(1)], 5, _spy([]))) == []


@pytest.mark.parametrize("batches", [[[2, 1]], [[1, 3], [2]]])
def test_time_that_falls_is_refused(batches: list[list[int]]) -> None:
    with pytest.raises(EngineError, match="order of time"):
        list(aggregate_in_order(map(_stream, batches), 5, _spy([])))
