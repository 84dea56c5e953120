"""Which layer each vertex of a graph stands in, and in which order: layers go from left to right.

The layered method of Sugiyama, Tagawa and Toda: arrows that close a cycle are turned round, layers
come from longest paths, arrows over several layers pass a bend in each, and sweeps of barycentres
lessen the crossings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Edge = tuple[int, int]

#: Layers from one circle to the next; labels stand in the layers in between.
STEP = 2
_SWEEPS = 12
#: Of four sweeps, from this one on equal vertices change places.
_TURN = 2
#: Above this, counting crossings takes too long, and no order would make them few.
_MOST_LINKS = 1_500


@dataclass(frozen=True)
class Layers:
    """Vertices in layers: the given ones, then one bend for each layer that an edge passes.

    Attributes:
        rows: vertices of each layer from top to bottom.
        chains: for each edge its vertices from left to right.
        turned: for each edge whether it points to the left.
    """

    rows: tuple[tuple[int, ...], ...]
    chains: tuple[tuple[int, ...], ...]
    turned: tuple[bool, ...]


def layers_of(count: int, edges: Sequence[Edge]) -> Layers:
    """The layers of a graph without loops at one vertex.

    Args:
        count: number of vertices; those that begin paths should come first.
        edges: pairs of vertices.
    """
    turned = _turned(count, edges)
    forward = [(b, a) if back else (a, b) for (a, b), back in zip(edges, turned, strict=True)]
    ranks = _ranks(count, forward)
    chains = []
    for left, right in forward:
        bends = range(len(ranks), len(ranks) + ranks[right] - ranks[left] - 1)
        ranks += range(ranks[left] + 1, ranks[right])
        chains.append((left, *bends, right))
    rows = [[v for v, rank in enumerate(ranks) if rank == r] for r in range(max(ranks) + 1)]
    ordered = _ordered(rows, chains)
    return Layers(tuple(map(tuple, ordered)), tuple(chains), tuple(turned))


def _turned(count: int, edges: Sequence[Edge]) -> list[bool]:
    """The edges that lead back to a vertex on the path to where they begin."""
    onwards: list[list[int]] = [[] for _ in range(count)]
    for number, (earlier, _) in enumerate(edges):
        onwards[earlier].append(number)
    turned = [False] * len(edges)
    state = ["new"] * count

    def visit(vertex: int) -> None:
        state[vertex] = "open"
        for number in sorted(onwards[vertex], key=lambda n: edges[n][1]):
            later = edges[number][1]
            turned[number] = state[later] == "open"
            if state[later] == "new":
                visit(later)
        state[vertex] = "done"

    for vertex in range(count):
        if state[vertex] == "new":
            visit(vertex)
    return turned


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Longest paths; a vertex that nothing precedes stands right before what follows it."""
    ranks = [0] * count
    late = list(edges)
    while late:
        for left, right in late:
            ranks[right] = max(ranks[right], ranks[left] + STEP)
        late = [(left, right) for left, right in edges if ranks[right] < ranks[left] + STEP]
    preceded = {right for _, right in edges}
    for vertex in set(range(count)) - preceded:
        after = [ranks[right] for left, right in edges if left == vertex]
        ranks[vertex] = min(after) - STEP if after else 0
    return ranks


def _ordered(rows: list[list[int]], chains: Sequence[Sequence[int]]) -> list[list[int]]:
    links = [link for chain in chains for link in pairwise(chain)]
    if len(links) > _MOST_LINKS:
        return rows
    best, fewest = rows, _crossings(rows, links)
    for sweep in range(_SWEEPS):
        rows = _swept(rows, links, downwards=sweep % 2 == 0, turned=sweep % 4 >= _TURN)
        crossings = _crossings(rows, links)
        if crossings < fewest:
            best, fewest = rows, crossings
    return best


def _swept(
    rows: list[list[int]], links: Sequence[Edge], *, downwards: bool, turned: bool
) -> list[list[int]]:
    """Every layer sorted by the mean place of its vertices' neighbours in the layer before.

    Vertices of the same mean change places where `turned`.
    """
    beside: dict[int, list[int]] = {}
    for left, right in links:
        here, there = (right, left) if downwards else (left, right)
        beside.setdefault(here, []).append(there)
    done: list[list[int]] = []
    for row in rows if downwards else reversed(rows):
        place = {v: n for n, v in enumerate(done[-1])} if done else {}
        means = {
            v: sum(place[b] for b in beside[v]) / len(beside[v]) if v in beside and place else n
            for n, v in enumerate(row)
        }
        done.append(sorted(row[::-1] if place and turned else row, key=means.__getitem__))
    return done if downwards else done[::-1]


def _crossings(rows: list[list[int]], links: Sequence[Edge]) -> int:
    place = {v: n for row in rows for n, v in enumerate(row)}
    layer = {v: r for r, row in enumerate(rows) for v in row}
    between: dict[int, list[Edge]] = {}
    for left, right in links:
        between.setdefault(layer[left], []).append((place[left], place[right]))
    return sum(
        (a - c) * (b - d) < 0
        for pairs in between.values()
        for n, (a, b) in enumerate(pairs)
        for c, d in pairs[:n]
    )
