"""Windows from panes, each of its own events (`executors.linear.cached_panes`)."""

from __future__ import annotations

from math import inf, isnan

import pytest

from elsinore.events import EventTable
from elsinore.executors.linear.cached_panes import CachedPanes, cache_refusals
from elsinore.executors.output.finish import finish
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.query.steps import with_steps
from elsinore.results.row import ResultRow
from elsinore.timeline import Interval
from tests.golden_cases import stream_schema

SCHEMA = stream_schema(
    {"A": {"k": "long", "x": "long"}, "B": {"k": "long", "y": "double"}, "C": {"x": "long"}}
)

Event = tuple[str, int, dict[str, object]]


def workload(*clauses: str) -> Workload:
    texts = (f"QUERY q{n} RETURN {clause};" for n, clause in enumerate(clauses))
    return read_workload("\n".join(texts), SCHEMA)


def rows_of(asked: Workload, events: list[Event], owned: Interval, block: int) -> list[ResultRow]:
    """The rows of windows whose panes are each worked out from their own events alone."""
    cached = CachedPanes(asked.queries, block)
    starts = sorted({time // block * block for _, time, _ in events})
    panes = [
        part
        for start in starts
        for part in cached.pane_rows(
            EventTable.of(SCHEMA, [e for e in events if start <= e[1] < start + block]),
            Interval(start, start + block),
        )
    ]
    return finish(asked, list(cached.window_rows(panes, owned)))


def test_counts_of_any_size_come_out_of_small_panes() -> None:
    asked = workload("COUNT(*), COUNT(B) PATTERN SEQ(A, B+) WITHIN 1000 SLIDE 10")
    events: list[Event] = [("A", 0, {"k": 1, "x": 1})]
    events += [("B", time, {"k": 1, "y": 0.5}) for time in range(1, 1000)]
    (row,) = rows_of(asked, events, Interval(999, 1000), 50)
    assert dict(row.values) == {"COUNT(*)": 2**999 - 1, "COUNT(B)": 999 * 2**998}


def test_an_infinite_value_that_no_trend_holds_does_no_harm() -> None:
    asked = workload("COUNT(*), SUM(B.y), MAX(B.y) PATTERN SEQ(A, B) WITHIN 30 SLIDE 10")
    events: list[Event] = [
        ("B", 1, {"k": 1, "y": inf}), ("A", 12, {"k": 1, "x": 1}), ("B", 25, {"k": 1, "y": 2.5}),
    ]  # fmt: skip
    (row,) = rows_of(asked, events, Interval(20, 30), 10)
    assert dict(row.values) == {"COUNT(*)": 1, "SUM(B.y)": 2.5, "MAX(B.y)": 2.5}


def test_infinities_of_both_signs_make_no_number() -> None:
    asked = workload("COUNT(*), SUM(B.y) PATTERN B+ WITHIN 20 SLIDE 20")
    events: list[Event] = [("B", 1, {"k": 1, "y": inf}), ("B", 12, {"k": 1, "y": -inf})]
    (row,) = rows_of(asked, events, Interval(10, 20), 10)
    assert dict(row.values)["COUNT(*)"] == 3
    assert isnan(float(str(dict(row.values)["SUM(B.y)"])))


def test_partitions_of_one_group_are_one_row() -> None:
    asked = workload("COUNT(*), MIN(A.x) PATTERN SEQ(A, B) WHERE [k] WITHIN 40 SLIDE 20")
    events: list[Event] = [
        (kind, time + k, {"k": k} | ({"x": -k} if kind == "A" else {"y": 1.0}))
        for k in range(4)
        for kind, time in (("A", 0), ("B", 20))
    ]
    (row,) = rows_of(asked, events, Interval(20, 40), 10)
    assert (row.group, dict(row.values)) == ((), {"COUNT(*)": 4, "MIN(A.x)": -3})


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ("COUNT(EACH B)", "EACH and DISTINCT read the events of whole windows"),
        ("COUNT(*), COUNT(DISTINCT B.y)", "EACH and DISTINCT read the events of whole windows"),
        ("COUNT(*), MAX(LENGTH)", "measures of trends are computed for whole windows"),
        ("AVG(LAST(B.y) - FIRST(A.x))", "measures of trends are computed for whole windows"),
        ("STDDEV(DURATION)", "measures of trends are computed for whole windows"),
        ("STEPS", "the steps of a query are finished together"),
        ("COUNT(*), VARIANCE(B.y), SUM(A.x * A.x)", None),
        ("COUNT(*) HAVING COUNT(*) > 1", None),
    ],
)
def test_values_of_whole_windows_say_so(returned: str, why: str | None) -> None:
    values, _, having = returned.partition(" HAVING ")
    having = f"HAVING {having} " if having else ""
    found = workload(f"{values} PATTERN SEQ(A, B+) WHERE [k] {having}WITHIN 9 SLIDE 4").queries
    assert [cache_refusals(query) for query in with_steps(found)] == [
        (why,) if why else () for _ in with_steps(found)
    ]


@pytest.mark.parametrize(
    ("clauses", "why"),
    [
        ("PATTERN SEQ(A, NOT C, B) WITHIN 9", "NOT depends on events in between"),
        ("PATTERN B+ WHERE B.y < NEXT(B).y WITHIN 9", "an edge predicate looks at pairs of events"),
        ("PATTERN SEQ(A, C) GROUP-BY A.k WITHIN 9", "some of its events lack a key"),
        (
            "PATTERN B+ WITHIN 9 SLIDE 3 OFFSET 1",
            "windows with OFFSET, windows of a calendar, and sessions",
        ),
        ("PATTERN SEQ(A, B+) WHERE [k] WITHIN 9 SLIDE 4", ""),
    ],
)
def test_a_query_whose_panes_cannot_be_cached_says_why(clauses: str, why: str) -> None:
    (query,) = workload(f"COUNT(*) {clauses}").queries
    refusals = cache_refusals(query)
    assert [text[: len(why)] for text in refusals] == ([why] if why else [])


def test_queries_with_many_states_have_no_cached_panes() -> None:
    """The rows of a pane's map are pairs of states, and each is compiled with all states."""
    pattern = "SEQ(SEQ(A a, A b{0,4}){0,2}, B c{2,}){2,}"
    [query] = read_workload(f"QUERY q RETURN COUNT(*) PATTERN {pattern} WITHIN 8;", SCHEMA).queries
    assert cache_refusals(query) == ("its panes have too many pairs of states",)
    [query] = read_workload("QUERY q RETURN COUNT(*) PATTERN A{24,} WITHIN 8;", SCHEMA).queries
    assert not cache_refusals(query)
