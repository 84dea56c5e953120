"""Runs queries of fixed length over the events of a table: the executors aseq and sharon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import Entries, at_symbols, key_codes, make_entries
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partial_rows import (
    Reading,
    WindowRows,
    combine_groups,
    partial_tables,
)
from elsinore.engine.weights import NO_RANK, EventWeights, weigh_events
from elsinore.events import EventTable
from elsinore.kernels.segments import Clock, Final, Found, Lanes, run_steps
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.kernels.segments_steps import EntryColumns, Steps, Weights, fold_steps
from elsinore.lowering.chains import Chain, Column, passes
from elsinore.lowering.segments import Lowered, lower_segments
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.template.support import aseq_refusals, require
from elsinore.timeline import Interval


def aggregate_segments(
    queries: Sequence[BoundQuery],
    events: EventTable | EventColumns,
    shared: Sequence[Sequence[Segment]] | None = None,
    *,
    owned: Interval | None = None,
) -> pa.Table:
    """Unfinished rows (`results.partial`) of queries over all events of a table.

    Args:
        queries: what aseq can run.
        events: in any order; all partitions together.
        shared: the segments of a plan, each with its places in the queries that share it, no two of
            which overlap (`shared_segments`); None for A-Seq, which shares nothing.
        owned: only the windows that end in this interval; None for every window.

    Raises:
        UnsupportedQueryError: a query needs what these executors lack; see `aseq_refusals`.
    """
    require(queries, "aseq" if shared is None else "sharon", aseq_refusals)
    return run_passes(lower_passes(queries, shared or ()), EventColumns.of(events), owned)


def lower_passes(
    queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]
) -> tuple[Lowered, ...]:
    """A program for all queries whose keys have the same names (`BoundQuery.named_keys`)."""
    return tuple(lower_segments(members, shared) for members in passes(queries))


def run_passes(
    lowered: Sequence[Lowered], columns: EventColumns, owned: Interval | None
) -> pa.Table:
    """Runs programs, each in one pass over the events; see `aggregate_segments`."""
    tables = [PARTIAL_SCHEMA.empty_table()]
    for program in lowered:
        tables += _run_pass(program, columns, owned)
    return pa.concat_tables(tables)


def _run_pass(lowered: Lowered, columns: EventColumns, owned: Interval | None) -> list[pa.Table]:
    codes = key_codes(lowered.chains[0].query, columns)
    entries = make_entries(lowered.standings, codes, columns)
    weights = weigh_events(lowered.weights, columns)
    parts = list(run_segments(lowered, at_symbols(entries), weights, owned))
    if not parts:
        return []
    tables = []
    keys, digits, sums, ranks = map(np.concatenate, zip(*parts, strict=True))
    rows = WindowRows(keys, _integers(digits), sums, np.zeros(sums.shape, np.int64), ranks)
    overflowed = rows.keys[~np.isfinite(rows.sums).all(axis=1)]
    for number in np.unique(overflowed[:, 2]).tolist():
        windows = np.unique(overflowed[overflowed[:, 2] == number, 1])
        tables.append(_redone(lowered.chains[number].query, columns.events, windows))
        mine = (rows.keys[:, 2] == number) & np.isin(rows.keys[:, 1], windows)
        rows = rows.where(~mine)
    readings = _readings(lowered, entries, codes, weights)
    for combined in combine_groups([rows], readings):
        tables += partial_tables(combined, readings)
    return tables


def _integers(digits: np.ndarray) -> np.ndarray:
    """Digits of 30 bits, int64[R, C, digits], as int64[R, C]; Python's where one needs more."""
    last, low = digits.shape[-1] - 1, np.zeros(digits.shape[:-1], np.int64)
    for n in range(min(last + 1, 3)):
        low += digits[..., n] << (DIGIT * n)
    small = np.ones(low.shape, np.bool_)
    for n in range(last + 1):  # does int64 say the same?
        same = low >> min(DIGIT * n, 63)
        small &= digits[..., n] == (same & (2**DIGIT - 1) if n < last else same)
    if small.all():
        return low
    values, rest = low.astype(object), digits[~small].astype(object)
    total = rest[:, last]
    for n in range(last - 1, -1, -1):
        total = (total << DIGIT) + rest[:, n]
    values[~small] = total
    return values


def _readings(
    lowered: Lowered, entries: Entries[int], codes: dict[str, KeyCodes], weights: EventWeights
) -> list[Reading]:
    """What the columns of each query mean: they stand in the order of their first positions."""
    groups: dict[tuple[str, ...], pa.Array] = {}
    readings = []
    for chain in lowered.chains:
        named = tuple(n for n, key in chain.query.named_keys.items() if key.group_label is not None)
        if named not in groups:
            groups[named] = entries.group_texts(chain.query, codes)
        counts, sums, ranks = map(_in_order, (chain.counts, chain.doubles, chain.ranks))
        meanings = [
            (place, weights.extremes[column.carrier.attribute, column.largest], column.largest)
            for place in ranks
            for column in [chain.ranks[place]]
        ]
        readings.append(
            Reading(
                chain.query,
                groups[named],
                (0, *(1 + place for place in counts)),
                sums,
                tuple((place, meaning) for place, meaning, largest in meanings if not largest),
                tuple((place, meaning) for place, meaning, largest in meanings if largest),
            )
        )
    return readings


def _in_order(columns: Sequence[Column]) -> tuple[int, ...]:
    """Places of columns in the order of their carriers."""
    return tuple(sorted(range(len(columns)), key=lambda place: columns[place].number))


def _redone(query: BoundQuery, events: EventTable, numbers: np.ndarray) -> pa.Table:
    """The rows of windows whose sums outgrow a double: greta's ladder has wide exponents."""
    low, high = query.window.bounds(int(numbers[0])), query.window.bounds(int(numbers[-1]))
    table = aggregate_query(
        query, events.between(low.start, high.end), owned=Interval(low.end - 1, high.end)
    )
    starts = pa.array(numbers * query.window.slide)
    return table.filter(pc.is_in(table["window_start"], value_set=starts))


def shared_segments(plan: StaticPlan) -> list[list[Segment]]:
    """What a plan shares: for each chosen candidate its place in each query that shares it."""
    return [
        [
            Segment(place.query, place.start, plan.by_id[name].pattern)
            for place in plan.by_id[name].shared_occurrences
        ]
        for name in plan.chosen
    ]


# ---- programs over entries, as many partitions at a time as results have room

#: Result rows to make room for at once, unless one partition alone may have more.
_ROOM = 50_000


def run_segments(
    lowered: Lowered, entries: EntryColumns, weights: EventWeights, owned: Interval | None
) -> Iterator[Found]:
    """The rows of all queries in all windows that end in `owned` (None: in every window)."""
    if not entries.rows.size:
        return
    steps = fold(lowered, entries, weights)
    program = lowered.program._replace(windows=_windows(lowered, owned))
    amounts = np.bincount(entries.symbols, minlength=len(lowered.symbols))
    largest = int(np.diff(entries.offsets).max())
    planes = _planes_needed(lowered.chains, amounts, largest, weights.longs)
    lanes = make_lanes(lowered, planes)
    needed = _rows_needed(lowered, program.windows, steps)
    most = int(max(_ROOM, needed.max()))
    widths = lowered.program.finals[:, [Final.COUNTS, Final.DOUBLES, Final.RANKS]].max(axis=0)
    found = Found(
        np.empty((most, 3), np.int64),
        np.zeros((most, widths[0], planes + 1), np.int64),
        np.zeros((most, widths[1])),
        np.zeros((most, widths[2]), np.int64),
    )
    clocks = np.zeros((program.windows.shape[0], len(Clock)), np.int64)
    copied = np.full(len(lowered.symbols), -1, np.int64)
    first = 0
    while first < needed.size:
        last = first + max(1, int(np.searchsorted(np.cumsum(needed[first:]), most, side="right")))
        size = run_steps(program, lanes, steps, first, last, clocks, copied, found)
        first = last
        if size:
            yield Found(*(column[:size].copy() for column in found))
            for column in found:  # a row has the columns of its query alone
                column[:size] = 0


def fold(lowered: Lowered, entries: EntryColumns, weights: EventWeights) -> Steps:
    """The entries as steps."""
    size, symbols = entries.rows.size, len(lowered.symbols)
    own = Weights(weights.longs, weights.doubles, weights.ranks)
    steps = Steps(
        instants=np.empty(size, np.int64),
        groups=np.empty(size + 1, np.int64),
        group_offsets=np.empty(entries.offsets.size, np.int64),
        symbols=np.empty(size, np.int32),
        counts=np.empty(size, np.int64),
        longs=np.empty((own.longs.shape[0], size), np.int64),
        doubles=np.empty((own.doubles.shape[0], size)),
        ranks=np.empty((own.ranks.shape[0], size), np.int64),
    )
    many, few = fold_steps(
        entries, own,
        lowered.program.windows, lowered.runs,
        np.full(symbols, -1, np.int64), np.zeros(symbols, np.int64), steps,
    )  # fmt: skip
    return steps._replace(
        instants=steps.instants[:many],
        groups=steps.groups[: many + 1],
        symbols=steps.symbols[:few],
        counts=steps.counts[:few],
    )


def _planes_needed(
    chains: list[Chain], symbols: np.ndarray, largest: int, longs: np.ndarray
) -> int:
    """Planes that hold any count of some chains: no more trends than choices of their events.

    Args:
        chains: the queries.
        symbols: int64[Y], number of entries of each symbol.
        largest: entries of the largest partition.
        longs: int64[K, N], the integer weights.
    """
    choices = np.log2(np.minimum(symbols, largest) + 1.0)
    bits = max(float(choices[list(chain.symbols)].sum()) for chain in chains)
    heaviest = max(1.0, float(np.abs(longs.astype(np.float64)).max(initial=1.0)))
    longest = max(len(chain.symbols) for chain in chains)
    return int((bits + log2(heaviest) + log2(longest) + 2) // DIGIT) + 2


def make_lanes(lowered: Lowered, planes: int) -> Lanes:
    """Clear lanes for a program."""
    counts, doubles, ranks = (int(starts[-1]) for starts in lowered.starts)
    rows = lowered.starts[0].size - 1
    return Lanes(
        np.zeros((planes, counts), np.int64),
        np.zeros(doubles),
        np.full(ranks, NO_RANK, np.int64),
        *lowered.starts,
        np.ones(rows, np.int64),
        np.zeros(rows),
    )


def _windows(lowered: Lowered, owned: Interval | None) -> np.ndarray:
    windows = lowered.program.windows.copy()
    for chain in lowered.chains:
        windows[chain.window, 3:] = chain.query.window.owned(owned)
    return windows


def _rows_needed(lowered: Lowered, windows: np.ndarray, steps: Steps) -> np.ndarray:
    """int64[P]: rows that each partition has at most."""
    begin, end = steps.group_offsets[:-1], steps.group_offsets[1:]
    amounts = end - begin
    filled = amounts > 0
    needed = np.zeros(amounts.size, np.int64)
    first = steps.instants[begin[filled]]
    last = steps.instants[end[filled] - 1]
    queries = np.diff(lowered.program.final_starts)
    for (within, slide, lanes, low, high), number in zip(windows.tolist(), queries, strict=True):
        numbers = np.minimum(last // slide, high) - np.maximum((first - within) // slide + 1, low)
        numbers = np.clip(numbers + 1, 0, amounts[filled] * lanes)
        needed[filled] += number * numbers
    return needed
