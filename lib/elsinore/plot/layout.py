"""Where circles, arrows and labels go, so that none lies upon another.

Everything is in points; x grows to the right and y downwards. Each layer is a column of its own
width, and lines bend in the gaps between columns only: they run level past what stands in one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from elsinore.plot.layers import Layers, layers_of

#: Between columns, and between what stands in one column.
GAP_X, GAP_Y = 20.0, 10.0
#: A line is kept straight the more, the more bends it has.
_STRAIGHT = (1.0, 2.0, 8.0)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """Room around a point: half the width to each side, and how far up and down."""

    width: float
    up: float
    down: float


@dataclass(frozen=True)
class Placed:
    """The result of a layout.

    Attributes:
        points: of each vertex.
        halves: half the width of each vertex's column.
        lines: of each edge, from its first vertex to its second: level stretches, each given by
            two ends, from bend to bend; none where the vertices stand in columns side by side.
        labels: the middle of the level stretch that carries each edge's label.
        width, height: of the whole.
    """

    points: tuple[Point, ...]
    halves: tuple[float, ...]
    lines: tuple[tuple[tuple[Point, Point], ...], ...]
    labels: tuple[Point, ...]
    width: float
    height: float


def layout(
    vertices: Sequence[Box], edges: Sequence[tuple[int, int]], labels: Sequence[Box]
) -> Placed:
    """Places for the vertices and edges of a graph without loops at one vertex.

    Args:
        vertices: room for each; not empty.
        edges: pairs of vertices.
        labels: room for each edge's label, around its line.
    """
    layers = layers_of(len(vertices), edges)
    middles = [_middle(chain) for chain in layers.chains]
    boxes = {v: Box(0.0, 2.0, 2.0) for row in layers.rows for v in row}
    boxes |= dict(enumerate(vertices)) | dict(zip(middles, labels, strict=True))
    x, half = _columns(layers, boxes)
    y = _heights(layers, boxes, len(vertices))
    lines = []
    for chain, turned in zip(layers.chains, layers.turned, strict=True):
        stretches = [((x[v] - half[v], y[v]), (x[v] + half[v], y[v])) for v in chain[1:-1]]
        if turned:
            stretches = [(right, left) for left, right in reversed(stretches)]
        lines.append(tuple(stretches))
    return Placed(
        tuple((x[v], y[v]) for v in range(len(vertices))),
        tuple(half[v] for v in range(len(vertices))),
        tuple(lines),
        tuple((x[v], y[v]) for v in middles),
        max(x[v] + half[v] for v in boxes),
        max(y[v] + box.down for v, box in boxes.items()),
    )


def _middle(chain: Sequence[int]) -> int:
    """The bend that carries the label: in an odd layer, as near to the middle as may be."""
    return chain[(len(chain) - 1) // 2 | 1] if len(chain) > 3 else chain[1]


def _columns(layers: Layers, boxes: dict[int, Box]) -> tuple[dict[int, float], dict[int, float]]:
    """The middle of each vertex's column, and half the column's width."""
    x, half, left = {}, {}, 0.0
    for row in layers.rows:
        width = max(boxes[v].width for v in row)
        for v in row:
            x[v], half[v] = left + width / 2, width / 2
        left += width + GAP_X
    return x, half


def _heights(layers: Layers, boxes: dict[int, Box], count: int) -> list[float]:
    """Lines as straight as the order in the columns allows: a linear program.

    Its variables are the heights, then for each link how far it climbs or falls.
    """
    from scipy.optimize import linprog  # the solver takes its time to load
    from scipy.sparse import coo_array

    links = [link for chain in layers.chains for link in pairwise(chain)]
    total = len(boxes)
    rows: list[tuple[int, int, float]] = []
    bounds: list[float] = []

    def at_least(distance: float, *terms: tuple[int, float]) -> None:
        rows.extend((len(bounds), variable, -factor) for variable, factor in terms)
        bounds.append(-distance)

    for row in layers.rows:
        at_least(boxes[row[0]].up, (row[0], 1.0))
        for above, below in pairwise(row):
            distance = boxes[above].down + GAP_Y + boxes[below].up
            at_least(distance, (below, 1.0), (above, -1.0))
    for number, (left, right) in enumerate(links, start=total):
        at_least(0.0, (number, 1.0), (left, 1.0), (right, -1.0))
        at_least(0.0, (number, 1.0), (left, -1.0), (right, 1.0))
    weights = [_STRAIGHT[(left >= count) + (right >= count)] for left, right in links]
    # a touch of weight on the heights themselves keeps everything as far up as it may go
    cost = np.concatenate([np.full(total, 1e-3), weights])
    at, variable, factor = zip(*rows, strict=True)
    matrix = coo_array((factor, (at, variable)), shape=(len(bounds), len(cost))).tocsr()
    found = linprog(cost, A_ub=matrix, b_ub=bounds, bounds=(0, None), method="highs")
    assert found.success, found.message  # more room is always to be had further down
    return [float(height) for height in found.x[:total]]
