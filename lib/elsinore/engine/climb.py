"""The exact ladder: 64-bit counts, then 128 bit, then as wide as needed, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.kernels.graph import Graph
from elsinore.kernels.propagate_long import propagate_long
from elsinore.kernels.propagate_wide import propagate_wide


@dataclass(frozen=True)
class Totals:
    """The carriers of a number of windows, all worked out with counts of one width.

    Attributes:
        spans: int64[R, 4], see `kernels.spans`.
        counts: exact integers, int64[R, 1 + K] or uint64[R, 1 + K, L] in two's complement.
        sums, exponents: float64[R, M] and int64[R, M]; `sum * 2**exponent`.
        ranks: int64[R, E].
    """

    spans: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray

    @property
    def limbs(self) -> int:
        """Width of the counts in 64-bit limbs."""
        return 1 if self.counts.ndim == 2 else int(self.counts.shape[2])

    def where(self, chosen: np.ndarray) -> Totals:
        """The rows that are chosen by a bool[R]."""
        return Totals(
            self.spans[chosen],
            self.counts[chosen],
            self.sums[chosen],
            self.exponents[chosen],
            self.ranks[chosen],
        )


def climb(graph: Graph, spans: np.ndarray) -> list[Totals]:
    """Aggregate every span on the lowest rung that holds it; windows without a trend are left out.

    Only the windows that outgrew a rung take the next, so that one hot window costs the others
    nothing.
    """
    rungs = []
    limbs = 1
    while spans.shape[0]:
        totals, outgrown = _rung(graph, spans, limbs)
        found = totals.where(~outgrown)
        trends = found.counts[:, 0].reshape(-1, found.limbs)
        rungs.append(found.where(trends.any(axis=1)))
        spans = spans[outgrown]
        limbs *= 2
    return rungs


def _rung(graph: Graph, spans: np.ndarray, limbs: int) -> tuple[Totals, np.ndarray]:
    rows, extremes = spans.shape[0], graph.ranks.shape[0]
    width, doubles = 1 + graph.count_weights.shape[0], graph.sum_weights.shape[0]
    sums, exponents = np.zeros((rows, doubles)), np.zeros((rows, doubles), np.int64)
    ranks = np.empty((rows, extremes), np.int64)
    outgrown = np.zeros(rows, np.bool_)
    buffer = _scratch_rows(graph, spans)
    if limbs == 1:
        counts = np.zeros((rows, width), np.int64)
        propagate_long(graph, spans, buffer, counts, sums, ranks, outgrown)
        outgrown |= ~np.isfinite(sums).all(axis=1)  # the next rung's sums have wide exponents
    else:
        counts = np.zeros((rows, width, limbs), np.uint64)
        propagate_wide(graph, spans, buffer, counts, sums, exponents, ranks, outgrown)
    return Totals(spans, counts, sums, exponents, ranks), outgrown


def _scratch_rows(graph: Graph, spans: np.ndarray) -> int:
    """Entries that the kernels must hold at once."""
    if graph.kept.any():
        return int((spans[:, 1] - spans[:, 0]).max())
    changes = np.flatnonzero(np.diff(graph.times)) + 1
    borders = np.concatenate([[0], changes, [graph.times.size]])
    return int(np.diff(borders).max())
