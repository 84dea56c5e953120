"""Under `contiguous`: the last event of the partition before each entry, whatever its type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from elsinore.catalog.stream import StreamSchema
from elsinore.engine.columns import EventColumns
from elsinore.engine.join_keys import in_one_coding
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partitions import Entries, column_of
from elsinore.query.bound import BoundQuery, Key

#: No event before.
NONE = np.iinfo(np.int64).min


def last_events(
    query: BoundQuery,
    schema: StreamSchema,
    codes: Sequence[KeyCodes],
    columns: EventColumns,
    entries: Entries,
) -> np.ndarray:
    """int64[N]: the time of the last event strictly before each entry, in its partition.

    An event lies in a partition by the keys that its type has, also where the pattern does not
    name the type; a key that is scoped to an alias binds no foreign type.
    """
    distinct, ranks = np.unique(columns.times, return_inverse=True)
    last = np.full(entries.rows.size, NONE, np.int64)
    carried = set(entries.partitions.columns)
    for keys, types in _types_by_keys(query, schema).items():
        rows = np.concatenate([columns.rows_of(name) for name in types])
        for number in keys:
            rows = rows[codes[number].usable[rows]]
        if not rows.size:
            continue
        shared = {column_of(n): codes[n].values[rows] for n in keys if column_of(n) in carried}
        events = pd.DataFrame(shared, index=range(rows.size))
        of_event, of_partition = in_one_coding(events, entries.partitions, list(shared))
        placed = np.unique(of_event * distinct.size + ranks[rows])
        sought = of_partition[entries.owners] * distinct.size + ranks[entries.rows]
        found = placed[np.maximum(np.searchsorted(placed, sought) - 1, 0)]
        inside = (found < sought) & (found // distinct.size == sought // distinct.size)
        last = np.maximum(last, np.where(inside, distinct[found % distinct.size], NONE))
    return last


def _types_by_keys(query: BoundQuery, schema: StreamSchema) -> dict[tuple[int, ...], list[str]]:
    """The types of the stream by the keys that their events carry in the stream at large."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in schema.by_name:
        found.setdefault(_carried_by(query, schema, name), []).append(name)
    return found


def _carried_by(query: BoundQuery, schema: StreamSchema, name: str) -> tuple[int, ...]:
    positions = {position.index for position in query.positions if position.type == name}
    return tuple(
        number
        for number, key in enumerate(query.keys)
        if (key.positions & positions if positions else _binds_foreign(query, schema, key, name))
    )


def _binds_foreign(query: BoundQuery, schema: StreamSchema, key: Key, name: str) -> bool:
    """Whether a key binds events of a type that the pattern does not name."""
    types = schema.carriers(key.attribute)
    return name in types and all(
        position.index in key.positions
        for position in query.positions
        if position.type in types and not position.negated
    )
