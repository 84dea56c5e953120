"""Lists of numbers as two arrays, which kernels can read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np


def joined_lists(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each list begins, and their elements.

    >>> joined_lists([[3, 1], [], [2]])
    (array([0, 2, 2, 3]), array([3, 1, 2]))
    """
    begins = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return begins, np.array([*chain.from_iterable(lists)], np.int64)
