"""The events of a set by partition and time: as they are where they can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from elsinore.engine.columns import EventColumns, plain_values
from elsinore.engine.partitions import column_of, find_partitions, place_events
from elsinore.engine.sorting import ascending
from elsinore.engine.sweep.keys import SweptKey, group_texts, swept_key
from elsinore.engine.sweep.symbols import Kind, code_events, kinds_of
from elsinore.events import TIME_COLUMN
from elsinore.kernels.sweep_entries import count_owners, group_events, is_sorted
from elsinore.lowering.merged import key_attributes
from elsinore.lowering.sweep import Place, SweepSet
from elsinore.template.template import State, Template, Transition


@dataclass(frozen=True)
class Entries:
    """N events of a set, sorted by partition, then time.

    Attributes:
        times: int64[N].
        codes: int32[N]; symbols: for each code the (query, state) at which its events may stand.
        rows: int64[N], the event's row in the table; None if they are all rows in their order.
        offsets: int64[P + 1], where each partition begins.
        groups: the text of each partition's group.
    """

    times: np.ndarray
    codes: np.ndarray
    symbols: tuple[frozenset[Place], ...]
    rows: np.ndarray | None
    offsets: np.ndarray
    groups: pa.Array

    def take(self, values: np.ndarray) -> np.ndarray:
        """A column of the table at the entries."""
        return values if self.rows is None else values[self.rows]


def make_entries(found: SweepSet, columns: EventColumns) -> Entries:
    """The entries of a set."""
    kinds = kinds_of(found)
    query, template = found.queries[0], found.templates[0]
    names = key_attributes(query, template.keys)
    keys = {k.attribute: swept_key(k, columns) for k in query.keys if k.attribute in names}
    complete = all(carried == names for _, carried in kinds)
    if not complete or len({kind for kind, _ in kinds}) < len(kinds):
        return _joined(found, kinds, keys, columns)
    coded = code_events(found, kinds, keys, columns)
    times = _times(columns)
    order = np.empty(0, np.int64) if is_sorted(times) else ascending(times)
    if not names:
        groups = group_texts(query.group_keys, keys, {}, 1)
        rows = order if order.size else None
        whole_table = np.array([0, times.size])
        if rows is None:
            return Entries(times, coded.codes, coded.symbols, None, whole_table, groups)
        return Entries(times[rows], coded.codes[rows], coded.symbols, rows, whole_table, groups)
    meant = np.array([*map(bool, coded.symbols)], np.int64)
    owners, partitions, size = _owners(keys)
    counts = np.zeros(size, np.int64)
    count_owners(owners, coded.codes, meant, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    amount = int(offsets[-1])
    rows, codes = np.empty(amount, np.int64), np.empty(amount, np.int32)
    sorted_times = np.empty(amount, np.int64)
    group_events(
        owners, coded.codes, times, meant, order, offsets[:-1].copy(), rows, codes, sorted_times
    )
    groups = group_texts(query.group_keys, keys, partitions, size)
    return Entries(sorted_times, codes, coded.symbols, rows, offsets, groups)


def _times(columns: EventColumns) -> np.ndarray:
    return plain_values(columns.events.table[TIME_COLUMN], np.int64)


def _owners(
    keys: Mapping[str, SweptKey],
) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
    """The partition of each event, the partitions' codes, and how many partitions there are."""
    if len(keys) == 1:
        ((name, key),) = keys.items()
        return key.codes, {name: np.arange(key.size)}, key.size
    first_key, *others = keys.values()
    owners, size = first_key.codes.astype(np.int64), first_key.size
    for key in others:  # dense again after each key, so that no product outgrows int64
        owners, size = _dense(owners * key.size + key.codes, size * key.size)
    first = np.zeros(size, np.int64)
    first[owners] = np.arange(owners.size)
    return owners, {name: key.codes[first] for name, key in keys.items()}, size


def _dense(values: np.ndarray, bound: int) -> tuple[np.ndarray, int]:
    """The same values below `bound` numbered without gaps, and how many there are."""
    if bound <= 4 * values.size + 1024:
        present = np.zeros(bound, np.bool_)
        present[values] = True
        if present.all():
            return values, bound
        return (np.cumsum(present) - 1)[values], int(present.sum())
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers, distinct.size


def _joined(
    found: SweepSet,
    kinds: Mapping[Kind, list[Place]],
    keys: Mapping[str, SweptKey],
    columns: EventColumns,
) -> Entries:
    """Entries where some events lack some keys: such an event is in every partition that it fits.

    An event that stands at states with different keys makes an entry for each of these; they are of
    one time, so that neither comes before the other.
    """
    names = sorted(keys)
    symbols: list[frozenset[Place]] = []
    frames, codes, rows_of = [], [], []
    for (kind, carried), places in kinds.items():
        coded = code_events(found, {(kind, carried): places}, keys, columns)
        rows = np.flatnonzero(np.array([*map(bool, coded.symbols)], np.bool_)[coded.codes])
        codes.append(coded.codes[rows].astype(np.int64) + len(symbols))
        symbols += coded.symbols
        held = {column_of(names.index(a)): keys[a].codes[rows] for a in sorted(carried)}
        frames.append(pd.DataFrame({"row": np.arange(rows.size)} | held))
        rows_of.append(rows)
    partitions = find_partitions(_as_template(found, kinds, names), frames)
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [place_events(frame, partitions) for frame in frames]
    places_of = [frame["row"].to_numpy() for frame in placed]
    owners = np.concatenate([frame["partition"].to_numpy() for frame in placed])
    rows = np.concatenate([r[p] for r, p in zip(rows_of, places_of, strict=True)])
    numbers = np.concatenate([c[p] for c, p in zip(codes, places_of, strict=True)])
    times = _times(columns)[rows]
    order = ascending(owners, times)
    offsets = np.searchsorted(owners[order], np.arange(len(partitions) + 1)).astype(np.int64)
    held = {name: partitions[column_of(n)].to_numpy() for n, name in enumerate(names)}
    return Entries(
        times[order],
        numbers[order].astype(np.int32),
        tuple(symbols),
        rows[order],
        offsets,
        group_texts(found.queries[0].group_keys, keys, held, len(partitions)),
    )


def _as_template(found: SweepSet, kinds: Mapping[Kind, list[Place]], names: list[str]) -> Template:
    """A state for each kind: every trend of each query is a way through it."""
    number = {place: n for n, places in enumerate(kinds.values()) for place in places}
    nothing: frozenset[int] = frozenset()
    arrows = {
        (number[q, arrow.earlier], number[q, arrow.later])
        for q, template in enumerate(found.templates)
        for arrow in template.transitions
    }
    return Template(
        keys=frozenset(range(len(names))),
        states=tuple(
            State(nothing, nothing, nothing, frozenset(names.index(a) for a in carried))
            for _, carried in kinds
        ),
        transitions=tuple(Transition(earlier, later) for earlier, later in sorted(arrows)),
        starts={number[q, s]: None for q, t in enumerate(found.templates) for s in t.starts},
        bars={},
        ends={number[q, s]: None for q, t in enumerate(found.templates) for s in t.ends},
        ways_out=(),
        guards=0,
    )
