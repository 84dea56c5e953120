"""`time.then` of a schema: events with equal times in the order of a field, or of the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import elsinore
from elsinore.errors import DataError, SchemaError
from elsinore.library.infer_order import infer_order

SCHEMA = """
stream: s
time: {{field: t, unit: s{then}}}
type: {{field: k}}
types: {{A: {{v: long}}, B: {{v: long}}, N: {{}}}}
"""
EXECUTORS = ("auto", "greta", "twostep")


def rows(query: str, events: Any, then: str = "seq", executor: str = "auto") -> list[Any]:
    schema = SCHEMA.format(then=f", then: {then}" if then else "")
    asked = elsinore.workload(f"QUERY q RETURN {query};", schema=schema)
    columns = asked.run(events, executor=executor)["q"].drop_columns(["window_start", "window_end"])
    return [tuple(row.values()) for row in columns.to_pylist()]


def event(kind: str, time: int, seq: int | None, v: int = 1) -> dict[str, Any]:
    own = {} if kind == "N" else {"v": v}
    return {"t": time, "k": kind, **own, **({} if seq is None else {"seq": seq})}


def frame(*events: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(list(events))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_events_with_equal_times_follow_each_other_in_their_order(executor: str) -> None:
    events = frame(event("B", 1, 3), event("A", 1, 2), event("B", 1, 1), event("A", 1, 3))
    assert rows("COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute", events, "seq", executor) == [(1,)]
    assert rows("COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute", events, "", executor) == []


@pytest.mark.parametrize("executor", EXECUTORS)
def test_not_and_semantics_follow_the_order(executor: str) -> None:
    events = frame(event("A", 1, 1), event("N", 1, 2), event("B", 1, 3), event("B", 1, 4))
    absent = "COUNT(*) PATTERN SEQ(A, NOT N, B) WITHIN 1 minute"
    assert rows(absent, events, "seq", executor) == []
    assert rows(absent, events.drop(index=1), "seq", executor) == [(2,)]
    first = "COUNT(*) PATTERN SEQ(A, B) SEMANTICS skip-till-next-match WITHIN 1 minute"
    assert rows(first, events, "seq", executor) == [(1,)]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_windows_spans_and_durations_look_at_the_time_only(executor: str) -> None:
    events = frame(event("A", 0, 900), event("B", 5, 1), event("B", 6, 0), event("B", 5, 901))
    spans = "COUNT(*), MAX(DURATION), MIN(DURATION) PATTERN SEQ(A, B) SPAN 5 seconds PER 1 minute"
    seconds = pd.Timedelta("5s").to_pytimedelta()
    assert rows(spans, events, "seq", executor) == [(2, seconds, seconds)]
    windows = "COUNT(*), MAX(DURATION) PATTERN SEQ(A, B+) WITHIN 6 seconds"
    assert rows(windows, events, "seq", executor) == [(3, seconds)]


def test_events_with_equal_numbers_still_tie() -> None:
    events = frame(event("A", 1, 2), event("B", 1, 2), event("B", 2, 2))
    asked = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute;",
                              schema=SCHEMA.format(then=", then: seq"))  # fmt: skip
    found = asked.run(events)
    assert found["q"]["COUNT(*)"].to_pylist() == [1]
    assert [one.tied for one in found.ties] == [2]


def test_numbers_of_64_bits_and_negative_times() -> None:
    events = frame(event("A", -5, -(2**63)), event("B", -5, 2**63 - 1), event("A", -5, 0))
    assert rows("COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute", events) == [(2,)]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "frame"])
def test_the_order_of_the_file(form: str, tmp_path: Path) -> None:
    events = [event("A", 1, None), event("B", 1, None), event("A", 1, None), event("B", 2, None)]
    source: Any = frame(*events)
    if form == "jsonl":
        source = tmp_path / "e.jsonl"
        source.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    elif form == "csv":
        frame(*events).to_csv(tmp_path / "e.csv", index=False)
        source = tmp_path / "e.csv"
    elif form == "parquet":
        source = tmp_path / "e.parquet"
        pq.write_table(pa.Table.from_pylist(events), source)
    query = "COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute"
    assert rows(query, source, "record_number") == [(3,)]


def test_an_event_without_a_number_is_rejected() -> None:
    events = frame(event("A", 1, 1), event("B", 2, None))
    with pytest.raises(DataError, match=r"event_order \(field seq\) is missing"):
        rows("COUNT(*) PATTERN SEQ(A, B) WITHIN 1 minute", events)


def test_the_attribute_of_the_order_is_reserved() -> None:
    schema = SCHEMA.format(then=", then: seq").replace("v: long", "event_order: long")
    with pytest.raises(SchemaError, match="event_order: the name is reserved"):
        elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9;", schema=schema)
    free = SCHEMA.format(then="").replace("v: long", "event_order: long")
    elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 9 seconds;", schema=free)


def test_too_many_events_at_one_time_are_refused() -> None:
    events = pd.DataFrame({"t": [1e9 + 1e-6] * 9_000, "k": "A", "v": 1, "seq": range(9_000)})
    with pytest.raises(DataError, match=r"9,000 events have one time.* \(round times to seconds"):
        rows("COUNT(*) PATTERN A WITHIN 1 minute", events)
    events["t"] = 10**9
    assert rows("COUNT(*) PATTERN A WITHIN 1 minute", events) == [(9_000,)]


TIMES = pa.array([5, 5, 6, 6, 6, 9])


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ({"n": [1, 2, 1, 2, 3, 0]}, "n"),
        ({"n": [2, 1, 1, 2, 3, 0]}, "record_number"),  # neither named like one nor ascending
        ({"Seq": [2, 1, 1, 2, 3, 0]}, "Seq"),
        ({"n": [1, 2, 1, 2, 3, 0], "offset": [9, 8, 7, 6, 5, 4]}, "offset"),
        ({"seq": [1, 1, 1, 2, 3, 0]}, "record_number"),  # the first two tie
        ({"seq": [1, 2, 1, None, 3, 0]}, "record_number"),
        ({"seq": [1.0, 2, 1, 2, 3, 0]}, "record_number"),
    ],
)
def test_a_sequence_number_is_preferred(columns: dict[str, Any], found: str) -> None:
    assert infer_order(TIMES, pa.table(columns), [*columns]) == found


def test_nothing_is_inferred_without_ties_or_an_order() -> None:
    table = pa.table({"n": [1, 1, 1]})
    assert infer_order(pa.array([3, 2, 2]), table, ["n"]) is None
    assert infer_order(pa.array([1, 2, 3]), table, ["n"]) is None
    assert infer_order(pa.array([1, None, 1]), table, ["n"]) is None
    assert infer_order(pa.array([], pa.int64()), table, []) is None
