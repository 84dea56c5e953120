"""One partition pass for all queries of the same keys: their events by partition and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes, join_keys
from elsinore.engine.partitions import rows_at
from elsinore.engine.sorting import ascending
from elsinore.kernels.segments_steps import order_entries
from elsinore.lowering.chains import Chain, Symbol, carried
from elsinore.lowering.merged import Admission


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


def _symbol_rows(symbol: Symbol, columns: EventColumns) -> np.ndarray:
    """int64 row numbers of a symbol's events: by type, equivalence keys and local predicates."""
    admission: Admission = symbol.query.local_conditions(symbol.position), frozenset()
    return rows_at(symbol.type, carried(symbol).values(), admission, columns)


def make_entries(
    chains: Sequence[Chain],
    symbols: Sequence[Symbol],
    codes: dict[str, KeyCodes],
    columns: EventColumns,
) -> Entries:
    """The entries of queries whose keys have the same names, those of `codes`."""
    rows = [_symbol_rows(symbol, columns) for symbol in symbols]
    order = _time_order(columns.times)
    names = [list(carried(symbol)) for symbol in symbols]
    if any(len(found) < len(codes) for found in names):
        return _with_partial_keys(chains, rows, names, codes, columns.times)
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


# ---- where some events lack some keys: such an event is in every partition that it fits


def _with_partial_keys(
    chains: Sequence[Chain],
    rows: Sequence[np.ndarray],
    carried: Sequence[Sequence[str]],
    codes: dict[str, KeyCodes],
    times: np.ndarray,
) -> Entries:
    """Every event in every partition that it fits (spec section 1, grouping).

    Args:
        chains: the queries, whose keys have the same names.
        rows: the events of each symbol.
        carried: the names of the keys that each symbol's events carry.
        codes: the codes of the keys, by name.
        times: of all events.
    """
    names = list(codes)
    frames = [
        pd.DataFrame({"row": found} | {name: codes[name].values[found] for name in own})
        for found, own in zip(rows, carried, strict=True)
    ]
    chosen = [_partitions(chain, frames, carried, names) for chain in chains]
    partitions = pd.concat(chosen).drop_duplicates(ignore_index=True)
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [
        join_keys(frame, partitions[[*own, "partition"]])
        for frame, own in zip(frames, carried, strict=True)
    ]
    found, owners = (
        np.concatenate([frame[name].to_numpy() for frame in placed])
        for name in ("row", "partition")
    )
    symbols = np.repeat(np.arange(len(placed), dtype=np.int32), [len(frame) for frame in placed])
    order = ascending(owners, times[found])
    return Entries(
        found[order],
        symbols[order],
        np.searchsorted(owners[order], np.arange(len(partitions) + 1)).astype(np.int64),
        {name: partitions[name].to_numpy() for name in names},
    )


def _partitions(
    chain: Chain,
    frames: Sequence[pd.DataFrame],
    carried: Sequence[Sequence[str]],
    names: list[str],
) -> pd.DataFrame:
    """Keys that all positions of a query have events for, joined with the most telling first."""
    telling = sorted(set(chain.symbols), key=lambda symbol: -len(carried[symbol]))
    distinct = [
        frames[symbol][list(carried[symbol])].drop_duplicates()
        for symbol in telling
        if carried[symbol]
    ]
    if not all(len(frames[symbol]) for symbol in telling):
        return pd.DataFrame({name: np.empty(0, np.int64) for name in names})
    return reduce(join_keys, distinct)[names]
