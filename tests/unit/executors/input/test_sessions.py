"""Sessions as windows of positions: their bounds, any order of events, intervals, other tables."""

from __future__ import annotations

import random
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.sessions import positions_of, sessions_of
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import PartialRows, merge
from elsinore.executors.output.wire import Place, from_arrow, to_arrow
from elsinore.executors.plan import Request, RuntimePlan
from elsinore.executors.plan.alike import answered_by
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow, sorted_rows
from elsinore.timeline import Interval
from elsinore.windows import SESSION_POSITIONS
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"u": "long", "v": "long"}, "B": {"u": "long", "v": "long"}})
TEXT = """
QUERY visits RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A+, B) SESSION 3 BY u;
QUERY limited RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A+, B) SESSION 3 UP TO 5 BY u;
QUERY values RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A+, B) SESSION 4 BY u, v;
QUERY windows RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A+, B) WHERE [u] GROUP-BY u WITHIN 6;
QUERY rising RETURN COUNT(*), COUNT(EACH A) PATTERN A+ WHERE A.v < NEXT(A).v SESSION 3 BY u;
QUERY pairs RETURN COUNT(*), MAX(DURATION) PATTERN SEQ(A, B) SESSION 3 BY u;
"""


def workload() -> Workload:
    return read_workload(TEXT, SCHEMA)


def drawn(seed: int, size: int = 40) -> EventTable:
    """Events of three users in any order, some at equal times, some of no user."""
    dice = random.Random(seed)
    users = (1, 1, 2, 3, None)
    events = [
        (dice.choice("AAB"), dice.randint(-30, 60),
         {"u": dice.choice(users), "v": dice.randint(0, 2)})
        for _ in range(size)
    ]  # fmt: skip
    return EventTable.of(SCHEMA, events)


def parts_of(
    plan: RuntimePlan, events: EventTable, owned: Interval | None = None
) -> list[PartialRows]:
    return [*chain.from_iterable(plan.run(events, Request(owned)))]


def rows_of(plan: RuntimePlan, asked: Workload, parts: list[PartialRows]) -> list[ResultRow]:
    return finish(asked, parts, answered_by(plan.row_classes))


def expected(asked: Workload, events: EventTable) -> list[ResultRow]:
    return sorted_rows(chain.from_iterable(two_step(query, events) for query in asked.queries))


def test_a_position_is_the_session_and_the_rank_of_the_time() -> None:
    [query] = read_workload("QUERY q RETURN COUNT(*) PATTERN A+ SESSION 3 BY u;", SCHEMA).queries
    times = [9, 0, 3, 3, 20, 1, 2]
    users = [1, 1, 1, 2, 1, None, 1]
    kinds = "AAAAAAB"
    events = EventTable.of(
        SCHEMA, [(k, t, {"u": u}) for k, t, u in zip(kinds, times, users, strict=True)]
    )
    columns = EventColumns.of(events)
    assert query.window.session is not None
    sessions = sessions_of(columns, query.window.session)
    numbers, ranks = np.divmod(positions_of(columns, query.window), SESSION_POSITIONS)
    # By first event: 0 and 3 of user 1, 3 of user 2, 9 and 20 of user 1. B is in no session.
    assert sessions.starts.tolist() == [0, 3, 9, 20]
    assert sessions.ends.tolist() == [6, 6, 12, 23]
    assert numbers.tolist()[:5] == [2, 0, 0, 1, 3]
    assert ranks.tolist() == [4, 0, 3, 3, 5, 1, 2]


def test_queries_with_different_sessions_run_together() -> None:
    asked = workload()
    plan = RuntimePlan.of(asked.queries, sweeps=[[query.name for query in asked.queries]])
    for seed in range(20):
        events = drawn(seed)
        assert rows_of(plan, asked, parts_of(plan, events)) == expected(asked, events)


def test_each_session_ends_in_one_interval() -> None:
    asked = workload()
    sessions = Workload(SCHEMA, tuple(q for q in asked.queries if q.window.session is not None))
    plan = RuntimePlan.of(sessions.queries)
    for seed in range(10):
        events, found = drawn(seed), list[ResultRow]()
        for start in range(-40, 80, 10):
            parts = parts_of(plan, events, Interval(start, start + 10))
            rows = rows_of(plan, sessions, parts)
            assert all(start < row.window_end <= start + 10 for row in rows)
            found += rows
        assert sorted_rows(found) == expected(sessions, events)


def test_rows_of_other_tables_have_other_numbers_and_are_merged() -> None:
    """Sessions of several users and tables, sent as Arrow tables as between tasks."""
    asked = workload()
    plan = RuntimePlan.of(asked.queries)
    places = {each.run.key: Place(n) for n, each in enumerate(plan.row_classes)}
    queries = {places[each.run.key]: each.run for each in plan.row_classes}
    for seed in range(10):
        events = drawn(seed, 60)
        of_two = np.asarray(pc.fill_null(pc.equal(events.table["u"], 2), False))
        tables = [events.table.filter(pa.array(chosen)) for chosen in (of_two, ~of_two)]
        sent = [to_arrow(parts_of(plan, EventTable(SCHEMA, one)), places) for one in tables]
        parts = merge(from_arrow(pa.concat_tables(sent), queries))
        assert rows_of(plan, asked, parts) == expected(asked, events)


def test_no_event_has_no_session() -> None:
    asked = workload()
    plan = RuntimePlan.of(asked.queries)
    for events in (drawn(1, 0), EventTable.of(SCHEMA, [("A", 5, {})])):
        assert rows_of(plan, asked, parts_of(plan, events)) == []
