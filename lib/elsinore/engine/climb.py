"""The exact ladder: 64-bit counts, then 128 bit, then as wide as needed, window by window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.kernels.graph import Graph
from elsinore.kernels.propagate import propagate
from elsinore.kernels.rows import Rows, rows_for
from elsinore.kernels.work import entries_to_hold, make_work


@dataclass(frozen=True)
class Totals:
    """The carriers of R windows, all worked out with counts of one width.

    Attributes:
        spans: int64[R, 4], see `kernels.spans`.
        rows: one row for each window.
    """

    spans: np.ndarray
    rows: Rows

    @property
    def limbs(self) -> int:
        """Width of the counts in 64-bit limbs."""
        return 1 if self.rows.counts.ndim == 2 else int(self.rows.counts.shape[2])

    def where(self, chosen: np.ndarray) -> Totals:
        """The windows that are chosen by number or by a bool[R]."""
        return Totals(self.spans[chosen], Rows(*(column[chosen] for column in self.rows)))


def climb(graph: Graph, spans: np.ndarray) -> list[Totals]:
    """Aggregate every window on the lowest rung that holds it; those without a trend are left out.

    Only the windows that outgrew a rung take the next, so that one hot window costs the others
    nothing.
    """
    rungs = []
    limbs = 1
    while spans.shape[0]:
        totals, outgrown = _rung(graph, spans, limbs)
        found = totals.where(~outgrown)
        trends = found.rows.counts[:, 0].reshape(-1, limbs)
        rungs.append(found.where(np.flatnonzero(trends.any(axis=1))))
        spans = spans[outgrown]
        limbs *= 2
    return rungs


def _rung(graph: Graph, spans: np.ndarray, limbs: int) -> tuple[Totals, np.ndarray]:
    rows = rows_for(graph, spans.shape[0], limbs)
    outgrown = np.zeros(spans.shape[0], np.bool_)
    propagate(graph, spans, make_work(graph, entries_to_hold(graph, spans), limbs), rows, outgrown)
    if limbs == 1:  # plain doubles overflow; the sums of the next rung have wide exponents
        outgrown |= ~np.isfinite(rows.sums).all(axis=1)
    return Totals(spans, rows), outgrown
