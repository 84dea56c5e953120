"""Run queries of fixed length over the events of a table: the executors aseq and sharon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import Entries, key_codes, make_entries
from elsinore.executors.input.weights import NO_RANK, EventWeights, weigh_events
from elsinore.executors.linear.chains import passes
from elsinore.executors.linear.kernels.planes import DIGIT, digits_for
from elsinore.executors.linear.kernels.segments import START, Clause, Clock, Lanes, run_lanes
from elsinore.executors.linear.kernels.sweep_program import make_weighed
from elsinore.executors.linear.run import make_found, read_events, take_rows
from elsinore.executors.linear.segment_tables import Lowered, lower_classes, lower_segments
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.query.bound import BoundQuery, KeyName
from elsinore.query.segments import Segment
from elsinore.timeline import Interval


class Overflowed(NamedTuple):
    """Windows of a query in which a sum overflows a double."""

    query: BoundQuery
    windows: np.ndarray  #: int64[*], the numbers of the windows, ascending


def lower_passes(
    queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]
) -> tuple[Lowered, ...]:
    """Return a program for each group of queries whose keys have the same names.

    Args:
        queries: queries that aseq supports.
        shared: the segments of a plan, each by its occurrences in the queries that share it.
            Occurrences must not overlap. Empty for A-Seq, which shares nothing.
    """
    return tuple(lower_segments(members, shared) for members in passes(queries))


def run_passes(
    lowered: Sequence[Lowered], columns: EventColumns, owned: Interval | None
) -> Iterator[PartialRows | Overflowed]:
    """Run programs, each in one pass over the events.

    Args:
        lowered: the programs; see `lower_passes`.
        columns: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.

    Yields:
        Partial rows, and the windows that they leave out.
    """
    for program in lowered:
        yield from _run_pass(program, columns, owned)


def _run_pass(
    lowered: Lowered, columns: EventColumns, owned: Interval | None
) -> Iterator[PartialRows | Overflowed]:
    query = lowered.chains[0].query
    codes = key_codes(query, columns)
    entries = make_entries(lowered.placements, codes, columns, query.window)
    weights = weigh_events(lowered.weights, columns, entries.rows, first=1)
    bound = RowBound([chain.query for chain in lowered.chains])
    parts = list(bound.counted(run_segments(lowered, entries, weights, owned)))
    overflowed = np.concatenate([part.keys[~np.isfinite(part.sums).all(axis=1)] for part in parts])
    for number in np.unique(overflowed[:, 2]).tolist():
        windows = np.unique(overflowed[overflowed[:, 2] == number, 1])
        yield Overflowed(lowered.chains[number].query, windows)
        parts = [
            part.where(~((part.owners == number) & np.isin(part.keys[:, 1], windows)))
            for part in parts
        ]
    readings, groups = [], dict[tuple[KeyName, ...], Groups]()
    for query in (chain.query for chain in lowered.chains):
        named = tuple(n for n, key in query.named_keys.items() if key.group_label is not None)
        if named not in groups:
            groups[named] = Groups.of(entries.group_texts(query, codes))
        readings.append(Reading(query, groups[named], weights.meanings(query)))
    yield from partial_rows(parts, readings)


def run_segments(
    lowered: Lowered, entries: Entries[int], weights: EventWeights, owned: Interval | None
) -> Iterator[WindowRows]:
    """Yield the rows of all queries of a program.

    Args:
        lowered: the program.
        entries: the events by partition and time.
        weights: their weights, without column 0 of integers.
        owned: compute only windows that end in this interval; None for every window.
    """
    events = read_events(entries.classes, entries, weights)
    windows = lowered.program.windows.copy()
    for chain in lowered.chains:
        windows[chain.window, [Clause.FIRST, Clause.LAST]] = chain.query.window.owned(owned)
    program = lower_classes(lowered, entries.classes)._replace(windows=windows)
    planes = _planes_needed(lowered, entries, weights.longs)
    lanes = _make_lanes(lowered, planes)
    clocks = np.zeros((windows.shape[0] + 1, len(Clock)), np.int64)
    weighed, found = make_weighed(events), make_found(program, digits_for(planes))
    done = False
    while not done:
        done = run_lanes(program, lanes, events, entries.offsets, clocks, weighed, found)
        yield take_rows(found).rows


def _planes_needed(lowered: Lowered, entries: Entries[int], longs: np.ndarray) -> int:
    """Return a number of planes that is enough for any count.

    There are at most as many trends as choices of one event per position.
    """
    amounts = np.zeros(len(lowered.symbols), np.int64)
    numbers = np.bincount(entries.codes, minlength=len(entries.classes)).tolist()
    for symbols, number in zip(entries.classes, numbers, strict=False):
        amounts[list(symbols)] += number
    largest = np.diff(entries.offsets).max(initial=0)
    choices = np.log2(np.minimum(amounts, largest) + 1.0)
    bits = max(float(choices[list(chain.symbols)].sum()) for chain in lowered.chains)
    heaviest = max(1.0, float(np.abs(longs.astype(np.float64)).max(initial=1.0)))
    longest = max(len(chain.symbols) for chain in lowered.chains)
    return int((bits + log2(heaviest) + log2(longest) + 2) // DIGIT) + 2


def _make_lanes(lowered: Lowered, planes: int) -> Lanes:
    """Return the initial lanes of a program: only the row `START` counts a trend."""
    counts, doubles, ranks = lowered.starts[:, -1].tolist()
    rows = lowered.starts.shape[1] - 1
    lanes = Lanes(
        np.zeros((planes, counts), np.int64),
        np.zeros(doubles),
        np.full(ranks, NO_RANK, np.int64),
        lowered.starts[0],
        lowered.starts[1],
        lowered.starts[2],
        np.ones(rows, np.int64),
        np.zeros(rows),
    )
    lanes.counts[0, 0] = lanes.bounds[START] = 1
    return lanes
