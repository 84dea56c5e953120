"""Sweeps the windows of queries that have the same window clause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from elsinore.engine.build_graph import NO_RANK
from elsinore.engine.sweep.entries import Entries
from elsinore.engine.weights import EventWeights
from elsinore.kernels.sweep import sweep
from elsinore.kernels.sweep_program import (
    DOUBLE,
    LONG,
    RANK,
    End,
    Events,
    Found,
    Program,
    State,
    Work,
    make_work,
)
from elsinore.lowering.sweep import Place
from elsinore.lowering.sweep_tables import Tables
from elsinore.windows import Window

#: Rows that a kernel writes before they are taken away, unless there are more queries.
_ROOM = 1 << 15
#: Windows that may outgrow 64 bits meanwhile.
_OUTGROWN = 1 << 12


@dataclass(frozen=True)
class SweptRows:
    """R rows of 64 bits.

    Attributes:
        keys: int64[R, 3], partition, window number, member.
        longs: int64[R, *], counts, then ranks from column `ranks` on; doubles: float64[R, *]. Only
            the member's own columns count.
    """

    keys: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: int


def joined(parts: Sequence[SweptRows]) -> SweptRows:
    """The rows of several parts of a sweep, one or more."""
    return SweptRows(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.longs for part in parts]),
        np.concatenate([part.doubles for part in parts]),
        parts[0].ranks,
    )


@dataclass(frozen=True)
class Swept:
    """What a sweep came to.

    Attributes:
        rows: all rows of windows whose counts fit 64 bits.
        outgrown: int64[*, 4], the other windows, see `kernels.sweep_program.Found`.
    """

    rows: SweptRows
    outgrown: np.ndarray


def events_of(
    symbols: Sequence[frozenset[Place]], entries: Entries, weights: EventWeights
) -> Events:
    """The entries as the kernels read them; a code that means nothing to the queries is skipped.

    `weights` are without column 0 of integers.
    """
    symbol_of = np.array([n if s else -1 for n, s in enumerate(symbols)], np.int64)
    return Events(
        entries.times, entries.codes, symbol_of, weights.longs, weights.doubles, weights.ranks
    )


def run_sweep(tables: Tables, events: Events, stretches: np.ndarray, window: Window) -> Swept:
    """Sweep all windows of some stretches."""
    program = tables.program
    work, found = make_work(program, events), make_found(program)
    ranks = row_widths(program).longs
    parts, outgrown = [], []
    for rows, wide in _calls(program, events, stretches, window, work, found):
        parts.append(rows)
        outgrown.append(wide)
    keys, longs, doubles = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Swept(SweptRows(keys, longs, doubles, ranks), np.concatenate(outgrown))


class Widths(NamedTuple):
    """Columns of rows, of the widest member."""

    longs: int
    doubles: int
    ranks: int


def row_widths(program: Program) -> Widths:
    """The columns that a program writes; ranks come after the longs."""
    columns = program.ends[:, End.COLUMN]
    last = {
        kind: int(columns[program.ends[:, End.KIND] == kind].max(initial=-1)) + 1
        for kind in (LONG, DOUBLE, RANK)
    }
    longs = max(last[LONG], 1)
    return Widths(longs, last[DOUBLE], max(last[RANK] - longs, 0))


def make_found(program: Program) -> Found:
    """Room for rows."""
    room, widths = max(_ROOM, program.totals.shape[0]), row_widths(program)
    found = Found(
        np.empty((room, 3), np.int64),
        np.zeros((room, widths.longs + widths.ranks), np.int64),
        np.zeros((room, widths.doubles)),
        np.empty((_OUTGROWN, 4), np.int64),
        np.zeros(len(State), np.int64),
    )
    found.longs[:, widths.longs :] = NO_RANK
    return found


def take_rows(found: Found, ranks: int) -> tuple[list[np.ndarray], np.ndarray]:
    """What a kernel wrote, rows and windows that it could not do; the room is clear then."""
    size, wide = int(found.state[State.ROWS]), int(found.state[State.OUTGROWN])
    rows = [column[:size].copy() for column in (found.keys, found.longs, found.doubles)]
    outgrown = found.outgrown[:wide].copy()
    found.longs[:size, :ranks] = 0
    found.longs[:size, ranks:] = NO_RANK
    found.doubles[:size] = 0.0
    found.state[[State.ROWS, State.OUTGROWN]] = 0
    return rows, outgrown


def _calls(
    program: Program,
    events: Events,
    stretches: np.ndarray,
    window: Window,
    work: Work,
    found: Found,
) -> Iterator[tuple[Sequence[np.ndarray], np.ndarray]]:
    done, ranks = False, row_widths(program).longs
    while not done:
        done = sweep(program, events, stretches, window.within, window.slide, work, NO_RANK, found)
        yield take_rows(found, ranks)
