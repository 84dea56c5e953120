"""Unfinished rows add up, in whatever parts they come."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.executors.output.scaled import Scaled
from elsinore.executors.output.wire import (
    PARTIAL_SCHEMA,
    decode_extreme,
    encode_extreme,
    merge_partials,
)


def row(group: str, count: int, total: float, low: float | None, high: int | None) -> dict:
    return {
        "query": "q",
        "group": group,
        "window_start": 0,
        "window_end": 10,
        "counts": [str(count)],
        "sums": [{"mantissa": total, "exponent": 0}],
        "minima": [None if low is None else encode_extreme(low)],
        "maxima": [None if high is None else encode_extreme(high)],
    }


def merged(rows: list[dict]) -> dict[str, dict]:
    table = merge_partials(pa.Table.from_pylist(rows, schema=PARTIAL_SCHEMA))
    return {found["group"]: found for found in table.to_pylist()}


rows = st.builds(
    row,
    st.sampled_from(["[1]", "[2]", "[null]"]),
    st.integers(0, 2**200),
    st.integers(-(2**40), 2**40).map(float),
    st.none() | st.floats(-1e9, 1e9),
    st.none() | st.integers(-(2**63), 2**63 - 1),
)


@pytest.mark.slow
@given(st.lists(rows, max_size=12), st.integers(0, 12))
def test_merging_in_parts_is_merging_at_once(parts: list[dict], cut: int) -> None:
    at_once = merged(parts)
    for group, found in at_once.items():
        mine = [part for part in parts if part["group"] == group]
        assert int(found["counts"][0]) == sum(int(part["counts"][0]) for part in mine)
        state = found["sums"][0]
        total = Scaled(state["mantissa"], state["exponent"]).to_float()
        assert total == sum(part["sums"][0]["mantissa"] for part in mine)
        lows = [decode_extreme(p["minima"][0]) for p in mine if p["minima"][0] is not None]
        assert found["minima"][0] == (encode_extreme(min(lows)) if lows else None)
    again = merged([*merged(parts[:cut]).values(), *merged(parts[cut:]).values()])
    assert set(again) == set(at_once)
    for group, found in again.items():
        assert found["counts"] == at_once[group]["counts"]
        assert found["maxima"] == at_once[group]["maxima"]


def test_nan_is_an_extreme_only_where_nothing_else_is() -> None:
    assert merged([row("[]", 1, 0.0, math.nan, None), row("[]", 1, 0.0, 2.0, None)])["[]"][
        "minima"
    ] == [encode_extreme(2.0)]
    (text,) = merged([row("[]", 1, 0.0, math.nan, None), row("[]", 1, 0.0, None, None)])["[]"][
        "minima"
    ]
    assert math.isnan(decode_extreme(text))


@given(st.lists(st.integers(1, 2**50), min_size=1, max_size=20), st.integers(1, 2**3_000))
def test_sums_beyond_every_double_divide_right(values: list[int], count: int) -> None:
    total = Scaled(0.0)
    for value in values:
        total += Scaled(float(value), 2_990)
    mean = total.divided_by(count)
    wanted = Fraction(sum(values) * 2**2_990, count)
    if wanted < 2**1_000:
        assert math.isclose(mean, wanted, rel_tol=1e-12)
