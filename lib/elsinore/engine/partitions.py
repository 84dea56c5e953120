"""Splits a query's events by key into partitions, and sorts them.

Grouping and equivalence attributes together partition the trends. Where only some types carry an
attribute, the events of the others belong to every partition that they fit (spec section 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.key_codes import KeyCodes, group_texts, join_keys, usable_keys
from elsinore.engine.sorting import ascending
from elsinore.query.bound import BoundQuery, Key
from elsinore.sharing.merged import Admission, admission_of, type_of
from elsinore.template.template import Template, reached_states


def rows_at(
    kind: str, keys: Iterable[Key], admission: Admission, columns: EventColumns
) -> np.ndarray:
    """int64 row numbers: the events of a type that carry its equivalence keys and are admitted."""
    rows = columns.rows_of(kind)
    for key in keys:
        if key.equivalence:
            rows = rows[usable_keys(key, columns.column(key.attribute).take(rows))]
    return rows[admitted(admission, columns, rows)]


def admitted(admission: Admission, columns: EventColumns, rows: np.ndarray) -> np.ndarray:
    """bool[len(rows)]: the events that meet an admission."""
    meets, misses = admission
    found = np.ones(rows.size, np.bool_)
    for condition in meets:
        found &= holds(condition, columns, rows)
    for conditions in misses:
        all_hold = np.ones(rows.size, np.bool_)
        for condition in conditions:
            all_hold &= holds(condition, columns, rows)
        found &= ~all_hold
    return found


@dataclass(frozen=True)
class Entries:
    """Events at states of partitions, sorted by partition, then time.

    Attributes:
        rows: int64[N], the event's row in the table.
        states: int32[N].
        owners: int64[N], the partition.
        offsets: int64[P + 1], where each partition begins.
        partitions: P rows; the codes of the template's keys, see `column_of`.
        groups: the JSON array of group values of each partition.
    """

    rows: np.ndarray
    states: np.ndarray
    owners: np.ndarray
    offsets: np.ndarray
    partitions: pd.DataFrame
    groups: list[str]


def column_of(key: int) -> str:
    """The column of a key in `Entries.partitions`."""
    return f"key {key}"


def partition(
    query: BoundQuery, template: Template, codes: Sequence[KeyCodes], columns: EventColumns
) -> Entries | None:
    """The entries of a template; None where no trend can exist for want of events."""
    rows = [
        rows_at(
            type_of(query, state),
            [query.keys[number] for number in state.keys],
            admission_of(query, state),
            columns,
        )
        for state in template.states
    ]
    filled = frozenset(number for number, found in enumerate(rows) if found.size)
    if not leads_through(template, filled):
        return None
    frames = []
    for state, found in zip(template.states, rows, strict=True):
        carried = sorted(state.keys & template.keys)
        keys = {column_of(n): codes[n].values[found] for n in carried}
        frames.append(pd.DataFrame({"row": found} | keys))
    partitions = find_partitions(template, frames)
    if not len(partitions):
        return None
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [place_events(frame, partitions) for frame in frames]
    return _sorted(
        [frame["row"].to_numpy() for frame in placed],
        [frame["partition"].to_numpy() for frame in placed],
        columns,
        partitions,
        _group_texts(query, codes, partitions),
    )


def leads_through(template: Template, states: frozenset[int]) -> bool:
    """Whether a way from START to END leads through the given states alone."""
    trends = frozenset(template.trend_states) & states
    arrows = tuple(t for t in template.transitions if {t.earlier, t.later} <= trends)
    return bool(reached_states(trends & template.starts.keys(), arrows) & template.ends.keys())


def find_partitions(template: Template, frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The sets of keys that trends may carry, each once; no trend need exist for each of them.

    `frames` hold for each state the codes of the keys that its events carry (`column_of`).
    Keys come from the states that no trend can go without, joined with the most telling first;
    what these do not carry is taken from all states that do.
    """
    if not template.keys:
        return pd.DataFrame(index=[0])
    everywhere = frozenset(template.trend_states)
    ends = everywhere & template.ends.keys()
    useful = reached_states(ends, template.transitions, backwards=True)
    carriers: dict[frozenset[int], list[int]] = {}
    for state in sorted(useful):
        carriers.setdefault(template.states[state].keys & template.keys, []).append(state)
    needed = [
        _distinct(frames, states, sorted(keys))
        for keys, states in carriers.items()
        if keys and not leads_through(template, everywhere - frozenset(states))
    ]
    covered = {name for keys in needed for name in keys.columns}
    for key in sorted(key for key in template.keys if column_of(key) not in covered):
        states = [state for keys, found in carriers.items() if key in keys for state in found]
        needed.append(_distinct(frames, states, [key]))
    return reduce(join_keys, sorted(needed, key=lambda keys: -keys.shape[1]))


def _distinct(frames: list[pd.DataFrame], states: list[int], keys: list[int]) -> pd.DataFrame:
    names = [column_of(key) for key in keys]
    return pd.concat([frames[state][names] for state in states]).drop_duplicates()


def place_events(frame: pd.DataFrame, partitions: pd.DataFrame) -> pd.DataFrame:
    """Each event of a state in every partition that it fits.

    Args:
        frame: the column `row`, and the codes of the keys that the events carry (`column_of`).
        partitions: the codes of all keys, and the column `partition`.
    """
    shared = [name for name in frame.columns if name != "row"]
    return join_keys(frame, partitions[[*shared, "partition"]])


def _group_texts(
    query: BoundQuery, codes: Sequence[KeyCodes], partitions: pd.DataFrame
) -> list[str]:
    """NULL stands for a key that the trends do not carry, too."""
    size = len(partitions)
    values = [
        codes[number].decoded(partitions[name]) if name in partitions else [None] * size
        for number, key in enumerate(query.keys)
        for name in [column_of(number)]
        if key.group_label is not None
    ]
    return group_texts(values, size)


def _sorted(
    rows: list[np.ndarray],
    owners: list[np.ndarray],
    columns: EventColumns,
    partitions: pd.DataFrame,
    groups: list[str],
) -> Entries:
    states = np.concatenate([np.full(r.size, s, np.int32) for s, r in enumerate(rows)])
    row, owner = np.concatenate(rows), np.concatenate(owners)
    order = ascending(owner, columns.times[row])
    offsets = np.searchsorted(owner[order], np.arange(len(groups) + 1))
    return Entries(row[order], states[order], owner[order], offsets, partitions, groups)
