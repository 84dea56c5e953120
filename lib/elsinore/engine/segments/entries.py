"""One partition pass for all queries of the same keys: their events by partition and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.key_codes import KeyCodes, usable_keys
from elsinore.engine.segments.partial_keys import place_events
from elsinore.engine.sorting import ascending
from elsinore.kernels.segments_steps import order_entries
from elsinore.lowering.chains import Chain, Symbol, carried


@dataclass(frozen=True)
class Entries:
    """Events as symbols of partitions, sorted by partition, then time.

    Attributes:
        rows: int64[M], the event's row in the table.
        symbols: int32[M].
        offsets: int64[P + 1], where each partition begins.
        keys: the code of each key in each partition, int64[P], by name (`chain.named_keys`).
    """

    rows: np.ndarray
    symbols: np.ndarray
    offsets: np.ndarray
    keys: dict[str, np.ndarray]


def symbol_rows(symbol: Symbol, columns: EventColumns) -> np.ndarray:
    """int64 row numbers of a symbol's events: by type, equivalence keys and local predicates."""
    query = symbol.query
    rows = columns.rows_of(symbol.type)
    for key in carried(symbol).values():
        if key.equivalence:
            rows = rows[usable_keys(key, columns.column(key.attribute).take(rows))]
    for predicate in query.local_predicates:
        if predicate.position == symbol.position:
            rows = rows[holds(predicate.condition, columns, rows)]
    return rows


def make_entries(
    chains: Sequence[Chain],
    symbols: Sequence[Symbol],
    codes: dict[str, KeyCodes],
    columns: EventColumns,
) -> Entries:
    """The entries of queries whose keys have the same names, those of `codes`."""
    rows = [symbol_rows(symbol, columns) for symbol in symbols]
    order = _time_order(columns.times)
    names = [list(carried(symbol)) for symbol in symbols]
    if any(len(found) < len(codes) for found in names):
        parts = place_events(chains, rows, names, codes)
        return _sorted(parts.rows, parts.symbols, parts.owners, parts.keys, columns.times)
    layers = _layers(rows, columns.times.size)
    owners, keys = _owners(layers, codes)
    size = next(iter(keys.values())).size if keys else 1
    taken = (layers >= 0).sum(axis=0)
    known = owners >= 0
    counts = np.bincount(owners[known], weights=taken[known], minlength=size).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    found = np.empty(int(offsets[-1]), np.int64)
    numbers = np.empty(found.size, np.int32)
    order_entries(layers, owners, order, offsets[:-1].copy(), found, numbers)
    return Entries(found, numbers, offsets, keys)


def _time_order(times: np.ndarray) -> np.ndarray:
    """The rows in the order of time; empty where they are already."""
    if bool((times[1:] >= times[:-1]).all()):
        return np.empty(0, np.int64)
    return ascending(times)


def _layers(rows: Sequence[np.ndarray], size: int) -> np.ndarray:
    """int32[L, N]: the symbols of each event, one a layer; as few layers as it takes."""
    layers: list[np.ndarray] = [np.full(size, -1, np.int32)]
    for number, found in enumerate(rows):
        for layer in layers:
            if not (layer[found] >= 0).any():
                break
        else:
            layer = np.full(size, -1, np.int32)
            layers.append(layer)
        layer[found] = number
    return np.stack(layers)


def _owners(
    layers: np.ndarray, codes: dict[str, KeyCodes]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The partition of each event, -1 for none, and the partitions' keys."""
    used = (layers >= 0).any(axis=0)
    if not codes:
        return np.where(used, 0, -1), {}
    events = np.flatnonzero(used)
    owners = np.full(used.size, -1, np.int64)
    mixed = np.zeros(events.size, np.int64)
    for found in codes.values():  # dense again after each key, so that no product outgrows int64
        mixed = mixed * len(found.meaning) + found.values[events]
        mixed = _dense(mixed)
    owners[events] = mixed
    size = int(mixed.max()) + 1 if mixed.size else 0
    first = np.zeros(size, np.int64)
    first[mixed] = events
    return owners, {name: found.values[first] for name, found in codes.items()}


def _dense(values: np.ndarray) -> np.ndarray:
    """The same values, numbered without gaps in ascending order."""
    if values.size and int(values.max()) < 4 * values.size + 1024:
        present = np.zeros(int(values.max()) + 1, np.int64)
        present[values] = 1
        return (np.cumsum(present) - 1)[values]
    return np.unique(values, return_inverse=True)[1]


def _sorted(
    rows: np.ndarray,
    symbols: np.ndarray,
    owners: np.ndarray,
    keys: dict[str, np.ndarray],
    times: np.ndarray,
) -> Entries:
    order = ascending(owners, times[rows])
    size = next(iter(keys.values())).size
    offsets = np.searchsorted(owners[order], np.arange(size + 1)).astype(np.int64)
    return Entries(rows[order], symbols[order].astype(np.int32), offsets, keys)
