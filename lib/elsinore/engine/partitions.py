"""Splits a query's events by key into partitions, and sorts them.

Grouping and equivalence attributes together partition the trends. Where only some types carry an
attribute, the events of the others belong to every partition that they fit (spec section 1): the
partitions are the natural join of the keys found at each state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.evaluate import holds
from elsinore.query.bound import BoundQuery, Key
from elsinore.template.template import Template


@dataclass(frozen=True)
class Entries:
    """Events at states of partitions, sorted by partition, then time.

    Attributes:
        rows: int64[N], the event's row in the table.
        states: int32[N].
        offsets: int64[P + 1], where each partition begins.
        groups: the JSON array of group values of each partition.
    """

    rows: np.ndarray
    states: np.ndarray
    offsets: np.ndarray
    groups: list[str]


def partition(query: BoundQuery, template: Template, columns: EventColumns) -> Entries | None:
    """The entries of a query; None where some state has no event, so that no trend exists."""
    codes = [_KeyCodes.of(key, columns.column(key.attribute)) for key in query.keys]
    by_state = [
        _state_rows(query, template, state, columns) for state in range(len(template.states))
    ]
    if not all(rows.size for rows in by_state):
        return None
    if not query.keys:
        return _sorted(by_state, [np.zeros(rows.size, np.int64) for rows in by_state], columns, [])
    frames = []
    for state, rows in enumerate(by_state):
        carried = {
            str(number): codes[number].values[rows]
            for number, key in enumerate(query.keys)
            if template.states[state].index in key.positions
        }
        frames.append(pd.DataFrame({"row": rows} | carried))
    partitions = _join_keys(frames)
    if partitions.empty:
        return None
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [_place(frame, partitions) for frame in frames]
    groups = _group_texts(query, codes, partitions)
    return _sorted(
        [frame["row"].to_numpy() for frame in placed],
        [frame["partition"].to_numpy() for frame in placed],
        columns,
        groups,
    )


def _state_rows(
    query: BoundQuery, template: Template, state: int, columns: EventColumns
) -> np.ndarray:
    """Rows of the events that may stand at a state: type, local predicates, equivalence keys."""
    position = template.states[state]
    rows = columns.rows_of(position.type)
    for predicate in query.local_predicates:
        if predicate.position == position.index:
            rows = rows[holds(predicate.condition, columns, rows)]
    for key in query.keys:
        if key.equivalence and position.index in key.positions:
            column = columns.column(key.attribute).take(rows)
            usable = column.known
            if key.type is AttributeType.DOUBLE:
                usable = usable & ~np.isnan(column.values)
            rows = rows[usable]
    return rows


@dataclass(frozen=True)
class _KeyCodes:
    """A key column as small integers (0 is NULL), and the value that each code stands for."""

    values: np.ndarray
    meaning: list[Any]

    @classmethod
    def of(cls, key: Key, column: Column) -> _KeyCodes:
        if column.dictionary is not None:
            return cls(
                np.where(column.known, column.values + 1, 0),
                [None, *column.dictionary.to_pylist()],
            )
        distinct, codes = np.unique(column.values, return_inverse=True)
        return cls(np.where(column.known, codes + 1, 0), [None, *distinct.tolist()])


def _join_keys(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Distinct keys that every state agrees with, the most telling states joined first."""
    keyed = [frame.drop(columns="row").drop_duplicates() for frame in frames]
    keyed = sorted((keys for keys in keyed if keys.shape[1]), key=lambda k: -k.shape[1])

    def join(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        shared = [name for name in right.columns if name in left.columns]
        return left.merge(right, on=shared) if shared else left.merge(right, how="cross")

    return reduce(join, keyed)


def _place(frame: pd.DataFrame, partitions: pd.DataFrame) -> pd.DataFrame:
    """Each event in every partition that it fits."""
    shared = [name for name in frame.columns if name != "row"]
    if not shared:
        return frame.merge(partitions[["partition"]], how="cross")
    return frame.merge(partitions[[*shared, "partition"]], on=shared)


def _group_texts(query: BoundQuery, codes: list[_KeyCodes], partitions: pd.DataFrame) -> list[str]:
    numbers = [n for n, key in enumerate(query.keys) if key.group_label is not None]
    meanings = [[codes[n].meaning[c] for c in partitions[str(n)].to_numpy()] for n in numbers]
    if not meanings:
        return []
    return [json.dumps(values, ensure_ascii=False) for values in zip(*meanings, strict=True)]


def _sorted(
    rows: list[np.ndarray], owners: list[np.ndarray], columns: EventColumns, groups: list[str]
) -> Entries:
    states = np.concatenate([np.full(r.size, s, np.int32) for s, r in enumerate(rows)])
    row, owner = np.concatenate(rows), np.concatenate(owners)
    order = np.lexsort((columns.times[row], owner))
    count = max(len(groups), int(owner.max(initial=0)) + 1)
    offsets = np.searchsorted(owner[order], np.arange(count + 1))
    return Entries(row[order], states[order], offsets, groups or ["[]"] * count)
