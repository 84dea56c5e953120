"""Numbers of combinations of key codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from elsinore.engine.key_codes import combined
from tests.property.random_cases.dice import Dice


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_in_the_order_of_combinations_however_large_codes_are(seed: int) -> None:
    dice = Dice(f"combined {seed}")
    values = [0, 1, 2, 2**31 - 1, 2**40, 2**63 - 1]
    size = dice.number(0, 12)
    columns = [[dice.pick(values) for _ in range(size)] for _ in range(dice.number(0, 4))]
    numbers = combined([np.array(column, np.int64) for column in columns], size).tolist()
    rows = [tuple(column[row] for column in columns) for row in range(size)]
    assert ranks(numbers) == ranks(rows)


def ranks(values: Sequence[Any]) -> list[int]:
    """The place of each value among those that there are."""
    distinct = sorted(set(values))
    return [distinct.index(value) for value in values]
