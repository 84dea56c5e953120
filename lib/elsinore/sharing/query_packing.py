"""For given open candidates, the best disjoint ones for each query: intervals on a line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class Interval(NamedTuple):
    """An offer to one query: positions `start` to `stop - 1`, a gain, and the offer's number."""

    start: int
    stop: int
    gain: float
    number: int


def pack(offers: Sequence[Interval]) -> list[int]:
    """The numbers of disjoint offers with the largest sum of gains; O(n log n).

    >>> pack([Interval(0, 2, 3, 7), Interval(1, 4, 5, 8), Interval(2, 4, 3, 9)])
    [7, 9]
    """
    ordered = sorted(offer for offer in offers if offer.gain > 0)
    ordered.sort(key=lambda offer: offer.stop)
    stops = [offer.stop for offer in ordered]
    best = [0.0]
    taken: list[int] = []  # how many of the offers before remain if this one is taken, or -1
    for place, offer in enumerate(ordered):
        before = bisect_right(stops, offer.start, 0, place)
        with_it = best[before] + offer.gain
        taken.append(before if with_it > best[-1] else -1)
        best.append(max(best[-1], with_it))
    chosen = []
    place = len(ordered)
    while place:
        if taken[place - 1] < 0:
            place -= 1
        else:
            chosen.append(ordered[place - 1].number)
            place = taken[place - 1]
    return chosen[::-1]
