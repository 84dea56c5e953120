"""What the wide sweep works in, and the rows that it comes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import kernel, outlined
from elsinore.kernels.sweep_digits import DIGIT, add_digits
from elsinore.kernels.sweep_program import DOUBLE, LONG
from elsinore.kernels.sweep_wide_sums import add_scaled_to


class WideWork(NamedTuple):
    """Scratch of the wide sweep; C cells of integers and ranks, digits of one length throughout.

    Attributes:
        digits, sizes: int64[C, *] and int64[C]; ranks use the first digit.
        before, sizes_before: the same before an instant.
        reached, reached_sizes: by slot, what reaches counts.
        others, other_sizes: by slot, what reaches other integers, then a row to work in.
        sums, sums_before, reached_sums: float64[*, 2], mantissas and exponents.
        ranks, ranks_before, reached_ranks: int64[*], by cell and by slot.
        counted: int64[slots], whether any trend reaches a slot.
        weights, sum_weights, heavy: see `sweep_program.Work`.
        line, spare: int64[*], digits of one number each.
    """

    digits: np.ndarray
    sizes: np.ndarray
    before: np.ndarray
    sizes_before: np.ndarray
    reached: np.ndarray
    reached_sizes: np.ndarray
    others: np.ndarray
    other_sizes: np.ndarray
    sums: np.ndarray
    sums_before: np.ndarray
    reached_sums: np.ndarray
    ranks: np.ndarray
    ranks_before: np.ndarray
    reached_ranks: np.ndarray
    counted: np.ndarray
    weights: np.ndarray
    sum_weights: np.ndarray
    heavy: np.ndarray
    line: np.ndarray
    spare: np.ndarray


class WideFound(NamedTuple):
    """Rows that are written; R of them have room.

    Attributes:
        keys: int64[R, 3], partition, window number, query.
        numbers: uint8[R, K, *], counts and other integers as bytes, the lowest first, with a sign;
            lengths: int64[R, K], bytes of each.
        sums: float64[R, *, 2], mantissas and exponents; ranks: int64[R, *].
        state: int64[1], rows written.
    """

    keys: np.ndarray
    numbers: np.ndarray
    lengths: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray
    state: np.ndarray


@kernel
def write_wide(program, work, partition, number, ranks_from, found):
    """Write a row for each query that has a trend in the window just swept; there is room.

    `ranks_from` is the first column of ranks in `program.ends`; the row for digits to work in is
    the last of `work.others`.
    """
    row, place = found.state[0], work.other_sizes.size - 1
    for query in range(program.totals.shape[0]):
        first, last = program.totals[query, 0], program.totals[query, 1]
        trends = False
        for n in range(first, last):
            trends |= work.sizes[program.ends[n, 0]] > 0
        if not trends:
            continue
        found.keys[row, 0], found.keys[row, 1], found.keys[row, 2] = partition, number, query
        _total(program, first, last, work, place)
        found.lengths[row, 0] = _to_bytes(work.others[place], work.other_sizes[place],
                                          found.numbers[row, 0])  # fmt: skip
        n = program.totals[query, 2]
        while n < program.totals[query, 3]:
            kind, column, end = program.ends[n, 1], program.ends[n, 2], n + 1
            while (
                end < program.totals[query, 3]
                and program.ends[end, 1] == kind
                and program.ends[end, 2] == column
            ):
                end += 1
            if kind == LONG:
                _total(program, n, end, work, place)
                found.lengths[row, column] = _to_bytes(
                    work.others[place], work.other_sizes[place], found.numbers[row, column]
                )
            elif kind == DOUBLE:
                for each in range(n, end):
                    cell = program.ends[each, 0]
                    add_scaled_to(found.sums[row], column, work.sums[cell, 0], work.sums[cell, 1])
            else:
                for each in range(n, end):
                    rank = work.ranks[program.ends[each, 0]]
                    held = found.ranks[row, column - ranks_from]
                    found.ranks[row, column - ranks_from] = min(held, rank)
            n = end
        row += 1
    found.state[0] = row


@outlined
def _total(program, first, last, work, row):
    """Add up the integers of some END cells, into a row of `work.others`."""
    work.others[row, : work.other_sizes[row]] = 0
    work.other_sizes[row] = 0
    for n in range(first, last):
        add_digits(
            work.others, work.other_sizes, row, work.digits, work.sizes, program.ends[n, 0], 1,
            work.line,
        )  # fmt: skip


@outlined
def _to_bytes(digits, size, out):
    """Write digits as bytes; how many. The highest digit, which has the sign, takes eight."""
    carry, n = np.int64(0), 0
    for i in range(size):
        value = digits[i] + carry
        carry = value >> DIGIT
        for byte in range(7 if i + 1 < size else 8):
            out[n] = (value >> (8 * byte)) & 255
            n += 1
    return n


@kernel
def count_symbols(events, windows, within, slide, counts):
    """Count the events of each symbol in windows.

    Args:
        events: see `sweep_program`.
        windows: int64[W, 4], `(first entry, end, partition, number)`.
        within: length of a window.
        slide: distance of the windows.
        counts: int64[W, Y] to write to.
    """
    for w in range(windows.shape[0]):
        end = windows[w, 3] * slide + within
        i = windows[w, 0]
        while i < windows[w, 1] and events.times[i] < end:
            symbol = events.symbol_of[events.codes[i]]
            if symbol >= 0:
                counts[w, symbol] += 1
            i += 1
