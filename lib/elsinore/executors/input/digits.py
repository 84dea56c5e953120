"""Split what events add to exact sums into digits, which are ordinary integer weights.

A sum of products, of squares, or of doubles is exact if what each event adds is an exact integer
times a power of two. Such an integer can have thousands of bits. But a sum is linear, so the sums
of its digits are enough, and executors know only these. The values of a table decide on the width
of digits and on the power of two. A digit that is 0 for all events has no column. So ordinary
values need one to three digits, and any double can be added up exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.errors import Diagnostic, QueryError
from elsinore.executors.aggregates import (
    Accumulator,
    Digit,
    DigitQuery,
    Share,
    Shares,
    Source,
    Weight,
    accumulators_of,
)
from elsinore.executors.input.columns import Column, EventColumns
from elsinore.executors.input.exact import ExactColumn, exact_values
from elsinore.executors.kinds import Kind
from elsinore.query.bound import (
    BoundMeasure,
    BoundQuery,
    Marks,
    MeasureKind,
    MeasureTerm,
    of_query,
)

#: Maximum bits of a single digit; of each of several digits, whose sums should rarely exceed 64
#: bits; and of digits of numbers to be squared, because sums of their products fit 64 bits.
_ALONE, _WIDTH, _SQUARED = 62, 48, 28
#: Maximum number of digits of a number to be squared: a digit of its square is a sum of as many
#: products of two digits, which must fit 64 bits.
_MOST_SQUARED = 1 << (63 - 2 * _SQUARED)
#: Maximum bits of an integer to be squared.
MOST_SQUARED_BITS = _MOST_SQUARED * _SQUARED
#: Powers of two are multiples of this, so that the tables of one stream mostly have the same ones.
_STEP = 32
#: Numbers per event that are always allowed, and the maximum numbers of all events beyond them (8
#: bytes each). Ordinary values need one to ten.
FEW, MOST_NUMBERS = 64, 2**27
#: Bits of the mantissa of a double.
_MANTISSA = 53
_ONE = np.uint64(1)


@dataclass(frozen=True)
class _Amounts:
    """N integers times a power of two.

    Attributes:
        scale: the power.
        negative: bool[N].
        parts: the absolute value is the sum of the numbers, uint64[N], each times a power of two,
            int64[N] or a single one.
    """

    scale: int
    negative: np.ndarray
    parts: Sequence[tuple[np.ndarray, np.ndarray]]

    @property
    def bits(self) -> int:
        """Return a number of bits that holds each absolute value."""
        return max(int((_sizes(number) + shift).max(initial=0)) for number, shift in self.parts)

    def digit(self, first: int, width: int) -> np.ndarray:
        """Return int64[N], the bits from one on as a number without sign."""
        found = np.zeros(self.negative.size, np.uint64)
        for number, shift in self.parts:
            down = first - shift
            if down.size == 1 and (down > 63 or -down >= width):
                continue  # integers with many parts have few of them in a digit
            right = np.clip(down, 0, 63).astype(np.uint64)
            left = np.clip(-down, 0, 63).astype(np.uint64)
            bits = (number >> right) << left
            found |= np.where((down > 63) | (-down >= width), np.uint64(0), bits)
        return (found & np.uint64((1 << width) - 1)).view(np.int64)


def _sizes(numbers: np.ndarray) -> np.ndarray:
    """Return int64[N], at least the number of bits of each number; 0 for 0, wherever it is."""
    _, exponents = np.frexp(numbers.astype(np.float64))
    return np.where(numbers == 0, -(2**40), exponents.astype(np.int64))


def _of_integers(values: ExactColumn) -> _Amounts:
    column = values.column
    small = np.where(column.known, column.values, 0)
    negative = small < 0
    magnitudes = small.view(np.uint64)
    magnitudes = np.where(negative, ~magnitudes + _ONE, magnitudes)
    parts = [(magnitudes, np.zeros(1, np.int64))]
    if values.rows.size:
        negative[values.rows] = [value < 0 for value in values.wide]
        limbs: dict[int, np.ndarray] = {}
        for rows, held in _limbs_of(values):
            for number in np.flatnonzero(held.any(axis=0)).tolist():
                part = limbs.setdefault(number, np.zeros(small.size, np.uint64))
                part[rows] = held[:, number]
                _require_room(limbs)
        parts += [(part, np.full(1, 64 * number)) for number, part in limbs.items()]
    return _Amounts(0, negative, parts)


def _limbs_of(values: ExactColumn) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield wide rows and uint64[rows, limbs], their absolute values, from the lowest limb on.

    Values of similar length are together, so that one long value does not make the others long.
    """
    sizes = np.array([value.bit_length() // 64 + 1 for value in values.wide])
    classes = np.frexp(sizes)[1]
    for each in np.unique(classes):
        places = np.flatnonzero(classes == each)
        limbs = int(sizes[places].max())
        wide = (abs(values.wide[place]) for place in places.tolist())
        held = b"".join(value.to_bytes(8 * limbs, "little") for value in wide)
        yield values.rows[places], np.frombuffer(held, np.uint64).reshape(-1, limbs)


def _of_doubles(values: ExactColumn) -> _Amounts:
    column = values.column
    usable = column.known & np.isfinite(column.values)
    fractions, exponents = np.frexp(np.where(usable, column.values, 0.0))
    mantissas = np.abs(np.ldexp(fractions, _MANTISSA)).astype(np.uint64)
    lowest = mantissas & (~mantissas + _ONE)
    _, zeros = np.frexp(lowest.astype(np.float64))
    zeros = np.maximum(zeros.astype(np.int64) - 1, 0)
    shifts = exponents.astype(np.int64) - _MANTISSA + zeros
    mantissas = mantissas >> zeros.astype(np.uint64)
    there = mantissas != 0
    scale = int(shifts[there].min(initial=2**20)) // _STEP * _STEP if there.any() else 0
    return _Amounts(scale, fractions < 0, [(mantissas, np.where(there, shifts - scale, 0))])


# ---- columns of digits


@dataclass(frozen=True)
class _Columns:
    """The digits of what events add to an exact sum.

    Attributes:
        width, scale: see `Digit`.
        columns: int64[N] by number of the digit; the others are 0 for all events.
    """

    width: int
    scale: int
    columns: Mapping[int, np.ndarray]


def _columns_of(
    source: Source | None, weight: Weight, columns: EventColumns, digit: Digit | None = None
) -> _Columns:
    """Return the digits of what events add.

    Args:
        source: what it reads of events, if anything.
        weight: what events add.
        columns: the events.
        digit: one of the digits; None: choose their width.
    """
    squares = weight is Weight.SQUARE
    if digit is None and weight is Weight.EXACT and source is not None:
        alone = _alone(exact_values(source, columns))
        if alone is not None:
            return alone
    amounts = _amounts(source, weight, columns)
    bits = amounts.bits
    if digit is not None:
        width, scale = digit.width, digit.scale
        shift = amounts.scale - (scale // 2 if squares else scale)
        amounts = _Amounts(0, amounts.negative, [(n, s + shift) for n, s in amounts.parts])
        bits += shift
    else:
        width = _width(bits, _SQUARED if squares else _ALONE if bits <= _ALONE else _WIDTH)
        scale = 2 * amounts.scale if squares else amounts.scale
    count = -(-bits // width) if bits > 0 else 0
    if squares and count > _MOST_SQUARED:
        raise _TooManyNumbersError(count)
    digits: dict[int, np.ndarray] = {}
    for number in range(count):
        part = amounts.digit(number * width, width)
        if part.any():
            digits[number] = part
            _require_room(digits)
    if squares:
        return _Columns(width, scale, _squared(digits))
    signed = {n: np.where(amounts.negative, -part, part) for n, part in digits.items()}
    return _Columns(width, scale, signed)


def _alone(values: ExactColumn) -> _Columns | None:
    """Return integers as a single digit, without copies of their bits; None if they need others."""
    column = values.column
    if values.rows.size or column.values.dtype == np.float64:
        return None
    numbers = column.values if column.known.all() else np.where(column.known, column.values, 0)
    largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
    bits = largest.bit_length()
    if bits > _ALONE:
        return None
    return _Columns(_width(bits, _ALONE), 0, {0: numbers} if bits else {})


def _width(bits: int, most: int) -> int:
    """Return the width of equal digits that have at most some bits."""
    return max(1, -(-bits // max(1, -(-bits // most))))


def _amounts(source: Source | None, weight: Weight, columns: EventColumns) -> _Amounts:
    """Return what events add, before it is squared."""
    if source is None:
        times = columns.times
        values = np.ones_like(times)
        if weight is Weight.ELAPSED:
            values = times - times.min(initial=np.iinfo(np.int64).max)
        return _of_integers(ExactColumn(Column(values, np.ones(times.size, np.bool_))))
    read = exact_values(source, columns)
    known = read.column.known
    if weight is Weight.PRESENT:
        return _of_integers(ExactColumn(Column(known.astype(np.int64), known)))
    if weight is Weight.NOT_FINITE:
        odd = known & ~np.isfinite(read.column.values)
        return _of_integers(ExactColumn(Column(odd.astype(np.int64), known)))
    return _of_doubles(read) if read.column.values.dtype == np.float64 else _of_integers(read)


def _squared(digits: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return the digits of squares; they overlap."""
    found: dict[int, np.ndarray] = {}
    for one, left in digits.items():
        for other, right in digits.items():
            if one <= other:
                product = left * right * (1 if one == other else 2)
                if product.any():
                    found[one + other] = found.get(one + other, 0) + product
                    _require_room(found)
    return found


class _TooManyNumbersError(Exception):
    """Exact sums need more numbers per event than there is room for."""

    def __init__(self, numbers: int) -> None:
        super().__init__(numbers)
        self.numbers = numbers


def _require_room(digits: Mapping[int, np.ndarray]) -> None:
    """Raise `_TooManyNumbersError` before the columns of digits take more than their share."""
    size = next(iter(digits.values())).size
    if len(digits) > FEW and len(digits) * size > MOST_NUMBERS:
        raise _TooManyNumbersError(len(digits))


def _cached(
    source: Source | None, weight: Weight, columns: EventColumns, digit: Digit | None = None
) -> _Columns:
    """Return the digits of what events add, with the width and scale of a digit if it is given."""
    chosen = columns.once(("digits", source, weight), lambda: _columns_of(source, weight, columns))
    if digit is None or (chosen.width, chosen.scale) == (digit.width, digit.scale):
        return chosen
    name = ("digits", source, weight, digit.width, digit.scale)
    return columns.once(name, lambda: _columns_of(source, weight, columns, digit))


def digit_weights(accumulator: Accumulator, columns: EventColumns) -> np.ndarray:
    """Return int64[N], the digit of each event of a table."""
    digit = accumulator.digit
    assert digit is not None
    found = _cached(accumulator.attribute, digit.of, columns, digit).columns.get(digit.number)
    return np.zeros(columns.times.size, np.int64) if found is None else found


# ---- exact sums over events


def _shares_of(exact: Accumulator, columns: EventColumns) -> tuple[Share, ...]:
    """Return the parts of an exact sum."""
    if exact.measure is not None:
        return _shares_of_measure(exact.weight, exact.measure, columns)
    found = _cached(exact.attribute, exact.weight, columns)
    numbers = sorted(found.columns)
    digits = (Digit(exact.weight, n, found.width, found.scale) for n in numbers)
    parts = ((replace(exact, weight=Weight.DIGIT, digit=digit), digit) for digit in digits)
    return tuple(Share(part, 1, digit.shift) for part, digit in parts)


# ---- exact sums over trends
#
# A measure m of a trend is a sum of w(e) over the trend's events. So the sum of m^2 over trends is
# the sum of w(e)^2, plus twice the sum of w(e) w(f) over all events e before f of a trend.


def _shares_of_measure(
    weight: Weight, measure: BoundMeasure, columns: EventColumns
) -> tuple[Share, ...]:
    """Return the parts of the sum of a measure, of its square, or of values that are not finite."""
    if weight is Weight.NOT_FINITE:
        digit = Digit(weight, 0, 1, 0)
        return tuple(
            Share(Accumulator(Kind.INTEGER, Weight.DIGIT, at.adds, term.value, digit=digit), 1, 0)
            for term, at in _marked(measure)
            if term.type is AttributeType.DOUBLE
        )
    sums = [share for term, marks in _marked(measure)
            for share in _shares_of_term(term, marks, measure.scale, columns)]  # fmt: skip
    if weight is Weight.EXACT:
        return tuple(sums)
    squares, pairs = [], []
    for n, one in enumerate(sums):
        for m, other in enumerate(sums):
            factor, shift = one.factor * other.factor, one.shift + other.shift
            both = one.of, other.of
            if n <= m:
                product = Accumulator(Kind.INTEGER, Weight.PRODUCT, frozenset(), None, factors=both)
                squares.append(Share(product, factor * (1 if n == m else 2), shift))
            of_pairs = Accumulator(Kind.INTEGER, Weight.PAIRS, frozenset(), None, factors=both)
            pairs.append(Share(of_pairs, 2 * factor, shift))
    return (*squares, *pairs)


def _marked(measure: BoundMeasure) -> Iterator[tuple[MeasureTerm, Marks]]:
    for term in measure.terms:
        assert term.marks is not None, "a query of measures has marks"
        yield term, term.marks


def _shares_of_term(
    term: MeasureTerm, marks: Marks, scale: int, columns: EventColumns
) -> Iterator[Share]:
    """Yield the parts of the sum of a measure times its factor."""
    kinds = {MeasureKind.LENGTH: Weight.EVENT, MeasureKind.DURATION: Weight.ELAPSED}
    weight, factor = kinds.get(term.kind, Weight.EXACT), int(term.factor * scale)
    own = Accumulator(Kind.INTEGER, weight, marks.adds, term.value, subtracts=marks.subtracts)
    yield from _in_digits(own, factor, columns)
    if term.otherwise and term.kind.reads_events:  # it is added for trends without a value
        has = Accumulator(Kind.INTEGER, Weight.PRESENT, marks.has, term.value)
        yield from _in_digits(has, -int(term.factor * term.otherwise * scale), columns)


def _in_digits(own: Accumulator, factor: int, columns: EventColumns) -> Iterator[Share]:
    """Yield the digits of a sum, narrow enough to be multiplied by each other."""
    amounts = _amounts(own.attribute, own.weight, columns)
    first = Digit(own.weight, 0, _width(amounts.bits, _SQUARED), amounts.scale)
    found = _cached(own.attribute, own.weight, columns, first).columns
    if len(found) > _MOST_SQUARED:  # each is multiplied by each
        raise _TooManyNumbersError(len(found) ** 2)
    for number in sorted(found):
        digit = replace(first, number=number)
        yield Share(replace(own, weight=Weight.DIGIT, digit=digit), factor, digit.shift)


# ---- queries


@dataclass
class _Variants:
    """The queries of digits that were made of a query."""

    made: dict[Shares, DigitQuery] = field(default_factory=dict)


@of_query
def _variants(query: BoundQuery) -> _Variants:
    return _Variants()


def in_digits(query: BoundQuery, columns: EventColumns) -> BoundQuery:
    """Return the query that executors run for a query: without exact sums, with their digits.

    `executors.output.digits.restored` turns its partial rows into rows of the query.

    Args:
        query: the query.
        columns: the events, which decide on the digits.

    Raises:
        QueryError: exact sums need too many numbers.
    """
    exact = accumulators_of(query).exact
    if not exact:
        return query
    try:
        shares = tuple((each, _shares_of(each, columns)) for each in exact)
    except _TooManyNumbersError as error:
        raise _too_many(query, error.numbers) from error
    _require_few(query, len({share.of for _, own in shares for share in own}), columns)
    made = _variants(query).made
    if shares not in made:
        made[shares] = DigitQuery.of(query, shares)
    return made[shares]


def _require_few(query: BoundQuery, numbers: int, columns: EventColumns) -> None:
    """Refuse a query whose exact sums need too many numbers per event."""
    if numbers > FEW and numbers * columns.times.size > MOST_NUMBERS:
        raise _too_many(query, numbers)


def _too_many(query: BoundQuery, numbers: int) -> QueryError:
    message = (
        f"query {query.key.query}: exact sums for STDDEV and VARIANCE need {numbers:,} "
        "numbers per event or more, because values are too large or differ too much in size"
    )
    hint = "round the values, as in STDDEV(round(V.price, 6)), or compute with doubles"
    return QueryError.of([Diagnostic(message, query.at, hint)])
