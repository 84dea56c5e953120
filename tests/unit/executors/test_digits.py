"""Exact sums: digits of integers and doubles, their partial rows, and variances of them."""

from __future__ import annotations

import math
import operator
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.aggregates import DigitQuery, Weight, accumulators_of, participation_query
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.input import digits
from elsinore.executors.input import exact as exact_module
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import digit_weights, in_digits
from elsinore.executors.input.exact import exact_values
from elsinore.executors.output.dispersion import Moments
from elsinore.executors.output.exact_states import ExactSums, IntegerExtremes
from elsinore.executors.output.finish import finish
from elsinore.executors.output.partial_rows import merge
from elsinore.executors.output.wire import Place, from_arrow, to_arrow
from elsinore.executors.plan import RuntimePlan
from elsinore.library.results import answer
from elsinore.numbers.exact_columns import from_python, shifted_left, to_python
from elsinore.query.bound import AggregateFunction, BoundQuery, Workload
from elsinore.query.expressions import Applied
from elsinore.query.load_workload import read_workload
from elsinore.reference.dispersion import dispersion
from elsinore.reference.two_step import two_step
from elsinore.template.measures import measure_queries
from elsinore.timeline import Interval
from tests.golden_cases import stream_schema

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA: StreamSchema = stream_schema({"A": {"x": "long", "y": "double"}})
LONGS = [0, 1, -1, 7, 2**31, -(2**40), 2**62, 2**63 - 1, -(2**63), None]
DOUBLES = [
    *(0.0, 0.1, -0.3, 1e16, 1e16 + 2, 5e-324, -1.7e308, 2.0**-1022, 12.34, None),
    *(math.nan, math.inf, -math.inf),
]


def workload_of(returned: str, pattern: str = "A") -> Workload:
    text = f"QUERY q RETURN {returned} PATTERN {pattern} WITHIN 1000 SLIDE 1000;"
    return read_workload(text, SCHEMA)


def query_of(returned: str) -> BoundQuery:
    return workload_of(returned).queries[0]


def events_of(name: str, values: Sequence[Any], first: int = 0) -> EventTable:
    return EventTable.of(SCHEMA, [("A", first + n, {name: v}) for n, v in enumerate(values)])


def exactly(value: Any) -> Fraction:
    return Fraction(value) if value is not None and math.isfinite(value) else Fraction(0)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", LONGS), ("x", [1, 2, 3]), ("x", [2**63 - 1]), ("y", DOUBLES), ("y", [0.5, -1.5]),
        ("y", [12.34, 0.01, 99.99]), ("y", [1e300, 1e-300]), ("y", [0.0, None]),
    ],
)  # fmt: skip
def test_digits_add_up_to_the_values_and_their_squares(name: str, values: list[Any]) -> None:
    query = query_of(f"VARIANCE(A.{name})")
    columns = EventColumns(events_of(name, values))
    run = in_digits(query, columns)
    assert isinstance(run, DigitQuery)
    assert not accumulators_of(run).exact
    for exact, shares in run.shares:
        total = [Fraction(0)] * len(values)
        for share in shares:
            found = digit_weights(share.of, columns).tolist()
            total = [sum_ + n * Fraction(2) ** share.shift
                     for sum_, n in zip(total, found, strict=True)]  # fmt: skip
        match exact.weight.name:
            case "EXACT":
                assert total == [exactly(value) for value in values]
            case "SQUARE":
                assert total == [exactly(value) ** 2 for value in values]
            case "NOT_FINITE":
                assert total == [value is not None and not math.isfinite(value) for value in values]


def test_ordinary_values_need_few_digits() -> None:
    columns = EventColumns(EventTable.of(
        SCHEMA, [("A", n, {"x": n * 100, "y": n * 1.1 + 0.05}) for n in range(1000)]
    ))  # fmt: skip

    def numbers(returned: str) -> list[int]:
        run = in_digits(query_of(returned), columns)
        assert isinstance(run, DigitQuery)
        return [len(digits) for _, digits in run.shares]

    assert numbers("VARIANCE(A.x)") == [1]
    assert numbers("SUM(A.x * A.x)") == [1]
    assert numbers("VARIANCE(A.y)") == [2, 5, 0]
    query = query_of("SUM(A.x), VARIANCE(A.x)")
    assert in_digits(query, columns) is in_digits(query, columns), "tables share what is lowered"
    plain = query_of("SUM(A.x), AVG(A.y)")
    assert in_digits(plain, columns) is plain


def test_an_outlier_among_a_huge_number_of_values() -> None:
    """Of 2^60 + 1 values all but one are equal."""
    query = workload_of("VARIANCE(A.y), VAR_POP(A.y), STDDEV(A.x), COUNT(*)", "A+")
    count = 60
    times = 2**count + 1
    sums, squares = (times - 1) * 3 + 4, (times - 1) * 9 + 16
    moments = Moments(
        from_python([times]), ExactSums(from_python([sums]), -1),
        ExactSums(from_python([squares]), -2),
    )  # fmt: skip
    for function in (f for f in AggregateFunction if f.is_dispersion):
        [found] = moments.dispersion(function).to_list()
        assert found == dispersion(function, [(1.5, times - 1), (2.0, 1)])
        assert found != 0.0
    assert query.queries[0].aggregates


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("y", [[0.1, 0.25], [1e300, None], [5e-324, 7.0], [2.0, 3.0]]),
        ("y", [[1.0], [math.nan], [3.0]]),
        ("y", [[None], [2.0], [0.0]]),
        ("x", [[2**62, 5], [-(2**63)], [None, 1]]),
    ],
)
def test_partial_rows_of_several_tasks_are_merged_exactly(name: str, parts: list[Any]) -> None:
    """Their digits differ: each table of events has its own."""
    returned = f"VARIANCE(A.{name}) AS v, STDDEV_POP(A.{name}) AS s"
    if name == "x":
        returned += ", SUM(A.x * A.x) AS t, MAX(A.x * A.x) AS high, MIN(A.x * A.x * A.x) AS low"
    workload = workload_of(returned)
    [query] = workload.queries
    place, first, found = Place(0), 0, []
    for values in parts:
        for rows in aggregate_query(query, events_of(name, values, first)):
            found += from_arrow(to_arrow([rows], {query.key: place}), {place: query})
        first += len(values)
    [row] = finish(workload, merge(found))
    known = [value for part in parts for value in part if value is not None]
    weighted = [(value, 1) for value in known]
    values = dict(row.values)
    for label, function in ("v", AggregateFunction.VARIANCE), ("s", AggregateFunction.STDDEV_POP):
        assert repr(values[label]) == repr(dispersion(function, weighted))
    if name == "x":
        squares = [value * value for value in known]
        assert (values["t"], values["high"]) == (sum(squares), max(squares))
        assert values["low"] == min(value**3 for value in known)


def test_windows_that_end_in_an_interval() -> None:
    """Each chunk of a stream has its own digits."""
    workload = read_workload("QUERY q RETURN STDDEV(A.y) PATTERN A WITHIN 4;", SCHEMA)
    [query] = workload.queries
    events = events_of("y", [0.5, 1.5, 1e-9, 1e200, 3.0, 4.0, 5.0, 7.0])
    parts = [
        rows
        for owned in (Interval(0, 4), Interval(4, 20))
        for rows in aggregate_query(query, events, owned=owned)
    ]
    whole = finish(workload, aggregate_query(query, events))
    assert finish(workload, merge(parts)) == whole
    assert len(whole) == 2


def test_moments_of_measures_of_partial_rows() -> None:
    """Durations of events long after the first one of their task, and of doubles."""
    text = (
        "QUERY q RETURN VAR_POP(DURATION) AS d, STDDEV(LAST(A.y) - FIRST(A.y)) AS t, COUNT(*) AS n "
        "PATTERN A+ GROUP-BY x WITHIN 100000;"
    )
    workload = read_workload(text, SCHEMA)
    [query] = workload.queries
    times = (0, 7, 9_000, 70_000, 70_007, 79_000, 79_001)
    doubles = (0.1, 1e9, 0.3, 1.5, 1e-9, 3.0, 1e300)
    rows = [("A", t, {"x": t // 70_000, "y": y}) for t, y in zip(times, doubles, strict=True)]
    whole = two_step(query, EventTable.of(SCHEMA, rows))
    runs = [query, *measure_queries(query)]
    places = {run.key: Place(0, 0, n) for n, run in enumerate(runs)}
    queries = {places[run.key]: run for run in runs}
    plan, found = RuntimePlan.of(workload.queries), []
    for part in (rows[:3], rows[3:]):
        for parts in plan.run(EventTable.of(SCHEMA, part)):
            found += from_arrow(to_arrow(parts, places), queries)
    assert [row.values for row in finish(workload, merge(found))] == [row.values for row in whole]
    assert len(whole) == 2


def test_values_that_differ_too_much_in_size_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of 16 values has a digit of its own: 16 sums, 136 products, 256 pairs, NaN and inf."""
    monkeypatch.setattr(digits, "MOST_NUMBERS", 1_000)
    workload = workload_of("STDDEV(TOTAL(A.y)) AS s", "A+")
    events = events_of("y", [2.0 ** (n * 60) for n in range(-8, 8)])
    plan = RuntimePlan.of(workload.queries)
    with pytest.raises(QueryError) as caught:
        list(plan.run(events))
    assert str(caught.value).startswith(
        "<text>:1:7: query q: exact sums for STDDEV and VARIANCE need 409 numbers per event"
    )
    assert "round the values, as in STDDEV(round(V.price, 6))" in str(caught.value)
    few = workload_of("STDDEV(A.y) AS s")
    parts = [part for found in RuntimePlan.of(few.queries).run(events) for part in found]
    [row] = finish(few, parts)
    assert dict(row.values)["s"] == dispersion(
        AggregateFunction.STDDEV, [(2.0 ** (n * 60), 1) for n in range(-8, 8)]
    )


@pytest.mark.parametrize("bits", [0, 1, 31, 32, 63, 64, 65, 130])
def test_shifted_integers(bits: int) -> None:
    values = [0, 1, -1, 5, -(2**63), 2**63 - 1, 2**64, -(2**200), 3**90]
    found = to_python(shifted_left(from_python(values), bits)).tolist()
    assert found == [value << bits for value in values]


def test_extremes_of_any_size() -> None:
    values = np.array([3, 2**70, -(2**90), 0], object)
    ranks = np.array([2, 0, 9, 1, 3])
    found = IntegerExtremes.from_ranks(ranks, values, largest=True)
    assert found.known.tolist() == [True, True, False, True, True]
    merged = found.merged(np.array([0, 2, 3]))
    assert to_python(merged.integers).tolist() == [3, 0, 2**70]
    assert merged.known.tolist() == [True, False, True]
    both = found.plus(found.take(np.array([1, 1, 1, 1, 1])))
    assert to_python(both.integers).tolist() == [3, 3, 3, 2**70, 3]
    nothing = found.times(from_python([0, 1, 1, 1, 0]))
    assert nothing.known.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize(
    ("returned", "factors", "is_refused"),
    [
        ("VARIANCE({})", 56, False), ("VARIANCE({})", 57, True), ("VARIANCE({})", 200, True),
        ("VARIANCE(EACH {})", 56, False), ("VARIANCE(EACH {})", 57, True),
        ("VARIANCE(TOTAL({}))", 20, False), ("VARIANCE(TOTAL({}))", 200, True),
    ],
)  # fmt: skip
def test_squares_of_integers_with_many_factors_are_exact_or_refused(
    returned: str, factors: int, is_refused: bool
) -> None:
    """Sums of products of more than 128 digits exceeded 64 bits, and took quadratic time."""
    query = query_of(returned.format(product("A.x", factors)) + " AS s")
    if "TOTAL" in returned:
        (query, *_) = measure_queries(query)
    elif "EACH" in returned:
        query = participation_query(query)
    values = [2**63 - 1, -(2**63) + 1, 5]
    columns = EventColumns.of(events_of("x", values))
    if is_refused:
        with pytest.raises(QueryError, match="because values are too large"):
            in_digits(query, columns)
        return
    run = in_digits(query, columns)
    assert isinstance(run, DigitQuery)
    for exact in accumulators_of(query).exact:
        if exact.weight is Weight.SQUARE and exact.measure is None:
            total = dict(run.shares)[exact]
            held = sum(
                int(digit_weights(share.of, columns).astype(object).sum()) * 2**share.shift
                for share in total
            )
            assert held == sum(value ** (2 * factors) for value in values)


def product(name: str, factors: int) -> str:
    """A product of equal factors with few levels."""
    if factors == 1:
        return name
    return f"({product(name, factors // 2)} * {product(name, factors - factors // 2)})"


def test_columns_of_digits_end_at_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were counted only when all of them were in memory."""
    made: list[int] = []
    digit = digits._Amounts.digit

    def counted(amounts: digits._Amounts, first: int, width: int) -> np.ndarray:
        made.append(first)
        return digit(amounts, first, width)

    monkeypatch.setattr(digits._Amounts, "digit", counted)
    monkeypatch.setattr(digits, "MOST_NUMBERS", 40 * 3)
    monkeypatch.setattr(digits, "FEW", 4)
    values = [2.0**n for n in range(-1000, 1000, 50)]
    with pytest.raises(QueryError, match="exact sums"):
        in_digits(query_of("VARIANCE(A.y) AS s"), EventColumns.of(events_of("y", values)))
    assert len(made) < 20


def test_long_integers_of_an_expression_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of("x", [2**62 + number for number in range(50)])
    query = query_of("SUM(A.x * A.x * A.x * A.x)")
    value = accumulators_of(query).exact[-1].attribute
    assert isinstance(value, Applied)
    # Two to four factors: 126, 189 and 252 bits per event at most, of which operands stay.
    monkeypatch.setattr(exact_module, "MOST_WIDE_BITS", 50 * 500)
    assert exact_values(value, EventColumns(events)).numbers[0] == 2**248
    monkeypatch.setattr(exact_module, "MOST_WIDE_BITS", 50 * 400)
    with pytest.raises(QueryError, match=r"integers of .*x . x.* exceed 20,000 bits"):
        exact_values(value, EventColumns(events))


def test_one_long_integer_does_not_make_the_others_long() -> None:
    """Of 100,000 events, one has 61,000 bits: 960 numbers of 8 bytes."""
    balanced = "A.x"
    for _ in range(10):
        balanced = f"({balanced}) * ({balanced})"
    columns = EventColumns(events_of("x", [2, 3, *[1] * 100_000, 2**60]))
    value = accumulators_of(query_of(f"SUM({balanced})")).exact[-1].attribute
    tracemalloc.start()
    try:
        amounts = digits._amounts(value, Weight.EXACT, columns)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert amounts.bits >= 60 * 2**10
    assert most < 300 << 20


_CALCULATED = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@pytest.mark.parametrize("sign", [*_CALCULATED])
@pytest.mark.parametrize("bits", [(30, 31), (31, 32), (61, 0), (61, 1), (62, 0), (62, 62), (63, 1)])
def test_sums_of_large_and_small_integers(sign: str, bits: tuple[int, int]) -> None:
    """Sums of expressions at the limits of a digit and of 64 bits have the exact values."""
    schema = stream_schema({"A": {"x": "long", "y": "long"}})
    values = [
        (max(one * 2 ** bits[0] + add, -(2**63)), other * 2 ** bits[1] + add)
        for one in (1, -1) for other in (1, -1) for add in (-1, 0)
        if one * 2 ** bits[0] + add < 2**63
    ]  # fmt: skip
    for kept in (values, values[:1], values[-1:]):
        rows = [("A", n, {"x": x, "y": y}) for n, (x, y) in enumerate(kept)]
        events = EventTable.of(schema, rows)
        for each in ("", "EACH "):
            text = f"QUERY q RETURN SUM({each}A.x {sign} A.y) PATTERN A WITHIN 100;"
            [query] = read_workload(text, schema).queries
            [row] = answer(read_workload(text, schema), events)
            expected = sum(_CALCULATED[sign](x, y) for x, y in kept)
            assert [value for _, value in row.values] == [expected]
            assert [found.values for found in two_step(query, events)] == [row.values]
