"""Numbers of combinations of key codes."""

from __future__ import annotations

import numpy as np
import pytest

from elsinore.executors.input.numbering import numbered
from tests.property.random_cases.dice import Dice


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_in_the_order_of_combinations_however_large_values_are(seed: int) -> None:
    dice = Dice(f"numbered {seed}")
    values = [0, 1, 2, 2**31 - 1, 2**40, 2**63 - 1, -3, -(2**63)]
    size = dice.number(0, 12)
    columns = [[dice.pick(values) for _ in range(size)] for _ in range(dice.number(0, 4))]
    numbers, rows = numbered([np.array(column, np.int64) for column in columns], size)
    values_of = [tuple(column[row] for column in columns) for row in range(size)]
    distinct = sorted(set(values_of))
    assert numbers.tolist() == [distinct.index(values) for values in values_of]
    assert [values_of[row] for row in rows] == distinct
