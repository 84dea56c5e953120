"""Laws of state columns, with Python integers and fractions as oracles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elsinore.executors.input.columns import Column
from elsinore.executors.input.exact import ExactColumn
from elsinore.executors.input.weights import NO_RANK
from elsinore.executors.input.weights import Extremes as Ranked
from elsinore.executors.linear.cached_panes import _Trends
from elsinore.executors.output.state_columns import (
    Extremes,
    ScaledDoubles,
    StateColumn,
    WideExtremes,
    scaled_of,
)
from elsinore.numbers.exact_columns import Integers, from_limbs, to_python
from elsinore.results.row import nearest_double
from tests.draws import draws

cases = settings(max_examples=draws(60, 2_000))
INF, NAN = math.inf, math.nan


def integers(values: Sequence[int], limbs: int = 160) -> Integers:
    held = b"".join(value.to_bytes(8 * limbs, "little", signed=True) for value in values)
    (made,) = from_limbs(np.frombuffer(held, np.uint64).reshape(-1, 1, limbs))
    return made


def doubles(values: Sequence[tuple[float, int]]) -> ScaledDoubles:
    mantissas = np.array([m for m, _ in values], np.float64)
    return ScaledDoubles.of(mantissas, np.array([e for _, e in values], np.int64))


def extremes(values: Sequence[float | None], largest: bool, kind: type = np.int64) -> Extremes:
    known = np.array([value is not None for value in values], np.bool_)
    filled: np.ndarray = np.array([7 if value is None else value for value in values], kind)
    return Extremes.of(filled, known, largest=largest)


def wide_extremes(values: Sequence[int | None], largest: bool) -> WideExtremes:
    known = np.array([value is not None for value in values], np.bool_)
    parts = np.array(
        [divmod(9 if value is None else value, 2**32) for value in values], np.int64
    ).reshape(-1, 2)
    return WideExtremes.of(parts[:, 0], parts[:, 1], known, largest=largest)


def plain(column: Any) -> list[Any]:
    """The values of a column; NaN as text, so that it equals itself."""
    if isinstance(column, Integers):
        return to_python(column).tolist()
    if isinstance(column, ScaledDoubles):
        assert not np.signbit(column.mantissas[column.mantissas == 0.0]).any()
        finite = np.isfinite(column.mantissas) & (column.mantissas != 0.0)
        assert not column.exponents[~finite].any()
        assert (np.abs(column.mantissas[finite]) < 1.0).all()
        assert (np.abs(column.mantissas[finite]) >= 0.5).all()
        return [(repr(m), e) for m, e in zip(*_parts(column), strict=True)]
    wide = isinstance(column, WideExtremes)
    numbers = to_python(column.to_integers()) if wide else column.values
    values = zip(numbers.tolist(), column.known.tolist(), strict=True)
    return [repr(value) if known else None for value, known in values]


def _parts(column: ScaledDoubles) -> tuple[list[float], list[int]]:
    return column.mantissas.tolist(), column.exponents.tolist()


def fraction(mantissa: float, exponent: int) -> Fraction:
    return Fraction(mantissa) * Fraction(2) ** exponent


# ---- laws

of_any_size = st.integers(-4, 4) | st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**90), 2**90)
longs = st.none() | st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])
wides = st.none() | st.integers(-(2**93), 2**93) | st.integers(-(2**33), 2**33) | st.just(2**32)
floats = st.none() | st.floats() | st.sampled_from([0.0, -0.0, NAN, INF, -INF])
#: Doubles whose sums and products are exact, so that laws hold exactly.
exact_doubles = st.tuples(st.integers(-9, 9).map(float), st.integers(-3, 3))
counts = st.sampled_from([0, 0, 1, 2, 7, 2**40, 2**63, 2**64, 2**700])

KINDS: dict[str, tuple[st.SearchStrategy[Any], Any]] = {
    "integers": (of_any_size, integers),
    "doubles": (exact_doubles, doubles),
    "least long": (longs, lambda values: extremes(values, False)),
    "largest long": (longs, lambda values: extremes(values, True)),
    "least double": (floats, lambda values: extremes(values, False, np.float64)),
    "largest double": (floats, lambda values: extremes(values, True, np.float64)),
    "least of wide": (wides, lambda values: wide_extremes(values, False)),
    "largest of wide": (wides, lambda values: wide_extremes(values, True)),
}


@pytest.mark.parametrize("kind", KINDS)
@cases
@given(st.data())
def test_laws(kind: str, data: st.DataObject) -> None:
    values, make = KINDS[kind]
    size = data.draw(st.integers(0, 4))

    def drawn() -> Any:
        return make(data.draw(st.lists(values, min_size=size, max_size=size)))

    one, two, three = drawn(), drawn(), drawn()
    many = data.draw(st.lists(counts, min_size=size, max_size=size))
    more = data.draw(st.lists(counts, min_size=size, max_size=size))
    assert plain(one.plus(two).plus(three)) == plain(one.plus(two.plus(three)))
    assert plain(one.plus(two)) == plain(two.plus(one))
    assert plain(one.plus(one.zero(size))) == plain(one.zero(size).plus(one)) == plain(one)
    assert plain(one.times(integers(many)).plus(two.times(integers(many)))) == plain(
        one.plus(two).times(integers(many))
    )
    product = integers(many).times(integers(more))
    assert plain(one.times(integers(many)).times(integers(more))) == plain(one.times(product))
    assert plain(one.times(integers([1] * size))) == plain(one)
    assert plain(one.times(integers([0] * size))) == plain(one.zero(size))
    if kind in ("integers", "doubles"):
        both = integers([a + b for a, b in zip(many, more, strict=True)])
        assert plain(one.times(integers(many)).plus(one.times(integers(more)))) == plain(
            one.times(both)
        )


@pytest.mark.parametrize("kind", KINDS)
@cases
@given(st.data())
def test_merging_is_adding(kind: str, data: st.DataObject) -> None:
    """Rows of a segment added one after another, and segments of segments."""
    values, make = KINDS[kind]
    sizes = data.draw(st.lists(st.integers(1, 4), max_size=5))
    rows = make(data.draw(st.lists(values, min_size=sum(sizes), max_size=sum(sizes))))
    begins = np.cumsum([0, *sizes])[:-1].astype(np.int64)
    merged = rows.merged(begins)
    bounds = pairwise([*begins.tolist(), sum(sizes)])
    wanted = [
        reduce(type(rows).plus, [rows.take(np.array([n])) for n in range(low, high)])
        for low, high in bounds
    ]
    assert plain(merged) == [value for each in wanted for value in plain(each)]
    if sizes:
        assert plain(type(rows).joined(wanted)) == plain(merged)
        firsts = np.array([0, *range(2, len(sizes), 2)])
        both = begins[firsts]
        assert plain(merged.merged(firsts)) == plain(rows.merged(both))


@pytest.mark.parametrize("kind", KINDS)
@cases
@given(st.data())
def test_rows_are_taken_and_joined(kind: str, data: st.DataObject) -> None:
    values, make = KINDS[kind]
    rows = make(data.draw(st.lists(values, min_size=1, max_size=6)))
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    taken = rows.take(np.array(places, np.int64))
    assert plain(taken) == [plain(rows)[place] for place in places]
    joined = type(rows).joined([rows, rows.zero(1), taken])
    assert plain(joined) == [*plain(rows), *plain(rows.zero(1)), *plain(taken)]
    assert len(joined) == len(rows) + 1 + len(places)


def test_all_are_state_columns() -> None:
    columns: list[StateColumn] = [
        integers([1]), doubles([(1.0, 0)]), extremes([1], False), wide_extremes([1], False),
    ]  # fmt: skip
    for each in columns:
        empty = each.take(np.empty(0, np.int64))
        assert len(empty.merged(np.empty(0, np.int64))) == len(each.zero(0)) == len(empty) == 0


# ---- sums of doubles

states = st.lists(
    st.tuples(
        st.floats(-1e300, 1e300) | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0]),
        st.integers(-60, 60) | st.sampled_from([-5_000, 5_000, 10_047]),
    ),
    max_size=8,
)
signs = st.lists(st.sampled_from([INF, -INF, NAN, 1.0, 0.0]), min_size=1, max_size=4)


@cases
@given(states)
@example([(1.0, 2_000), (-1.0, 2_000), (1.0, 0)])
@example([(5e-324, 0)] * 3)
def test_sums_of_doubles_are_close(terms: list[tuple[float, int]]) -> None:
    """At most one rounding per term, in the last place of the largest magnitude."""
    merged = doubles(terms).merged(np.zeros(min(len(terms), 1), np.int64))
    wanted = sum((fraction(*term) for term in terms), Fraction(0))
    found = sum((fraction(*each) for each in zip(*_parts(merged), strict=True)), Fraction(0))
    size = sum((abs(fraction(*term)) for term in terms), Fraction(0))
    assert abs(found - wanted) <= size * len(terms) * Fraction(1, 2**52)


@cases
@given(signs)
def test_infinities_and_nan_add_up_as_doubles_do(terms: list[float]) -> None:
    merged = doubles([(term, 5) for term in terms]).merged(np.array([0]))
    total = float(np.sum(np.array(terms) * 32.0))
    assert repr(merged.to_doubles().tolist()) == repr([total])


@cases
@given(states, st.integers(0, 5), st.integers(0, 5))
def test_a_sum_depends_on_its_own_rows_only(
    terms: list[tuple[float, int]], before: int, after: int
) -> None:
    """The same bits whatever is merged with it."""
    if not terms:
        return
    others = [(1e200, 3_000), (NAN, 0), (INF, 0), (0.1, 0), (-3.0, 7)]
    alone = doubles(terms).merged(np.array([0]))
    among = doubles([*others[:before], *terms, *others[:after]])
    begins = [0, before, before + len(terms)]
    kept = sorted({begin for begin in begins if begin < len(among)})
    found = among.merged(np.array(kept))
    assert plain(found.take(np.array([kept.index(before)]))) == plain(alone)


divisors = st.integers(0, 2**53) | st.integers(2**60, 2**66) | st.integers(0, 2**3_000)


@cases
@given(st.lists(st.tuples(st.floats(), st.integers(-2_000, 4_000), divisors), max_size=6))
@example([(5e-324, 0, 2), (-5e-324, 0, 3), (-0.0, 0, 1), (INF, 0, 3), (NAN, 3, 2**80)])
@example([(3.0, 5_000, 2**5_001), (1.0, 1_024, 1), (-1.0, 1_024, 0), (1.5, 1_023, 1)])
def test_doubles_and_quotients_are_those_of_fractions(rows: list[tuple[float, int, int]]) -> None:
    """Quotients are within a few roundings."""
    sums = doubles([(m, e) for m, e, _ in rows])
    quotients = sums.divided_by(integers([count for *_, count in rows])).tolist()
    found = zip(rows, sums.to_doubles().tolist(), quotients, strict=True)
    for (mantissa, exponent, count), double, quotient in found:
        if not math.isfinite(mantissa):
            assert repr(double) == repr(quotient) == repr(mantissa)
            continue
        total = fraction(mantissa, exponent)
        assert repr(double) == repr(nearest_double(total) + 0.0)
        exact = total / max(count, 1)
        if math.isfinite(nearest_double(exact)) and math.isfinite(quotient):
            assert abs(Fraction(quotient) - exact) <= abs(exact) / 2**50 + Fraction(2) ** -1073
        else:
            assert abs(exact) > Fraction(2) ** 1023


def test_a_sum_that_no_trend_has_is_zero() -> None:
    """Also if it is not finite."""
    sums = doubles([(INF, 0), (NAN, 0), (-INF, 0), (2.0, 9)])
    assert sums.times(integers([0] * 4)).to_doubles().tolist() == [0.0] * 4
    assert sums.times(integers([2**70, 1, 2, 3])).to_doubles()[[0, 2, 3]].tolist() == [
        INF, -INF, 3_072.0,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "factor", [0, 1, -3, Fraction(1, 3), Fraction(10) ** 600, -(Fraction(1, 7) ** 500)]
)
def test_sums_are_multiplied_by_constants_of_any_size(factor: Fraction) -> None:
    mantissa, exponent = scaled_of(Fraction(factor))
    assert abs(fraction(mantissa, exponent) - factor) <= abs(factor) * Fraction(1, 2**52)
    found = doubles([(0.5, 7), (0.0, 0), (INF, 0)]).times_constant(Fraction(factor))
    first, zero, last = zip(*_parts(found), strict=True)
    assert fraction(*first) == 64 * fraction(mantissa, exponent)
    assert (zero, abs(last[0]) if factor else repr(last[0])) == ((0.0, 0), INF if factor else "nan")


# ---- extremes


@pytest.mark.parametrize("largest", [False, True])
@cases
@given(st.lists(wides, min_size=1, max_size=6))
def test_wide_extremes_are_those_of_python(largest: bool, rows: list[int | None]) -> None:
    known = [value for value in rows if value is not None]
    best = repr((max if largest else min)(known)) if known else None
    assert plain(wide_extremes(rows, largest).merged(np.array([0]))) == [best]


@pytest.mark.parametrize(("kind", "values"), [(np.int64, longs), (np.float64, floats)])
@pytest.mark.parametrize("largest", [False, True])
@cases
@given(st.data())
def test_extremes_are_those_of_python(
    largest: bool, kind: type, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """Also if they are read from ranks."""
    rows = data.draw(st.lists(values, min_size=1, max_size=6))
    # Columns of events have no -0.0.
    rows = [value if value is None or isinstance(value, int) else value + 0.0 for value in rows]
    found = plain(extremes(rows, largest, kind).merged(np.array([0])))
    numbers = [value for value in rows if value is not None and value == value]
    others = [value for value in rows if value is not None]
    least = (max if largest else min)(numbers) if numbers else others[0] if others else None
    assert found == [None if least is None else repr(kind(least).item())]
    known = np.array([value is not None for value in rows])
    filled: np.ndarray = np.array([0 if value is None else value for value in rows], kind)
    ranked = Ranked(ExactColumn(Column(filled, known)), largest=largest)
    read = Extremes.from_ranks(ranked.ranks, ranked.distinct, largest=largest)
    assert plain(read) == [None if value is None else repr(value) for value in rows]
    first = np.array([ranked.ranks.min()])
    assert plain(Extremes.from_ranks(first, ranked.distinct, largest=largest)) == found


def test_extremes_of_no_value() -> None:
    read = Extremes.from_ranks(np.full(2, NO_RANK), np.empty(0), largest=True)
    assert plain(read) == [None, None]
    assert read.values.dtype == np.float64
    assert plain(read.plus(extremes([NAN, -INF], True, np.float64))) == ["nan", "-inf"]


def test_the_largest_long_is_not_unknown() -> None:
    assert plain(extremes([None, 2**63 - 1], False).merged(np.array([0]))) == [repr(2**63 - 1)]
    assert plain(extremes([-(2**63), None], True).merged(np.array([0]))) == [repr(-(2**63))]


def test_zero_has_no_sign() -> None:
    assert plain(extremes([-0.0], False, np.float64)) == ["0.0"]
    assert plain(doubles([(-0.0, 4)])) == [("0.0", 0)]
    assert math.copysign(1.0, doubles([(-1.0, -9_000)]).to_doubles()[0]) == 1.0


# ---- the trends of cached panes


@st.composite
def trends(draw: st.DrawFn, size: int) -> tuple[list[int], list[int], list[Any], list[Any]]:
    """Counts, sums of longs, sums of doubles and minima; all are zero if the count is 0."""

    def drawn(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(strategy, min_size=size, max_size=size))

    own = drawn(counts)
    integer = [n if count else 0 for n, count in zip(drawn(of_any_size), own, strict=True)]
    sums = [s if count else (0.0, 0) for s, count in zip(drawn(exact_doubles), own, strict=True)]
    ranks = [
        r if count else None
        for r, count in zip(drawn(st.none() | st.integers(0, 9)), own, strict=True)
    ]
    return own, integer, sums, ranks


@cases
@given(st.integers(1, 4).flatmap(lambda size: st.tuples(trends(size), trends(size))))
def test_products_and_sums_of_trends_are_those_of_python(pair: Any) -> None:
    """Trends of either pane, and of one followed by the other."""
    one, other = (
        _Trends(integers(own), (integers(integer), doubles(sums), extremes(ranks, False)))
        for own, integer, sums, ranks in pair
    )
    rows = list(zip(*(zip(*each, strict=True) for each in pair), strict=True))
    either, then = one + other, one.then(other)
    for at, ((n, total, real, least), (m, total2, real2, least2)) in enumerate(rows):
        known = [each for each in (least, least2) if each is not None]
        wanted = [
            (n + m, total + total2, fraction(*real) + fraction(*real2), known),
            (
                n * m,
                total * m + total2 * n,
                fraction(*real) * m + fraction(*real2) * n,
                known if n and m else [],
            ),
        ]
        for found, (count, integer, double, values) in zip((either, then), wanted, strict=True):
            longs, scaled, chosen = found.others
            assert plain(found.count)[at] == count
            assert plain(longs)[at] == integer
            scaled_row = scaled.take(np.array([at]))
            assert isinstance(scaled_row, ScaledDoubles)
            [(mantissa, exponent)] = zip(*_parts(scaled_row), strict=True)
            size = abs(fraction(*real)) * m + abs(fraction(*real2)) * n + 1000
            assert abs(fraction(mantissa, exponent) - double) <= size / 2**50
            assert plain(chosen)[at] == (repr(min(values)) if values else None)
