"""Columns of integers of any size, which are added and multiplied exactly.

Most counts fit 64 bits, and a few have thousands. So a column is an int64 array, and only the rows
that do not fit it are stored as limbs (64-bit words, little-endian, two's complement). These *wide*
rows are grouped into bands of 2, 4, 8, ... limbs, so that one very wide row does not pad the
others. Python integers exist only for wide rows, and only where a function says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.integers import digits_of
from elsinore.numbers.decimals import make_scratch, write_decimals
from elsinore.numbers.two_parts import PART

#: The lower half of a limb, and half of the range of such a half.
_LOW, _HALF = 0xFFFFFFFF, 2**31
#: Maximum number of rows, so that sums of halves fit int64.
_MOST_ROWS = 2**31 - 1
#: If a product is below this as a double, it fits int64.
_SAFE = 2.0**62
#: Integers below this are exact as doubles.
_EXACT = 2**53
#: Maximum number of limbs of an integer that `write_decimals` converts; GMP converts wider ones
#: faster. Maximum number of limbs of all integers, so that their digits fit one string array.
_WIDEST_TEXT, _MOST_TEXT = 512, 2**25


class Band(NamedTuple):
    """The wide rows of a column that have the same number of limbs."""

    rows: np.ndarray  #: int64[W], the rows in ascending order
    limbs: np.ndarray  #: uint64[W, L], two's complement, the lowest limb first


@dataclass(frozen=True, eq=False)
class Integers:
    """R integers of any size.

    Each value is stored in the narrowest format that holds it: int64, or a band of 2, 4, 8, ...
    limbs. Arrays are shared between columns, so callers must not change them.
    """

    small: np.ndarray  #: int64[R], 0 in wide rows
    wide: tuple[Band, ...] = ()  #: one or more rows each, by ascending number of limbs

    def __len__(self) -> int:
        return self.small.size

    @property
    def nonzero(self) -> np.ndarray:
        """Return bool[R]: the rows that are not 0."""
        found = self.small != 0
        for band in self.wide:
            found[band.rows] = True
        return found

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows.

        Args:
            rows: int64[N], in any order; a row may occur several times.
        """
        bands = []
        for band in self.wide:
            at = np.minimum(np.searchsorted(band.rows, rows), band.rows.size - 1)
            mine = np.flatnonzero(band.rows[at] == rows)
            if mine.size:
                bands.append(Band(mine, band.limbs[at[mine]]))
        return type(self)(self.small[rows], tuple(bands))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        by_width: dict[int, list[Band]] = {}
        first = 0
        for part in parts:
            for rows, limbs in part.wide:
                by_width.setdefault(limbs.shape[1], []).append(Band(rows + first, limbs))
            first += len(part)
        return cls(np.concatenate([part.small for part in parts]), _bands(by_width))

    def zero(self, size: int) -> Self:
        """Return a column of `size` zeros."""
        return type(self)(np.zeros(size, np.int64))

    def merged(self, begins: np.ndarray) -> Integers:
        """Return the sums of consecutive rows, see `sum_segments`."""
        return sum_segments(self, begins)

    def plus(self, other: Integers) -> Integers:
        """Return the sum of each row and the same row of another column."""
        sums = self.small + other.small
        is_hard = ((self.small ^ sums) & (other.small ^ sums)) < 0
        for band in (*self.wide, *other.wide):
            is_hard[band.rows] = True
        if not is_hard.any():
            return Integers(sums)
        hard = np.flatnonzero(is_hard)
        pairs = Integers.joined([Integers.take(each, hard) for each in (self, other)])
        order = np.arange(2 * hard.size).reshape(2, -1).T.ravel()
        wide = sum_segments(pairs.take(order), 2 * np.arange(hard.size))
        sums[hard] = wide.small
        return Integers(sums, tuple(Band(hard[band.rows], band.limbs) for band in wide.wide))

    def times(self, counts: Integers) -> Integers:
        """Return the product of each row and the same row of another column.

        Products that may not fit 64 bits are computed as Python integers.
        """
        products = self.small * counts.small
        near = np.abs(self.small.astype(np.float64) * counts.small.astype(np.float64))
        is_hard = near >= _SAFE
        for band in (*self.wide, *counts.wide):
            is_hard[band.rows] = True
        if not is_hard.any():
            return Integers(products)
        hard = np.flatnonzero(is_hard)
        ours, theirs = (to_python(each.take(hard)).tolist() for each in (self, counts))
        products[hard] = 0
        found = [left * right for left, right in zip(ours, theirs, strict=True)]
        return _narrowest(products, _limbs_of(hard, found))


# ---- conversions


def from_limbs(values: np.ndarray) -> list[Integers]:
    """Return the K columns of an array of integers.

    Args:
        values: int64[R, K], or uint64[R, K, L] in two's complement, the lowest limb first, or
            object[R, K] of Python integers.
    """
    if values.dtype == object:
        return [from_python(column.tolist()) for column in values.T]
    if values.ndim == 2:
        return [Integers(np.ascontiguousarray(column)) for column in values.T]
    size, columns, _ = values.shape
    rows = np.arange(size)
    return [
        _narrowest(np.zeros(size, np.int64), [Band(rows, values[:, column])])
        for column in range(columns)
    ]


def from_parts(firsts: np.ndarray, seconds: np.ndarray) -> Integers:
    """Return the column of integers in two parts (`numbers.two_parts`), int64[R] each."""
    low = (firsts << PART | seconds).view(np.uint64)
    high = (firsts >> (64 - PART)).view(np.uint64)
    return from_limbs(np.stack([low, high], axis=-1)[:, None])[0]


def shifted_left(values: Integers, bits: int) -> Integers:
    """Return each row times `2**bits`."""
    if not bits:
        return values
    words, shift = divmod(bits, 64)
    rows = np.flatnonzero(values.small)
    parts = [Band(rows, values.small[rows, None].view(np.uint64)), *values.wide]
    return _narrowest(
        np.zeros(len(values), np.int64), [_shifted(part, words, shift) for part in parts]
    )


def _shifted(band: Band, words: int, shift: int) -> Band:
    """Return the rows of a band times `2**(64 * words + shift)`, with a limb for the sign."""
    size, width = band.limbs.shape
    found = np.zeros((size, words + width + 1), np.uint64)
    found[:, words:-1] = band.limbs << np.uint64(shift)
    top = band.limbs[:, -1].view(np.int64) >> 63
    if shift:
        found[:, words + 1 : -1] |= band.limbs[:, :-1] >> np.uint64(64 - shift)
        top = band.limbs[:, -1].view(np.int64) >> (64 - shift)
    found[:, -1] = top.view(np.uint64)
    return Band(band.rows, found)


def repeated(value: int, size: int) -> Integers:
    """Return a column of `size` equal rows."""
    return from_python([value]).take(np.zeros(size, np.int64))


def from_python(values: Sequence[int]) -> Integers:
    """Return a column of Python integers."""
    size = len(values)
    return _narrowest(np.zeros(size, np.int64), _limbs_of(np.arange(size), values))


def wide_rows(values: Integers) -> tuple[np.ndarray, list[int]]:
    """Return the wide rows, int64[W] in ascending order, and their values as Python integers."""
    rows = np.concatenate([np.empty(0, np.int64), *(band.rows for band in values.wide)])
    found = [value for band in values.wide for value in _python_integers(band.limbs)]
    order = np.argsort(rows)
    return rows[order], [found[at] for at in order.tolist()]


def _python_integers(limbs: np.ndarray) -> list[int]:
    held, size = limbs.tobytes(), 8 * limbs.shape[1]
    pieces = (held[at : at + size] for at in range(0, len(held), size))
    return [int.from_bytes(piece, "little", signed=True) for piece in pieces]


def to_python(values: Integers) -> np.ndarray:
    """Return int64[R], or object[R] of Python integers if any row is wide."""
    if not values.wide:
        return values.small
    found = values.small.astype(object)
    rows, wide = wide_rows(values)
    found[rows] = _objects(wide)
    return found


def to_text(values: Integers) -> pa.Array:
    """Return the decimal text of each row as string[R]."""
    text = pa.array(values.small).cast(pa.string())
    if not values.wide:
        return text
    parts = [part for band in values.wide for part in _by_sign(band)]
    rows = np.concatenate([part.rows for part in parts])
    wide = pa.concat_arrays([_digits(part.limbs) for part in parts])
    is_wide = np.zeros(len(values), np.bool_)
    is_wide[rows] = True
    return pc.replace_with_mask(text, is_wide, wide.take(pa.array(np.argsort(rows))))


def _by_sign(band: Band) -> Iterator[Band]:
    """Yield the rows that are not negative, and the negative ones, if there are any."""
    is_negative = (band.limbs[:, -1] >> np.uint64(63)).astype(np.bool_)
    for chosen in (~is_negative, is_negative):
        if chosen.any():
            yield Band(band.rows[chosen], band.limbs[chosen])


def _digits(limbs: np.ndarray) -> pa.Array:
    """Return the decimal text of the rows of uint64[W, L], which have one sign."""
    size, width = limbs.shape
    is_few = 8 * size < width  # too few to pay for the table of powers
    is_much = width > _WIDEST_TEXT or size * width > _MOST_TEXT
    if is_few or is_much or int(limbs[0, -1]) >> 63:
        return pa.array(map(digits_of, _python_integers(limbs)), pa.string())
    scratch, ends = make_scratch(width), np.zeros(size + 1, np.int32)
    text = np.empty(size * scratch.chars.size, np.uint8)
    write_decimals(np.ascontiguousarray(limbs), scratch, text, ends)
    return pa.StringArray.from_buffers(size, pa.py_buffer(ends), pa.py_buffer(text[: ends[-1]]))


def to_scaled(values: Integers) -> tuple[np.ndarray, np.ndarray]:
    """Return float64[R] and int64[R]; a row is about `mantissa * 2**exponent`.

    The mantissa of a wide row is made of the row's first 64 bits.
    """
    mantissas, exponents = values.small.astype(np.float64), np.zeros(len(values), np.int64)
    rows, wide = wide_rows(values)
    shifts = [each.bit_length() - 64 for each in wide]
    exponents[rows] = [max(shift, 0) for shift in shifts]
    mantissas[rows] = [each >> max(n, 0) for each, n in zip(wide, shifts, strict=True)]
    return mantissas, exponents


def nearest_doubles(values: Integers) -> np.ndarray:
    """Return float64[R], the nearest double of each row; infinite beyond the largest double."""
    found = values.small.astype(np.float64)
    rows, wide = wide_rows(values)
    found[rows] = [_ratio(each, 1) for each in wide]
    return found


def ratios(totals: Integers, counts: Integers) -> np.ndarray:
    """Return float64[R], the quotient of each row and a count, rounded once.

    Rows with 2**53 or more in a column are divided as Python integers.

    Args:
        totals: the dividends.
        counts: the divisors, not negative; a count of 0 divides as 1 does.
    """
    divisors = np.maximum(counts.small, 1)
    found: np.ndarray = totals.small / divisors
    is_hard = (np.abs(totals.small) >= _EXACT) | (divisors >= _EXACT)
    is_hard |= totals.small < -_EXACT  # NumPy's absolute value of -2**63 is negative
    for band in (*totals.wide, *counts.wide):
        is_hard[band.rows] = True
    hard = np.flatnonzero(is_hard)
    above, below = (to_python(each.take(hard)).tolist() for each in (totals, counts))
    found[hard] = [_ratio(n, max(d, 1)) for n, d in zip(above, below, strict=True)]
    return found


def _ratio(total: int, count: int) -> float:
    try:
        return total / count
    except OverflowError:
        return math.inf if total > 0 else -math.inf


# ---- sums


def sum_segments(values: Integers, begins: np.ndarray) -> Integers:
    """Return the exact sum of each segment of consecutive rows.

    The two halves of 64-bit rows are added separately, so no sum wraps. Segments whose sum does not
    fit 64 bits, or that contain a wide row, are added by band, in halves of limbs.

    Args:
        values: the rows, fewer than 2**31.
        begins: int64[S], the first row of each segment, ascending from 0; a segment ends where the
            next one begins.
    """
    assert len(values) <= _MOST_ROWS, len(values)
    if begins.size == len(values):
        return values
    low = np.add.reduceat(values.small & _LOW, begins)
    high = np.add.reduceat(values.small >> 32, begins) + (low >> 32)
    low &= _LOW
    widths = ((high < -_HALF) | (high >= _HALF)).astype(np.int64)
    sums = []
    for band in values.wide:
        segments, halves = _sums_of_halves(band, begins)
        widths[segments] = band.limbs.shape[1]
        sums.append((segments, halves))
    small = high << 32 | low
    if not widths.any():
        return Integers(small)
    small[widths > 0] = 0
    sums.append((np.flatnonzero(widths), np.stack([low, high], axis=1)[widths > 0]))
    return _narrowest(small, _of_all_bands(sums, widths))


def _sums_of_halves(band: Band, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add up the rows of a band.

    Returns:
        int64[S], the segments that have such rows; int64[S, 2 * L + 1], their sums. Halves are not
        carried. The last one makes up for reading the halves of negative numbers as unsigned.
    """
    segments = np.searchsorted(begins, band.rows, "right") - 1
    firsts = np.flatnonzero(np.append(True, segments[1:] != segments[:-1]))
    negative = (band.limbs[:, -1] >> np.uint64(63)).astype(np.int64)
    halves = np.ascontiguousarray(band.limbs).view(np.uint32)
    sums = np.empty((firsts.size, halves.shape[1] + 1), np.int64)
    sums[:, :-1] = np.add.reduceat(halves, firsts, axis=0, dtype=np.int64)
    sums[:, -1] = -np.add.reduceat(negative, firsts)
    return segments[firsts], sums


def _of_all_bands(
    sums: Iterable[tuple[np.ndarray, np.ndarray]], widths: np.ndarray
) -> Iterable[Band]:
    """Yield the totals of segments, given their sums in each band.

    Args:
        sums: segments and halves, see `_sums_of_halves`.
        widths: int64[S], the number of limbs of the widest row of each segment; segments with 0
            are skipped.
    """
    for width in np.unique(widths[widths > 0]).tolist():
        totals = np.flatnonzero(widths == width)
        halves = np.zeros((totals.size, 2 * width + 2), np.int64)
        for segments, more in sums:
            mine = widths[segments] == width
            if mine.any():
                at = np.searchsorted(totals, segments[mine])
                halves[at, : more.shape[1]] += more[mine]
        for place in range(halves.shape[1] - 1):
            halves[:, place + 1] += halves[:, place] >> 32
        yield Band(totals, (halves & _LOW).astype(np.uint32).view(np.uint64))


# ---- widths


def _narrowest(small: np.ndarray, parts: Iterable[Band]) -> Integers:
    """Return a column with each value in the narrowest format.

    Args:
        small: int64[R], the values of rows that are in no part, and 0; it is changed.
        parts: other rows, of any number of limbs.
    """
    by_width: dict[int, list[Band]] = {}
    for rows, limbs in parts:
        widths = _least_widths(limbs)
        for width in np.unique(widths).tolist():
            mine = np.flatnonzero(widths == width)
            if width == 1:
                small[rows[mine]] = limbs[mine, 0].view(np.int64)
            else:
                resized = _resized(limbs[mine], width)
                by_width.setdefault(width, []).append(Band(rows[mine], resized))
    return Integers(small, _bands(by_width))


def _least_widths(limbs: np.ndarray) -> np.ndarray:
    """Return int64[W], the least number of limbs (1, 2, 4, ...) of each row of uint64[W, L]."""
    sign = limbs[:, -1:] >> np.uint64(63)
    fill = np.uint64(0) - sign
    widths, width = np.ones(limbs.shape[0], np.int64), 1
    while width < limbs.shape[1]:
        is_wider = (limbs[:, width:] != fill).any(axis=1)
        is_wider |= (limbs[:, width - 1] >> np.uint64(63)) != sign[:, 0]
        width *= 2
        widths[is_wider] = width
    return widths


def _resized(limbs: np.ndarray, width: int) -> np.ndarray:
    """Return the same values, which fit `width` limbs, in that many limbs."""
    if limbs.shape[1] >= width:
        return np.ascontiguousarray(limbs[:, :width])
    found = np.empty((limbs.shape[0], width), np.uint64)
    found[:, : limbs.shape[1]] = limbs
    found[:, limbs.shape[1] :] = np.uint64(0) - (limbs[:, -1:] >> np.uint64(63))
    return found


def _bands(by_width: dict[int, list[Band]]) -> tuple[Band, ...]:
    """Return one band per number of limbs, in ascending order."""
    found = []
    for width in sorted(by_width):
        parts = by_width[width]
        rows = np.concatenate([part.rows for part in parts])
        limbs = np.concatenate([part.limbs for part in parts])
        order = np.argsort(rows)
        found.append(Band(rows[order], limbs[order]))
    return tuple(found)


def _limbs_of(rows: np.ndarray, values: Sequence[int]) -> Iterable[Band]:
    """Yield the rows of Python integers as limbs, by number of limbs."""
    sizes = np.array([max(n, ~n).bit_length() // 64 + 1 for n in values], np.int64)
    for size in np.unique(sizes).tolist():
        mine = np.flatnonzero(sizes == size)
        held = b"".join(
            values[at].to_bytes(8 * size, "little", signed=True) for at in mine.tolist()
        )
        yield Band(rows[mine], np.frombuffer(held, np.uint64).reshape(-1, size))


def _objects(values: Sequence[int]) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = values
    return found
