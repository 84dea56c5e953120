"""Runs queries of fixed length over the events of a table: the executors aseq and sharon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import Entries, make_entries
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partial_rows import (
    Reading,
    WindowRows,
    combine_groups,
    partial_tables,
)
from elsinore.engine.segments.run import run_segments
from elsinore.engine.weights import EventWeights, weigh_events
from elsinore.events import EventTable
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.kernels.segments_steps import EntryColumns
from elsinore.lowering.chains import Column, named_keys, passes
from elsinore.lowering.segments import Lowered, lower_segments
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.template.support import require_aseq
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
        UnsupportedQueryError: a query needs what these executors lack; see `require_aseq`.
    """
    require_aseq(queries, "aseq" if shared is None else "sharon")
    return run_passes(lower_passes(queries, shared or ()), EventColumns.of(events), owned)


def lower_passes(
    queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]
) -> tuple[Lowered, ...]:
    """A program for all queries whose keys have the same names (`chain.named_keys`)."""
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
    codes = key_codes(lowered, columns)
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


def key_codes(lowered: Lowered, columns: EventColumns) -> dict[str, KeyCodes]:
    """The codes of the keys of a pass, by name (`chains.named_keys`)."""
    keys = named_keys(lowered.chains[0].query)
    return {
        name: KeyCodes.of(replace(keys[name], equivalence=True), columns) for name in sorted(keys)
    }


def at_symbols(entries: Entries[int]) -> EntryColumns:
    """An entry for each symbol at which an event may stand."""
    size = entries.codes.size
    rows = np.arange(size) if entries.rows is None else entries.rows
    amounts = np.array([len(each) for each in entries.classes], np.int64)
    symbols = np.array([n for each in entries.classes for n in sorted(each)], np.int32)
    first = np.cumsum(amounts) - amounts
    each = amounts[entries.codes]
    if (each == 1).all():
        numbers = symbols[first[entries.codes]]
        return EntryColumns(entries.times, rows, numbers, entries.offsets)
    ends = np.concatenate([[0], np.cumsum(each)])
    taken = np.repeat(np.arange(size), each)
    place = first[entries.codes[taken]] + np.arange(taken.size) - ends[taken]
    return EntryColumns(entries.times[taken], rows[taken], symbols[place], ends[entries.offsets])


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
        named = {
            n: key for n, key in named_keys(chain.query).items() if key.group_label is not None
        }
        if tuple(named) not in groups:
            groups[tuple(named)] = entries.group_texts(named, codes)
        counts, sums, ranks = map(_in_order, (chain.counts, chain.doubles, chain.ranks))
        meanings = [
            (place, weights.extremes[column.carrier.attribute, column.largest], column.largest)
            for place in ranks
            for column in [chain.ranks[place]]
        ]
        readings.append(
            Reading(
                chain.query,
                groups[tuple(named)],
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
