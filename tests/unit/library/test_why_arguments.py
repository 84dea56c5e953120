"""What `why` of the library takes for a group and for the start of a window."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import elsinore

TYPED = """
stream: s
time: {field: time, unit: integer}
types:
  A:
    k: {type: long, nullable: true}
    x: {type: double, nullable: true}
    t: {type: timestamp, nullable: true}
    b: {type: boolean, nullable: true}
"""
EVENTS = pa.table({
    "time": [1, 2, 3, 4],
    "k": [7, None, 7, -(2**63)],
    "x": [0.0, 1.0, None, 0.0],
    "t": pa.array([0, None, 0, 1], pa.timestamp("us", "UTC")),
    "b": [True, None, False, True],
})  # fmt: skip


def typed(keys: str) -> elsinore.Workload:
    query = f"QUERY q RETURN {keys}, COUNT(*) PATTERN A GROUP-BY {keys} WITHIN 9;"
    return elsinore.workload(query, schema=TYPED)


@pytest.mark.parametrize("keys", ["k", "x", "t", "b", "k, x", "t, b"])
def test_why_takes_the_groups_and_windows_that_results_hold(keys: str) -> None:
    work = typed(keys)
    results = work.run(EVENTS)
    arrow, pandas, polars = results["q"], results.to_pandas()["q"], results.to_polars()["q"]
    count = arrow["COUNT(*)"].to_pylist()
    for row in range(arrow.num_rows):
        held = [
            arrow.to_pylist()[row], pandas.iloc[row].to_dict(), pandas.to_dict("records")[row],
            polars.to_dicts()[row], {name: arrow[name][row] for name in arrow.column_names},
            {name: pandas[name].iloc[row] for name in pandas},
        ]  # fmt: skip
        for each in held:
            group = {name: each[name] for name in keys.split(", ")}
            if isinstance(group.get("k"), float) and group["k"] == -(2.0**63):  # so pandas has it
                with pytest.raises(elsinore.ParameterError, match="may have been rounded"):
                    work.why(EVENTS, "q", group, each["window_start"])
            else:
                assert work.why(EVENTS, "q", group, each["window_start"]).count == count[row], each


@pytest.mark.parametrize(
    ("group", "count"),
    [
        ({"x": 0}, 2), ({"x": -0.0}, 2), ({"x": np.float32(1)}, 1), ({"x": 10**400}, 0),
        ({"k": np.int64(7)}, 2), ({"k": pd.NA}, 1), ({"b": np.bool_(True)}, 2),
        ({"t": "1970-01-01T00:00:00Z"}, 2), ({"t": "1970-01-01"}, 2), ({"t": date(1970, 1, 1)}, 2),
        ({"t": pd.Timestamp(0)}, 2), ({"t": np.datetime64(1000, "ns")}, 1), ({"t": pd.NaT}, 1),
        ({"t": np.datetime64("NaT")}, 1), ({"t": "1970-01-01T01:00+01:00"}, 2),
    ],
)  # fmt: skip
def test_the_values_of_a_group_are_taken_by_their_type(group: dict[str, Any], count: int) -> None:
    found = typed(next(iter(group))).why(EVENTS, "q", group, 0)
    assert found.count == count
    assert repr(found).startswith("q {")


def test_nan_is_null_where_no_double_is_nan() -> None:
    events = pl.DataFrame({"time": [1, 2, 3], "x": [float("nan"), float("nan"), None]})
    with_rest = events.with_columns(k=1, t=None, b=True)
    work, nan = typed("x"), {"x": float("nan")}
    assert [work.why(with_rest[rows:], "q", nan, 0).count for rows in (0, 1, 2)] == [2, 1, 1]
    assert work.why(with_rest, "q", {"x": None}, 0).count == 1


@pytest.mark.parametrize(
    ("group", "error"),
    [
        ({"k": 7.5}, "7.5 is not a long .k is a"), ({"k": "7"}, "'7' is not a long"),
        ({"k": 2**63}, "not a long"), ({"k": True}, "True is not a"), ({"b": 1}, "1 is not a bool"),
        ({"x": "1"}, "'1' is not a double"), ({"x": pd.Series([1])}, "is not a double"),
        ({"t": 0}, "0 is not a timestamp"), ({"t": "soon"}, "'soon' is not an ISO 8601 timestamp"),
        ({"t": "0001-01-01T00:00+01:00"}, "not in the years"), ({}, "{} is not a group of q"),
        (None, "None is not a group of q .pass a value for each of k"),
    ],
)  # fmt: skip
def test_values_that_are_none_of_the_type_are_refused(group: Any, error: str) -> None:
    with pytest.raises(elsinore.ParameterError, match=error):
        typed(next(iter(group or "k"))).why(EVENTS, "q", group, 0)


TEN = datetime(2025, 3, 3, 10, tzinfo=UTC)


def count_from(start: object, within: str = "1 hour") -> int | None:
    """The trends of two events after ten, in the window that starts at what is given."""
    schema = "stream: s\ntime: {field: time, unit: iso}\ntypes: {A: {}}"
    query = f"QUERY q RETURN COUNT(*) PATTERN A WITHIN {within};"
    events = pa.table({"time": [TEN, TEN + timedelta(minutes=1)]})
    return elsinore.workload(query, schema=schema).why(events, "q", {}, start).count  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "start",
    [
        "2025-03-03T10:00", 1740996000000000, np.int64(1740996000000000), 1740996000e6,
        TEN, TEN.replace(tzinfo=None), pd.Timestamp(TEN),
        np.datetime64("2025-03-03T10"), np.datetime64("2025-03-03T10", "ns"),
        pa.scalar(1740996000000000, pa.timestamp("us", "UTC")),
    ],
)  # fmt: skip
def test_a_window_is_named_by_its_start_of_any_kind(start: object) -> None:
    assert count_from(start) == 2


def test_a_day_begins_at_midnight() -> None:
    for day in (date(2025, 3, 3), np.datetime64("2025-03-03"), pa.scalar(date(2025, 3, 3))):
        assert count_from(day, "1 day") == 2


@pytest.mark.parametrize(
    "start",
    [
        None, pd.NaT, 10**30, -(10**30), 2**63 - 1, 5.7, "soon", True, [],
        np.datetime64("20000-01-01"), pd.Timestamp(np.datetime64("20000-01-01")),
        "0001-01-01T00:00+01:00", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        pa.scalar(2**62, pa.timestamp("us")),
    ],
)  # fmt: skip
def test_what_is_no_start_of_a_window_is_refused(start: Any) -> None:
    with pytest.raises(elsinore.ParameterError, match=r"pass the window's start, as in 2013-"):
        count_from(start)
    with pytest.raises(
        elsinore.ParameterError, match=r"pass the window's start, as a whole number"
    ):
        typed("k").why(EVENTS, "q", {"k": 7}, start)


def test_ticks_are_whole_numbers() -> None:
    assert typed("k").why(EVENTS, "q", {"k": 7}, 0.0).count == 2  # type: ignore[arg-type]
    for start in ("0", "2013-02-08", TEN, 5.7):
        with pytest.raises(
            elsinore.ParameterError, match=r"is not a long .*start, as a whole number"
        ):
            typed("k").why(EVENTS, "q", {"k": 7}, start)  # type: ignore[arg-type]


def test_the_other_arguments_are_looked_at() -> None:
    for limit in (-1, 2.5, None):
        with pytest.raises(elsinore.ParameterError, match=r"limit is .* number of at least 0"):
            typed("k").why(EVENTS, "q", {"k": 7}, 0, limit=limit)  # type: ignore[arg-type]
    assert typed("k").why(EVENTS, "q", {"k": 7}, 0, limit=0).trends == []
    pairs = "QUERY q RETURN COUNT(*) PATTERN A x AND A y WITHIN 9;"
    work = elsinore.workload(pairs, schema=TYPED)
    with pytest.raises(elsinore.ParameterError, match=r"pass \{\}: it has no groups"):
        work.why(EVENTS[:0], "q", {"k": 7}, 0)
