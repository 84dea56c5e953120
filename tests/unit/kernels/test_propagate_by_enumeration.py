"""Propagation gives what building all trends gives."""

from __future__ import annotations

import numpy as np
import pytest

from elsinore.kernels.entries import find_spans
from tests.draws import draws
from tests.unit.kernels.aggregated import aggregate
from tests.unit.kernels.brute_force import Expected, Window
from tests.unit.kernels.cases import Case
from tests.unit.kernels.random_cases import random_case

EVERY = -(2**60), 2**60
SEEDS = draws(200, 500)


def enumerated(case: Case, spans: np.ndarray) -> list[Expected]:
    """The answer by building all trends of each window."""
    entries = case.entries
    return [
        Window(case, int(partition), entries[low:high]).expected()
        for low, high, partition, _ in spans
    ]


@pytest.mark.parametrize("limbs", [1, 2])
def test_random_graphs(limbs: int) -> None:
    seen = 0
    for seed in range(SEEDS):
        case = random_case(seed)
        graph = case.graph()
        for within, slide in ((12, 12), (7, 3)):
            spans = find_spans(case.offsets(), graph.times, within, slide, *EVERY)
            expected = enumerated(case, spans)
            assert aggregate(graph, spans, limbs) == expected, f"seed {seed}, within {within}"
            seen += sum(found.trends > 0 for found in expected)
    assert seen > SEEDS
