"""Splits the events of several queries by key into partitions, once for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes, group_texts
from elsinore.engine.partitions import (
    admitted,
    column_of,
    find_partitions,
    leads_through,
    place_events,
)
from elsinore.engine.sorting import ascending
from elsinore.sharing.merged import Admission, MergedTemplate
from elsinore.template.template import Template


@dataclass(frozen=True)
class MergedEntries:
    """Events at merged states of partitions, sorted by partition, then time.

    Attributes:
        rows: int64[N], the event's row in the table.
        states: int32[N].
        accepts: int64[N], a bit for each class of queries at the state that takes the event.
        offsets: int64[P + 1], where each partition begins.
        groups: the JSON array of group values of each partition.
    """

    rows: np.ndarray
    states: np.ndarray
    accepts: np.ndarray
    offsets: np.ndarray
    groups: list[str]


def merged_entries(
    merged: MergedTemplate,
    template: Template,
    classes: tuple[Mapping[Admission, int], ...],
    columns: EventColumns,
) -> MergedEntries | None:
    """The entries of a merged template; None where no trend can exist for want of events.

    Args:
        merged: the merged template.
        template: all its queries as one.
        classes: for each state the bits of what its queries ask of single events.
        columns: the events.
    """
    codes = {
        key.attribute: KeyCodes.of(key, columns) for query in merged.queries for key in query.keys
    }
    taken = [_taken(merged, number, bits, codes, columns) for number, bits in enumerate(classes)]
    filled = frozenset(number for number, (rows, _) in enumerate(taken) if rows.size)
    if not leads_through(template, filled):
        return None
    owners, places, groups = _owners(merged, template, [rows for rows, _ in taken], codes)
    if not groups:
        return None
    rows = np.concatenate([r[place] for (r, _), place in zip(taken, places, strict=True)])
    accepts = np.concatenate([a[place] for (_, a), place in zip(taken, places, strict=True)])
    states = np.concatenate([np.full(p.size, s, np.int32) for s, p in enumerate(places)])
    owner = np.concatenate(owners)
    order = ascending(owner, columns.times[rows])
    offsets = np.searchsorted(owner[order], np.arange(len(groups) + 1)).astype(np.int64)
    return MergedEntries(rows[order], states[order], accepts[order], offsets, groups)


def _taken(
    merged: MergedTemplate,
    number: int,
    bits: Mapping[Admission, int],
    codes: Mapping[str, KeyCodes],
    columns: EventColumns,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the events that any query takes at a state, and the bits of those that do."""
    state = merged.states[number]
    rows = columns.rows_of(state.type)
    for attribute in state.keys:
        rows = rows[codes[attribute].usable[rows]]
    accepts = np.zeros(rows.size, np.int64)
    for admission, bit in bits.items():
        accepts |= admitted(admission, columns, rows).astype(np.int64) << bit
    return rows[accepts != 0], accepts[accepts != 0]


def _owners(
    merged: MergedTemplate,
    template: Template,
    rows: list[np.ndarray],
    codes: Mapping[str, KeyCodes],
) -> tuple[list[np.ndarray], list[np.ndarray], list[str]]:
    """For each state the partitions of its entries, and their places in `rows`; group texts."""
    if not merged.keys:
        one = [np.zeros(found.size, np.int64) for found in rows]
        return one, [np.arange(found.size) for found in rows], _group_texts(merged, None, codes)
    frames = []
    for state, found in zip(template.states, rows, strict=True):
        keys = {column_of(n): codes[merged.keys[n]].values[found] for n in sorted(state.keys)}
        frames.append(pd.DataFrame({"row": np.arange(found.size)} | keys))
    partitions = find_partitions(template, frames)
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [place_events(frame, partitions) for frame in frames]
    return (
        [frame["partition"].to_numpy() for frame in placed],
        [frame["row"].to_numpy() for frame in placed],
        _group_texts(merged, partitions, codes),
    )


def _group_texts(
    merged: MergedTemplate, partitions: pd.DataFrame | None, codes: Mapping[str, KeyCodes]
) -> list[str]:
    """NULL stands for a key that the trends do not carry, too."""
    size = 1 if partitions is None else len(partitions)
    values = []
    for key in merged.queries[0].group_keys:
        if partitions is None or key.attribute not in merged.keys:
            values.append([None] * size)
        else:
            column = partitions[column_of(merged.keys.index(key.attribute))]
            values.append(codes[key.attribute].decoded(column))
    return group_texts(values, size)
