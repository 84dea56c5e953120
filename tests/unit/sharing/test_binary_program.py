"""Small binary programs against every vector there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from elsinore.sharing.binary_program import BinaryProgram, solve


def drawn(seed: int) -> BinaryProgram:
    """Columns of gains and costs, some of which cancel out, under rows like those of plans."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 9))
    gains = draw.uniform(0, 0.1, count)
    costs = draw.choice(gains, count) * draw.choice([1.0, draw.uniform(0.5, 1.5)], count)
    needs = np.hstack([np.eye(count), -np.eye(count)[draw.integers(0, count, count)]])
    either = np.hstack([draw.integers(0, 2, (2, count)), np.zeros((2, count))])
    upper = np.concatenate([np.zeros(count), np.ones(2)])
    return BinaryProgram(
        np.concatenate([gains, -costs]), csr_array(np.vstack([needs, either])), upper
    )


def best(program: BinaryProgram) -> float:
    width = len(program.gains)
    vectors = np.array(list(product([0.0, 1.0], repeat=width)))
    holds = (vectors @ program.rows.T.toarray() <= program.upper + 0.5).all(axis=1)
    return float((vectors[holds] @ program.gains).max())


@pytest.mark.slow
def test_the_best_vector_is_found_and_proven() -> None:
    for seed in range(60):
        program = drawn(seed)
        start = np.zeros(len(program.gains))
        found = solve(program, start=start, bound=1e9, time_limit=60)
        assert program.holds(found.x), seed
        assert found.value == pytest.approx(best(program), abs=1e-9), seed
        assert found.proven, seed


def test_gains_that_cancel_out_are_no_gain() -> None:
    """The relaxation takes them, and gains 1e-17."""
    gains = [0.02328363347683863, 0.07540041863332421, 0.0707606113133721, 0.018285526794053396,
             -0.07540041863332421, -0.026771348395303637, -0.0707606113133721,
             -0.02005873715651932]  # fmt: skip
    needs = [(0, 5), (1, 4), (2, 6), (3, 7), (5, 4), (7, 6)]
    rows = np.zeros((7, 8))
    for row, (one, other) in zip(rows, needs, strict=False):
        row[one], row[other] = 1, -1
    rows[6, [0, 2]] = 1
    program = BinaryProgram(np.array(gains), csr_array(rows), np.array([0.0] * 6 + [1.0]))
    found = solve(program, start=np.zeros(8), bound=1.0, time_limit=60)
    assert found.value == 0
    assert found.proven
