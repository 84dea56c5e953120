"""Events that share their time with another event of their partition, counted against Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.events import EventTable
from elsinore.executors.input import ties as module
from elsinore.executors.input.ties import ties_of
from elsinore.query.load_workload import read_workload

SCHEMA = read_schema("""\
stream: s
time: {field: t, unit: iso}
type: {field: e}
types:
  A: {user: {type: string, nullable: true}, n: {type: long, nullable: true}}
  B: {user: {type: string, nullable: true}}
  C: {n: {type: long, nullable: true}}
""")
PAIR = "QUERY q RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [user] WITHIN 1 day;"


def table(*rows: tuple[str, int, dict[str, Any]]) -> EventTable:
    return EventTable.of(SCHEMA, rows)


def counts(query: str, events: EventTable, cut: list[int] | None = None) -> list[tuple[int, ...]]:
    queries = read_workload(query, SCHEMA).queries
    found = ties_of(queries, events, None if cut is None else np.array(cut, np.int16))
    return [(one.events, one.tied, one.cut) for one in found]


def test_events_of_other_partitions_and_types_do_not_tie() -> None:
    a, b = {"user": "a"}, {"user": "b"}
    events = table(("A", 1, a), ("A", 1, b), ("A", 2, a), ("B", 2, a), ("C", 2, {}), ("C", 1, {}))
    assert counts(PAIR, events) == [(4, 2, 0)]
    assert counts(PAIR.replace("WHERE [user] ", ""), events) == [(4, 4, 0)]


def test_null_is_no_partition_of_an_equivalence() -> None:
    events = table(("A", 1, {"user": None}), ("A", 1, {"user": None}))
    assert counts(PAIR, events) == [(2, 0, 0)]
    grouped = "QUERY q RETURN A.user, COUNT(*) PATTERN A+ GROUP-BY A.user WITHIN 1 day;"
    assert counts(grouped, events) == [(2, 2, 0)]


def test_single_events_have_no_ties() -> None:
    events = table(("A", 1, {}), ("A", 1, {}))
    assert counts("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 day;", events) == []


def test_queries_with_one_partition_are_counted_once() -> None:
    events = table(("A", 1, {"user": "u"}), ("B", 1, {"user": "u"}))
    queries = read_workload(PAIR + PAIR.replace("q RET", "r RET"), SCHEMA).queries
    (one,) = ties_of(queries, events)
    assert (one.queries, one.keys, one.tied) == (("q", "r"), ("user",), 2)
    assert one.text == (
        "2 of 2 events share their time with another event of their partition (user); "
        "events with equal times are never adjacent"
    )


def test_what_ties_only_without_nanoseconds() -> None:
    user = {"user": "u"}
    events = table(*[("A", 1, user)] * 3, ("A", 2, user))
    assert counts(PAIR, events, [0, 100, 100, 7]) == [(4, 3, 1)]
    assert counts(PAIR, events, [5, 5, 5, 5]) == [(4, 3, 0)]


@seed(61)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ABC"),
            st.integers(-3, 3),
            st.sampled_from(["u", "v", None]),
            st.integers(0, 2),
        ),
        max_size=30,
    )
)
def test_as_counted_by_hand(rows: list[tuple[str, int, str | None, int]]) -> None:
    events = table(*((e, t, {} if e == "C" else {"user": u}) for e, t, u, _ in rows))
    own = [(t, u, ns) for e, t, u, ns in rows if e != "C" and u is not None]
    by_time = Counter((t, u) for t, u, _ in own)
    exact = Counter(own)
    tied = [one for one in own if by_time[one[:2]] > 1]
    wanted = sum(e != "C" for e, *_ in rows), len(tied), sum(exact[one] == 1 for one in tied)
    assert counts(PAIR, events, [row[3] for row in rows]) == ([wanted] if rows else [])


def test_many_events_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SAMPLE", 1_000)
    times = np.repeat(np.arange(25_000), 2) * 1_000_000  # whole seconds, two events each
    users = np.where(np.arange(50_000) % 4 < 2, "u", np.arange(50_000).astype(str))
    events = EventTable(
        SCHEMA,
        pa.table(
            {"_time": times, "_type": np.zeros(50_000, np.int32), "user": users,
             "n": pa.nulls(50_000, pa.int64())}
        ),
    )  # fmt: skip
    (one,) = ties_of(read_workload(PAIR, SCHEMA).queries, events)
    assert one.is_estimate
    assert abs(one.tied - 25_000) < 4_000
    assert one.text.startswith("about ")


TIMES = {
    "ns": pa.array([1_704_103_200_000_000_000 + n for n in (0, 100, 1000, 1999)],
                   pa.timestamp("ns")),
    "zone": pa.array([1_704_103_200_000_000_000 + n for n in (0, 100, 1000, 1999)],
                     pa.timestamp("ns", "UTC")),
    "text": [f"2024-01-01T10:00:00.{n:09d}Z" for n in (0, 100, 1000, 1999)],
    "short": ["2024-01-01T10:00:00", "2024-01-01T10:00:00.0000001",
              "2024-01-01T10:00:00,000001Z", "2024-01-01T11:00:00.000001999+01:00"],
}  # fmt: skip


@pytest.mark.parametrize("form", TIMES)
def test_nanoseconds_that_are_cut_off_are_reported(form: str) -> None:
    work = elsinore.workload(
        "QUERY p RETURN COUNT(*) PATTERN SEQ(A x, A y) WITHIN 1 day;",
        schema="stream: s\ntime: {field: t, unit: iso}\ntypes:\n  A: {k: string}\n",
    )
    results = work.run(pa.table({"t": TIMES[form], "k": ["a"] * 4}))
    assert results["p"]["COUNT(*)"].to_pylist() == [4]
    (one,) = results.ties
    assert (one.events, one.tied, one.cut) == (4, 4, 4)
    said = "p: 4 of 4 events share their time with another event only because"
    assert any(warning.startswith(said) for warning in results.warnings)


def test_microseconds_tie_for_real() -> None:
    work = elsinore.workload(
        "QUERY p RETURN COUNT(*) PATTERN SEQ(A x, A y) WITHIN 1 day;",
        schema="stream: s\ntime: {field: t, unit: iso}\ntypes:\n  A: {k: string}\n",
    )
    times = ["2024-01-01T10:00:00.000001Z", "2024-01-01T10:00:00.000001000Z"]
    (one,) = work.run(pa.table({"t": times, "k": ["a"] * 2})).ties
    assert (one.tied, one.cut) == (2, 0)
