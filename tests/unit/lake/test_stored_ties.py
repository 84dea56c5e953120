"""Parts of a stream in which ties are counted: equal times are never divided."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from elsinore.events import TIME_COLUMN
from elsinore.lake import stored_ties


@pytest.mark.parametrize("seed", range(20))
def test_equal_times_are_in_one_part(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_ties, "_ROWS", 5)
    dice = random.Random(seed)
    times = sorted(dice.choices(range(dice.choice([1, 8, 60])), k=60))
    batches, at = [], 0
    while at < len(times):
        size = dice.randint(1, 17)
        batches.append(pa.record_batch({TIME_COLUMN: pa.array(times[at : at + size], pa.int64())}))
        at += size
    parts = [part[TIME_COLUMN].to_pylist() for part in stored_ties._parts(batches)]
    assert [time for part in parts for time in part] == times
    assert all(one[-1] < two[0] for one, two in pairwise(parts))
    most = max(map(times.count, times))
    assert all(len(part) <= 2 * 5 + most for part in parts)
