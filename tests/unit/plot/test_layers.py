"""Layers of small graphs, and their order."""

from __future__ import annotations

import pytest

from elsinore.plot.layers import layers_of


def layer(rows: tuple[tuple[int, ...], ...], vertex: int) -> int:
    (found,) = (number for number, row in enumerate(rows) if vertex in row)
    return found


def test_a_chain_has_a_layer_for_labels_between_its_vertices() -> None:
    layers = layers_of(3, [(0, 1), (1, 2)])
    assert [layer(layers.rows, v) for v in (0, 1, 2)] == [0, 2, 4]
    assert layers.chains == ((0, 3, 1), (1, 4, 2))
    assert layers.turned == (False, False)


def test_an_arrow_back_is_turned_round() -> None:
    layers = layers_of(2, [(0, 1), (1, 0)])
    assert layers.turned == (False, True)
    assert [layer(layers.rows, v) for v in (0, 1)] == [0, 2]
    assert [chain[0] for chain in layers.chains] == [0, 0]


def test_a_long_arrow_passes_a_bend_in_each_layer() -> None:
    layers = layers_of(3, [(0, 1), (1, 2), (0, 2)])
    (long,) = (chain for chain in layers.chains if len(chain) > 3)
    assert (long[0], long[-1]) == (0, 2)
    assert [layer(layers.rows, v) for v in long] == [0, 1, 2, 3, 4]


def test_what_nothing_precedes_stands_right_before_what_follows_it() -> None:
    """3 leads to 2 alone, which is late for 0 and 1."""
    layers = layers_of(4, [(0, 1), (1, 2), (3, 2)])
    assert [layer(layers.rows, v) for v in (0, 1, 2, 3)] == [0, 2, 4, 2]


@pytest.mark.parametrize("edges", [[(0, 3), (1, 2)], [(0, 2), (0, 3), (1, 2)]])
def test_crossings_that_need_not_be_are_gone(edges: list[tuple[int, int]]) -> None:
    """0 and 1 on the left, 2 and 3 on the right: another order has no crossing."""
    layers = layers_of(4, edges)
    place = {v: n for row in layers.rows for n, v in enumerate(row)}
    for n, one in enumerate(layers.chains):
        for other in layers.chains[:n]:
            assert (place[one[0]] - place[other[0]]) * (place[one[-1]] - place[other[-1]]) >= 0
