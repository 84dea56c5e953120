"""Sweep the windows of queries that have the same window clause, in numbers of any width."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np

from elsinore.executors.input.entries import Entries
from elsinore.executors.input.weights import NO_RANK, EventWeights
from elsinore.executors.linear.kernels.digits import DIGIT
from elsinore.executors.linear.kernels.doublings import (
    Counts,
    Doublings,
    double_windows,
    make_scratch,
    most_events,
)
from elsinore.executors.linear.kernels.segments import Program as LaneProgram
from elsinore.executors.linear.kernels.sweep import count_classes, sweep
from elsinore.executors.linear.kernels.sweep_program import (
    DOUBLE,
    LONG,
    RANK,
    End,
    Events,
    Found,
    Program,
    State,
    WindowRun,
    make_numbers,
    make_sums,
    make_work,
)
from elsinore.executors.linear.sweep_sets import Member, Place
from elsinore.executors.linear.sweep_tables import Lowered, Tables
from elsinore.executors.output.window_rows import WindowRows
from elsinore.executors.row_bound import RowBound
from elsinore.windows import Window

#: Maximum number of rows in an output buffer, and about the maximum bytes of their integers. A
#: buffer is larger if there are more queries.
_ROWS, _BYTES = 1 << 15, 1 << 21
#: Maximum number of outgrown windows in an output buffer.
_OUTGROWN = 1 << 12
#: Number of wide windows that are swept together.
_TOGETHER = 1 << 10
#: Bound of the second digit of an int64.
_SPARE = 1 << (63 - DIGIT - 1)


def read_events(
    classes: Sequence[Collection[object]], entries: Entries[Any], weights: EventWeights
) -> Events:
    """Return the entries in the form that the kernels read.

    The kernels skip entries whose event class is empty.

    Args:
        classes: the event class of each code.
        entries: the events by partition and time.
        weights: their weights, without column 0 of integers.
    """
    class_of = np.array([n if each else -1 for n, each in enumerate(classes)], np.int64)
    return Events(
        entries.times, entries.codes, class_of, weights.longs, weights.doubles, weights.ranks
    )


@dataclass(frozen=True)
class Swept:
    """The result of a sweep over some runs of windows.

    Attributes:
        rows: the rows of the windows whose numbers fit.
        outgrown: int64[*, 5], the other windows, see
            `executors.linear.kernels.sweep_program.WindowRun`.
    """

    rows: WindowRows
    outgrown: np.ndarray


def run_sweep(
    tables: Tables, events: Events, runs: np.ndarray, window: Window, digits: int = 0,
    bound: RowBound | None = None,
) -> Swept:  # fmt: skip
    """Sweep all windows of some runs.

    Args:
        tables: the compiled queries.
        events: the entries.
        runs: int64[*, 5], see `executors.linear.kernels.sweep_program.WindowRun`.
        window: the window clause.
        digits: number of digits of each count (`executors.linear.kernels.digits`); 0: 64 bits.
        bound: counts the rows; None: do not count them.
    """
    program = tables.program
    work, found = make_work(program, events, digits), make_found(program, digits)
    parts, done = [], False
    while not done:
        done = sweep(program, events, runs, window.within, window.slide, work, NO_RANK, found)
        parts.append(take_rows(found))
        if bound is not None:
            bound.add(parts[-1].rows.owners)
    return joined(parts)


def joined(parts: Sequence[Swept]) -> Swept:
    """Return the results of one or more parts as one."""
    rows = WindowRows.joined([part.rows for part in parts])
    return Swept(rows, np.concatenate([part.outgrown for part in parts]))


def make_found(program: Program | LaneProgram, digits: int = 0) -> Found:
    """Return an empty output buffer of a kernel, with room for the rows of at least one window."""
    kinds, columns = program.ends[:, End.KIND], program.ends[:, End.COLUMN]
    longs, doubles, ranks = (
        int(columns[kinds == kind].max(initial=least)) + 1
        for kind, least in ((LONG, 0), (DOUBLE, -1), (RANK, -1))  # counts are in column 0
    )
    room = max(min(_ROWS, _BYTES // (8 * (1 + digits) * longs)), program.totals.shape[0])
    return Found(
        np.empty((room, 3), np.int64),
        make_numbers((room, longs), digits),
        make_sums((room, doubles), digits),
        np.full((room, ranks), NO_RANK),
        np.empty((_OUTGROWN, len(WindowRun)), np.int64),
        np.zeros(len(State), np.int64),
    )


def take_rows(found: Found, counts: Counts | None = None) -> Swept:
    """Return the rows and the outgrown windows of an output buffer, and clear it.

    Args:
        found: the buffer.
        counts: keys and counts of trends, if the kernel wrote them separately.
    """
    size, left = int(found.state[State.ROWS]), int(found.state[State.OUTGROWN])
    longs, sums = found.longs[:size].copy(), found.sums[:size].copy()
    exponents = np.zeros(sums.shape[:2], np.int64)
    if counts is not None:
        used = int(counts.widest[0]) + 1  # the highest limb is for the sign
        longs = np.zeros((*longs.shape, used), np.uint64)
        longs[:, 0] = counts.limbs[:size, :used]
    elif longs.ndim == 3:
        longs = _limbs(longs)
        sums, exponents = sums[..., 0], sums[..., 1].astype(np.int64)
    keys, ranks = (
        (found if counts is None else counts).keys[:size].copy(),
        found.ranks[:size].copy(),
    )
    outgrown = found.outgrown[:left].copy()
    found.longs[:size] = 0
    found.sums[:size] = 0.0
    found.ranks[:size] = NO_RANK
    found.state[[State.ROWS, State.OUTGROWN]] = 0
    return Swept(WindowRows(keys, longs, sums, exponents, ranks), outgrown)


def _limbs(longs: np.ndarray) -> np.ndarray:
    """Return digits (`linear.kernels.digits`) as int64[R, K] if they fit, else as 64-bit limbs."""
    used = int(longs[..., 0].max(initial=0)) + 1  # the highest digit is for the sign
    if used <= 2:
        return longs[..., 1].copy()
    digits = longs[..., 1 : 1 + used].reshape(-1, used).copy()
    while (carries := digits[:, :-1] >> DIGIT).any():
        digits[:, :-1] -= carries << DIGIT
        digits[:, 1:] += carries
    if not digits[:, 2:].any() and np.abs(digits[:, 1:]).max(initial=0) < _SPARE:
        return (digits[:, 0] + (digits[:, 1] << DIGIT)).reshape(longs.shape[:2])
    each = used * DIGIT // 8
    held = np.zeros((digits.shape[0], -(-each // 8) * 8), np.uint8)
    held[:, :each] = (
        digits.view(np.uint8).reshape(-1, used, 8)[:, :, : DIGIT // 8].reshape(-1, each)
    )
    held[:, each:] = (digits[:, -1:] >> 63).astype(np.uint8)  # 255 for negative numbers
    return held.view(np.uint64).reshape(*longs.shape[:2], -1)


# ---- windows whose counts do not fit 64 bits


def run_wide(
    lowered: Lowered, events: Events, windows: np.ndarray, window: Window
) -> Iterator[WindowRows]:
    """Yield the rows of windows that do not fit 64 bits (`Swept.outgrown`)."""
    wide = lowered.wide
    for first in range(0, windows.shape[0], _TOGETHER):
        part = windows[first : first + _TOGETHER]
        if wide.doublings is not None:
            left = []
            for swept in _run_doublings(lowered, wide.doublings, events, part, window):
                yield _numbered(swept.rows, wide.doubling)
                left.append(swept.outgrown)
            if sum(map(len, left)):
                again, outgrown = Lowered.of(*lowered.only(wide.doubling)), np.concatenate(left)
                yield _numbered(_run_digits(again, events, outgrown, window), wide.doubling)
        if wide.rest is not None:
            yield _numbered(_run_digits(wide.rest, events, part, window), wide.others)


def _numbered(rows: WindowRows, numbers: Sequence[int]) -> WindowRows:
    """Replace the numbers of some members in rows by their numbers among all members."""
    rows.keys[:, 2] = np.array(numbers, np.int64)[rows.keys[:, 2]]
    return rows


def _run_doublings(
    lowered: Lowered, program: Doublings, events: Events, windows: np.ndarray, window: Window
) -> Iterator[Swept]:
    """Yield the rows of windows, and the windows that `double_windows` could not compute."""
    work = make_scratch(program, most_events(events.times, windows, window.within, window.slide))
    found = make_found(lowered.tables.program)
    limbs = work.total.size // 2
    room = max(_BYTES // (8 * limbs), program.totals.shape[0])
    room = min(room, found.keys.shape[0])  # `found` has the other columns of the same rows
    counts = Counts(
        np.empty((room, 3), np.int64), np.empty((room, limbs), np.uint64), np.zeros(1, np.int64)
    )
    done = False
    while not done:
        done = double_windows(
            program, events, windows, window.within, window.slide, work, counts, found
        )
        yield take_rows(found, counts)


# Without doublings, the width follows from the numbers of events, so one pass is enough. A trend
# has at most one event of a state outside of all cycles, and any number of events of other states.


def _run_digits(
    lowered: Lowered, events: Events, windows: np.ndarray, window: Window
) -> WindowRows:
    counts = np.zeros((windows.shape[0], len(lowered.classes)), np.int64)
    count_classes(events, windows, window.within, window.slide, counts)
    digits = int(_digits_needed(lowered.members, lowered.classes, events, counts).max())
    return run_sweep(lowered.tables, events, windows, window, digits).rows


def _digits_needed(
    members: Sequence[Member],
    classes: Sequence[frozenset[Place]],
    events: Events,
    counts: np.ndarray,
) -> np.ndarray:
    """Return int64[W]: number of digits that holds every number of each window.

    Args:
        members: the queries.
        classes: the event class of each code.
        events: the entries, with their weights.
        counts: int64[W, C], the number of events of each window by class.
    """
    bits = np.zeros(counts.shape[0])
    classes_of: dict[Place, list[int]] = {}
    for y, places in enumerate(classes):
        for place in places:
            classes_of.setdefault(place, []).append(y)
    together: dict[tuple[int, ...], np.ndarray] = {}  # bits of the number of events of classes
    for n, member in enumerate(members):
        mine = np.zeros(counts.shape[0])
        choices: dict[int, int] = {}
        for state in sorted(member.states):
            here = tuple(classes_of.get((n, state), []))
            if state in member.cyclic:
                for y in here:
                    choices[y] = choices.get(y, 0) + 1
            elif here:
                if here not in together:
                    together[here] = np.log2(1.0 + counts[:, here].sum(axis=1))
                mine += together[here]
        for y, number in choices.items():
            mine += counts[:, y] * log2(1.0 + number)
        np.maximum(bits, mine, out=bits)
    heaviest = float(np.abs(events.longs.astype(np.float64)).max(initial=1.0))
    bits += np.log2(1.0 + heaviest) + np.log2(1.0 + counts.sum(axis=1))
    return (bits // DIGIT).astype(np.int64) + 8
