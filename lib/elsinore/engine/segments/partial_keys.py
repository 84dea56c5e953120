"""Partitions where some events lack some keys: such an event is in every partition that it fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd

from elsinore.engine.join_keys import join_keys
from elsinore.engine.key_codes import KeyCodes
from elsinore.lowering.chains import Chain


@dataclass(frozen=True)
class Placed:
    """Events at symbols of partitions, in no order; `keys` are the partitions' codes."""

    rows: np.ndarray
    symbols: np.ndarray
    owners: np.ndarray
    keys: dict[str, np.ndarray]


def place_events(
    chains: Sequence[Chain],
    rows: Sequence[np.ndarray],
    carried: Sequence[Sequence[str]],
    codes: dict[str, KeyCodes],
) -> Placed:
    """Every event in every partition that it fits (spec section 1, grouping).

    Args:
        chains: the queries, whose keys have the same names.
        rows: the events of each symbol.
        carried: the names of the keys that each symbol's events carry.
        codes: the codes of the keys, by name.
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
    symbols = [np.full(len(frame), number, np.int32) for number, frame in enumerate(placed)]
    return Placed(
        np.concatenate([frame["row"].to_numpy() for frame in placed]),
        np.concatenate(symbols),
        np.concatenate([frame["partition"].to_numpy() for frame in placed]),
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
