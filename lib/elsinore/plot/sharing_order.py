"""In which order rows stand, so that those that share lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from elsinore.plot.sharing_rows import Group

#: Eigenvectors are compared up to this many digits: equal rows keep the order of the workload.
_DIGITS = 9
#: More joined queries than these keep the order of the workload: no page shows them all.
_MOST = 500


def row_order(queries: Sequence[str], groups: Sequence[Group]) -> list[int]:
    """The places of the queries from top to bottom.

    Queries that share come first, those of the largest saving at the top; queries that share
    nothing follow in the order of the workload. Among queries that are joined the order is that of
    the Fiedler vector, which brings together what shares much (spectral seriation).
    """
    number = {query: n for n, query in enumerate(queries)}
    pairs = [(number[q], column) for column, group in enumerate(groups) for q in group.members]
    worth = np.zeros(len(queries))
    for group in groups:
        for query in group.members:
            worth[number[query]] += max(group.net or 0.0, 0.0) / len(group.members)
    at, column = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    shape = (len(queries), max(1, len(groups)))
    held = csr_array((np.ones(len(pairs)), (at, column)), shape=shape)
    common = csr_array(held @ held.T)
    _, labels = connected_components(common, directed=False)
    found: dict[int, list[int]] = {}
    for place, label in enumerate(labels.tolist()):
        found.setdefault(label, []).append(place)
    parts = [np.array(part) for part in found.values()]
    parts.sort(key=lambda part: (len(part) == 1, -worth[part].sum()))
    return [int(n) for part in parts for n in part[_seriated(common, part)]]


def _seriated(common: Any, part: np.ndarray) -> np.ndarray:
    """An order of the rows of one component, from how much each two have in common."""
    if not 3 <= len(part) <= _MOST:
        return np.arange(len(part))
    shared = common[part][:, part].toarray()
    np.fill_diagonal(shared, 0.0)
    _, vectors = np.linalg.eigh(np.diag(shared.sum(axis=1)) - shared)
    fiedler = np.round(vectors[:, 1], _DIGITS)
    order = np.argsort(fiedler, kind="stable")
    other = np.argsort(-fiedler, kind="stable")
    return order if np.argmin(order) <= np.argmin(other) else other
