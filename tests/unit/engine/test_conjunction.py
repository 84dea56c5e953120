"""Pairs of trends counted from numbers, against the pairs themselves."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from elsinore.engine.aggregate import KeyValues, pairs_of

#: Keys that a trend may carry: none, the first, the second, or both, with small values.
PLACES: list[KeyValues] = [(), ((0, 1),), ((0, 2),), ((1, 1),), ((0, 1), (1, 1)), ((0, 2), (1, 1))]


@pytest.mark.parametrize("seed", range(100))
def test_pairs_are_those_of_the_definition(seed: int) -> None:
    rng = random.Random(seed)
    trends = [(number, rng.choice(PLACES), rng.choice("lrb")) for number in range(8)]
    expected: Counter[KeyValues] = Counter()
    for number, values, side in trends:
        for other, others, other_side in trends:
            matched = side in "lb" and other_side in "rb"
            reverse = side in "rb" and other_side in "lb"
            if number < other and (matched or reverse) and _agree(values, others):
                expected[tuple(sorted((dict(values) | dict(others)).items()))] += 1
    left, right, both = (
        Counter(values for _, values, side in trends if side in sides)
        for sides in ("lb", "rb", "b")
    )
    found: Counter[KeyValues] = Counter()
    for values, count in pairs_of(left, right, both):
        found[values] += count
    assert +found == expected


def _agree(left: KeyValues, right: KeyValues) -> bool:
    ours, theirs = dict(left), dict(right)
    return all(ours[key] == theirs[key] for key in ours.keys() & theirs.keys())


def test_section_9_of_greta() -> None:
    """C1 = 3, C2 = 2, C12 = 4: C1*C2 + C1*C12 + C2*C12 + (C12 choose 2) = 6 + 12 + 8 + 6."""
    assert dict(pairs_of({(): 7}, {(): 6}, {(): 4})) == {(): 32}
