"""Sweeps the windows whose counts outgrow 64 bits, in numbers as wide as they need.

How wide that is is known from the numbers of events alone, so that nothing is done twice: a trend
has at most one event of a state that is on no cycle, and any of those that are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np

from elsinore.engine.build_graph import NO_RANK
from elsinore.engine.sweep.run import row_widths
from elsinore.kernels.sweep_digits import DIGIT, Numbers
from elsinore.kernels.sweep_program import (
    COUNT,
    DOUBLE,
    LONG,
    RANK,
    Events,
    Program,
    make_weights,
    slots_of,
)
from elsinore.kernels.sweep_wide import sweep_wide
from elsinore.kernels.sweep_wide_rows import WideFound, WideWork, count_symbols
from elsinore.lowering.sweep import Member, Place
from elsinore.lowering.sweep_tables import Lowered
from elsinore.windows import Window

#: Windows that are looked at together.
_TOGETHER = 1 << 10
#: Rows that are kept until they are taken away, and bytes of their integers, about.
_MOST_ROWS, _ROOM = 1 << 14, 1 << 24


@dataclass(frozen=True)
class WideRows:
    """R rows whose integers have any size.

    Attributes:
        keys: int64[R, 3], partition, window number, member.
        counts: object[R, *], integers.
        sums: float64[R, *, 2], mantissas and exponents; ranks: int64[R, *], of extremes. Only the
            member's own columns count.
    """

    keys: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray


def run_wide(
    lowered: Lowered, events: Events, outgrown: Sequence[np.ndarray], window: Window
) -> list[WideRows]:
    """The rows of the windows that outgrew 64 bits (`kernels.sweep_program.Found.outgrown`)."""
    windows = np.concatenate([np.empty((0, 4), np.int64), *outgrown])
    return [rows for rows in _run(lowered, events, windows, window) if rows.keys.size]


def _run(
    lowered: Lowered, events: Events, windows: np.ndarray, window: Window
) -> Iterator[WideRows]:
    program, symbols = lowered.tables.program, lowered.symbols
    room, ranks = 0, row_widths(program).longs
    for first in range(0, windows.shape[0], _TOGETHER):
        part = windows[first : first + _TOGETHER]
        counts = np.zeros((part.shape[0], len(symbols)), np.int64)
        count_symbols(events, part, window.within, window.slide, counts)
        needed = int(_digits_needed(lowered.members, symbols, events, counts).max())
        if needed > room:
            room = needed
            work, found = make_wide_work(program, events, room), make_wide_found(program, room)
        done = 0
        while done < part.shape[0]:
            done += sweep_wide(
                program, events, part[done:], window.within, window.slide, work,
                (ranks, NO_RANK), found,
            )  # fmt: skip
            yield take_wide(found)


def make_wide_found(program: Program, digits: int) -> WideFound:
    """Room for the rows of a window at least."""
    widths = row_widths(program)
    each = 7 * digits + 8
    size = max(program.totals.shape[0], min(_MOST_ROWS, _ROOM // (each * widths.longs)))
    return WideFound(
        np.empty((size, 3), np.int64),
        np.empty((size, widths.longs, each), np.uint8),
        np.zeros((size, widths.longs), np.int64),
        np.zeros((size, widths.doubles, 2)),
        np.full((size, widths.ranks), NO_RANK),
        np.zeros(1, np.int64),
    )


def take_wide(found: WideFound) -> WideRows:
    """What the kernel wrote; the room is clear then."""
    size = int(found.state[0])
    counts = np.zeros(found.lengths[:size].shape, object)
    held = found.numbers[:size].tobytes()
    each = found.numbers.shape[2]
    flat = [
        int.from_bytes(held[n * each : n * each + length], "little", signed=True)
        for n, length in enumerate(found.lengths[:size].ravel().tolist())
    ]
    counts.ravel()[:] = flat
    rows = WideRows(
        found.keys[:size].copy(), counts, found.sums[:size].copy(), found.ranks[:size].copy()
    )
    found.state[0] = 0
    found.lengths[:size] = 0
    found.sums[:size] = 0.0
    found.ranks[:size] = NO_RANK
    return rows


def _digits_needed(
    members: Sequence[Member],
    symbols: Sequence[frozenset[Place]],
    events: Events,
    counts: np.ndarray,
) -> np.ndarray:
    """int64[W]: digits that hold every number of each window, given its events by symbol."""
    bits = np.zeros(counts.shape[0])
    symbols_of: dict[Place, list[int]] = {}
    for y, places in enumerate(symbols):
        for place in places:
            symbols_of.setdefault(place, []).append(y)
    together = _Logarithms(counts)
    for n, member in enumerate(members):
        mine = np.zeros(counts.shape[0])
        choices: dict[int, int] = {}
        for state in sorted(member.states):
            here = symbols_of.get((n, state), [])
            if state in member.cyclic:
                for y in here:
                    choices[y] = choices.get(y, 0) + 1
            elif here:
                mine += together.of(tuple(here))
        for y, number in choices.items():
            mine += counts[:, y] * log2(1.0 + number)
        np.maximum(bits, mine, out=bits)
    heaviest = float(np.abs(events.longs.astype(np.float64)).max(initial=1.0))
    bits += np.log2(1.0 + heaviest) + np.log2(1.0 + counts.sum(axis=1))
    return (bits // DIGIT).astype(np.int64) + 8


class _Logarithms:
    """Bits of the number of events of several symbols, each worked out once."""

    def __init__(self, counts: np.ndarray) -> None:
        self._counts = counts
        self._known: dict[tuple[int, ...], np.ndarray] = {}

    def of(self, symbols: tuple[int, ...]) -> np.ndarray:
        """float64[W]"""
        if symbols not in self._known:
            self._known[symbols] = np.log2(1.0 + self._counts[:, symbols].sum(axis=1))
        return self._known[symbols]


def make_wide_work(program: Program, events: Events, digits: int) -> WideWork:
    """Scratch for numbers of some digits."""
    ones, _, longs, cells, sums, _, _ = program.sizes.tolist()
    slots = slots_of(program)
    work = WideWork(
        cells=_numbers(longs + 1, digits),
        before=_numbers(longs, digits),
        reached=_numbers(slots[COUNT], digits),
        others=_numbers(slots[LONG] + 1, digits),
        sums=np.zeros((sums, 2)),
        sums_before=np.zeros((sums, 2)),
        reached_sums=np.zeros((slots[DOUBLE] + 1, 2)),
        ranks=np.zeros(cells, np.int64),
        ranks_before=np.zeros(cells, np.int64),
        reached_ranks=np.zeros(slots[RANK], np.int64),
        counted=np.zeros(slots[COUNT], np.int64),
        weights=make_weights(events),
        line=np.zeros(digits, np.int64),
        spare=np.zeros(digits, np.int64),
    )
    work.cells.digits[:ones, 0] = 1
    work.cells.sizes[:ones] = 1
    return work


def _numbers(count: int, digits: int) -> Numbers:
    return Numbers(np.zeros((count, digits), np.int64), np.zeros(count, np.int64))
