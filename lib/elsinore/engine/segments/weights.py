"""What events weigh in the carriers of a segment program, and how wide counts may get."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np

from elsinore.engine.build_graph import NO_RANK, Extremes
from elsinore.engine.columns import EventColumns
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.lowering.carriers import Weight
from elsinore.lowering.chains import Chain
from elsinore.lowering.segments import Weights


@dataclass(frozen=True)
class EventWeights:
    """Weights of all events of a table.

    Attributes:
        longs: int64[K, N]; `doubles`: float64[D, N]; `ranks`: int64[E, N].
        extremes: the meaning of each row of ranks.
    """

    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray
    extremes: list[Extremes]


def weigh_events(weights: Weights, columns: EventColumns) -> EventWeights:
    """The weights that a program asks for."""
    size = columns.times.size
    longs = np.zeros((len(weights.longs), size), np.int64)
    doubles = np.zeros((len(weights.doubles), size))
    ranks = np.full((len(weights.ranks), size), NO_RANK, np.int64)
    for (weight, attribute), number in weights.longs.items():
        column = columns.column(attribute)
        longs[number] = (
            column.known if weight is Weight.PRESENT else np.where(column.known, column.values, 0)
        )
    for attribute, number in weights.doubles.items():
        column = columns.column(attribute)
        doubles[number] = np.where(column.known, column.values, 0.0)
    extremes = []
    for (attribute, largest), number in weights.ranks.items():
        column = columns.column(attribute)
        extremes.append(Extremes(column, column.known, largest=largest))
        ranks[number] = extremes[-1].ranks
    return EventWeights(longs, doubles, ranks, extremes)


def planes_needed(chains: list[Chain], symbols: np.ndarray, largest: int, longs: np.ndarray) -> int:
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
