"""What the wide sweep works in, and the rows that it comes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import kernel, outlined
from elsinore.kernels.sweep_digits import DIGIT, Numbers, add_digits, forget
from elsinore.kernels.sweep_program import DOUBLE, LONG, End, Stretch, Total, Weights
from elsinore.kernels.sweep_wide_sums import add_scaled_to


class WideWork(NamedTuple):
    """Scratch of the wide sweep; C cells of integers and ranks, digits of one length throughout.

    Attributes:
        cells: integers by cell; ranks use the first digit.
        before: the same before an instant.
        reached: by slot, what reaches counts.
        others: by slot, what reaches other integers, then one to work in.
        sums, sums_before, reached_sums: float64[*, 2], mantissas and exponents.
        ranks, ranks_before, reached_ranks: int64[*], by cell and by slot.
        counted: int64[slots], whether any trend reaches a slot.
        weights: of the present burst.
        line, spare: int64[*], digits of one number each.
    """

    cells: Numbers
    before: Numbers
    reached: Numbers
    others: Numbers
    sums: np.ndarray
    sums_before: np.ndarray
    reached_sums: np.ndarray
    ranks: np.ndarray
    ranks_before: np.ndarray
    reached_ranks: np.ndarray
    counted: np.ndarray
    weights: Weights
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


@outlined
def write_wide(program, work, window, first_rank, found):
    """Write a row for each query that has a trend in the window just swept; there is room.

    `first_rank` is the first column of ranks in `program.ends`; the number to work in is the last
    of `work.others`.
    """
    row, place = found.state[0], work.others.sizes.size - 1
    digits, sizes = work.others.digits[place], work.others.sizes
    for query in range(program.totals.shape[0]):
        total, trends = program.totals[query], False
        for n in range(total[Total.BEGIN], total[Total.END]):
            trends |= work.cells.sizes[program.ends[n, End.CELL]] > 0
        if not trends:
            continue
        key = found.keys[row]
        key[0], key[1], key[2] = window[Stretch.PARTITION], window[Stretch.NUMBER], query
        _total(program, total[Total.BEGIN], total[Total.END], work, place)
        found.lengths[row, 0] = _to_bytes(digits, sizes[place], found.numbers[row, 0])
        n = total[Total.NEXT_BEGIN]
        while n < total[Total.NEXT_END]:
            kind, column, end = program.ends[n, End.KIND], program.ends[n, End.COLUMN], n + 1
            while (
                end < total[Total.NEXT_END]
                and program.ends[end, End.KIND] == kind
                and program.ends[end, End.COLUMN] == column
            ):
                end += 1
            if kind == LONG:
                _total(program, n, end, work, place)
                out = found.numbers[row, column]
                found.lengths[row, column] = _to_bytes(digits, sizes[place], out)
            elif kind == DOUBLE:
                for each in range(n, end):
                    cell = program.ends[each, End.CELL]
                    add_scaled_to(found.sums[row], column, work.sums[cell, 0], work.sums[cell, 1])
            else:
                for each in range(n, end):
                    rank = work.ranks[program.ends[each, End.CELL]]
                    held = found.ranks[row, column - first_rank]
                    found.ranks[row, column - first_rank] = min(held, rank)
            n = end
        row += 1
    found.state[0] = row


@outlined
def _total(program, first, last, work, place):
    """Add up the integers of some END cells, into a number of `work.others`."""
    forget(work.others, place)
    for n in range(first, last):
        add_digits(work.others, place, work.cells, program.ends[n, End.CELL], 1, work.line)


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
        windows: int64[W, 4], see `sweep_program.Stretch`.
        within: length of a window.
        slide: distance of the windows.
        counts: int64[W, Y] to write to.
    """
    for w in range(windows.shape[0]):
        end = windows[w, Stretch.NUMBER] * slide + within
        i = windows[w, Stretch.FIRST]
        while i < windows[w, Stretch.END] and events.times[i] < end:
            symbol = events.symbol_of[events.codes[i]]
            if symbol >= 0:
                counts[w, symbol] += 1
            i += 1
