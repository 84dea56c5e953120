"""The scratch of one pass of propagation, made once for all of its windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.closing import OpenLists, make_open_lists
from elsinore.kernels.graph import Graph
from elsinore.kernels.guards import Guards, make_guards
from elsinore.kernels.pairs import Pairs, make_pairs
from elsinore.kernels.rows import Rows, rows_for
from elsinore.kernels.sliding import Slides, make_slides
from elsinore.kernels.upkeep import Upkeep, find_upkeep


class Work(NamedTuple):
    """Scratch; W is the number of entries held at once.

    Attributes:
        upkeep: what the graph asks to be kept.
        states: a row for each state, over its events so far.
        entries: W rows: of a window's entries, or of one instant's where the graph is plain.
        members: int64[S, W], the entries of each kept state that end some trend, in time order.
        member_count: int64[S].
        pairs, guards, slides, lists: see there.
        limbs: uint64[L].
    """

    upkeep: Upkeep
    states: Rows
    entries: Rows
    members: np.ndarray
    member_count: np.ndarray
    pairs: Pairs
    guards: Guards
    slides: Slides
    lists: OpenLists
    limbs: np.ndarray


def entries_to_hold(graph: Graph, spans: np.ndarray) -> int:
    """The `buffer` that `make_work` needs for some spans: entries of a window, or of an instant.

    Args:
        graph: the graph.
        spans: int64[R, 4], see `spans.fill_spans`; at least one.
    """
    if not find_upkeep(graph).plain:
        return int((spans[:, 1] - spans[:, 0]).max())
    changes = np.flatnonzero(np.diff(graph.times)) + 1
    borders = np.concatenate([[0], changes, [graph.times.size]])
    return int(np.diff(borders).max())


def make_work(graph: Graph, buffer: int, limbs: int) -> Work:
    """Scratch for a graph; `buffer` is the number of entries to hold at once."""
    upkeep = find_upkeep(graph)
    states, width = graph.starts.size, 0 if upkeep.plain else buffer
    return Work(
        upkeep,
        rows_for(graph, states, limbs),
        rows_for(graph, buffer, limbs),
        np.empty((states, width), np.int64),
        np.zeros(states, np.int64),
        make_pairs(graph, width),
        make_guards(graph, upkeep, width),
        make_slides(graph, upkeep, width, limbs),
        make_open_lists(upkeep, width),
        np.empty(limbs, np.uint64),
    )
