"""Count trends with a span whose numbers exceed 64 bits; see `kernels.span_remainders`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import isqrt, prod

import numpy as np

from elsinore.executors.graph.kernels.span_products import Periods, SpanGraph, make_period_rows
from elsinore.executors.graph.kernels.span_remainders import (
    SpanSteps,
    count_remainders,
    make_remainder_work,
)

#: Bits of a product of such primes, for each of them.
BITS = 29
#: Number of primes per pass over the events.
_AT_ONCE = 16


def wide_counts(
    graph: SpanGraph, offsets: np.ndarray, periods: Periods, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Count the trends of some partitions and periods.

    Args:
        graph: the entries, in reverse if the first event decides on the period.
        offsets: int64[P + 1], the first entry of each partition.
        periods: the span and the periods.
        keys: int64[R, 2], partition and number of the periods.

    Returns:
        int64[*, 2] and uint64[*, 1, L], the partition and the number of each period with a trend,
        and the number of its trends, the lowest limb first.
    """
    steps = SpanSteps(*(getattr(graph, name) for name in SpanSteps._fields))
    runs = _runs(graph.times, offsets, periods, keys)
    bits, longest = _bounds(graph, runs, periods.span)
    ends = [_numbers(graph.times[runs[:, n] - n // 2], periods) for n in (1, 2)]
    most = np.minimum(np.abs(ends[1] - ends[0]) + 1, runs[:, 2] - runs[:, 1])
    size = int(most.sum())
    primes, parts = primes_below(bits // BITS + 1), list[np.ndarray]()
    for first in range(0, len(primes), _AT_ONCE):
        some = np.array(primes[first : first + _AT_ONCE], np.int64)
        rows, totals = make_period_rows(size), np.zeros((size, some.size), np.int64)
        work = make_remainder_work(some, graph.starts.size, longest)
        count_remainders(steps, runs, periods, work, rows, totals)
        parts.append(totals[: int(rows.place[3])])
    found = rows.keys[: int(rows.place[3]), :2]
    asked = set(map(tuple, keys.tolist()))
    chosen = [n for n, key in enumerate(found.tolist()) if tuple(key) in asked]
    remainders = np.concatenate(parts, axis=1)[chosen]
    return found[chosen], joined_remainders(remainders.tolist(), primes)


def _numbers(times: np.ndarray, periods: Periods) -> np.ndarray:
    """Return the number of the period of each time."""
    table, real = periods.table, periods.sign * times
    if not table.starts.size:
        return real // table.length
    return table.numbers[np.searchsorted(table.starts, real, side="right") - 1]


def _runs(times: np.ndarray, offsets: np.ndarray, periods: Periods, keys: np.ndarray) -> np.ndarray:
    """Return int64[*, 3], partition, first entry and end of the entries that periods need."""
    found: list[list[int]] = []
    for partition in np.unique(keys[:, 0]).tolist():
        begin, end = offsets[partition : partition + 2].tolist()
        own, numbers = times[begin:end], keys[keys[:, 0] == partition, 1]
        inside = np.flatnonzero(np.isin(_numbers(own, periods), numbers))
        lows = np.searchsorted(own, own[inside] - periods.span)
        # A run ends before an entry that needs nothing of it.
        cuts = np.flatnonzero(lows[1:] > inside[:-1]) + 1
        for first, after in pairwise([0, *cuts.tolist(), inside.size]):
            found.append([partition, begin + int(lows[first]), begin + int(inside[after - 1]) + 1])
    return np.array(found, np.int64).reshape(-1, 3)


def _bounds(graph: SpanGraph, runs: np.ndarray, span: int) -> tuple[int, int]:
    """Return a bound on the bits of the number of trends of a period, and the entries of a span.

    A trend of a span is determined by its last entry and a set of entries that others can follow.
    """
    followed = np.isin(graph.states, graph.transition_from)
    most = longest = 0
    for _, first, end in runs.tolist():
        times = graph.times[first:end]
        before = np.concatenate([[0], np.cumsum(followed[first:end])])
        lows = np.searchsorted(times, times - span)
        most = max(most, int((before[1:] - before[lows]).max()))
        longest = max(longest, int((np.arange(1, times.size + 1) - lows).max()))
    ends = int((runs[:, 2] - runs[:, 1]).sum())
    return most + ends.bit_length(), longest


@cache
def primes_below(number: int) -> tuple[int, ...]:
    """Return the largest primes below 2^30.

    >>> primes_below(2)
    (1073741789, 1073741783)
    """
    sieve = np.ones(isqrt(2**30) + 1, np.bool_)
    sieve[:2] = False
    for n in range(2, isqrt(sieve.size) + 1):
        sieve[n * n :: n] = False
    divisors, found, candidate = np.flatnonzero(sieve), list[int](), 2**30
    while len(found) < number:
        candidate -= 1
        if (candidate % divisors).all():
            found.append(candidate)
    return tuple(found)


def joined_remainders(remainders: Sequence[Sequence[int]], primes: Sequence[int]) -> np.ndarray:
    """Return uint64[R, 1, L], the numbers with some remainders, the lowest limb first."""
    product = prod(primes)
    factors = [product // p * pow(product // p, -1, p) for p in primes]
    limbs = product.bit_length() // 64 + 1
    numbers = (
        sum(r * factor for r, factor in zip(row, factors, strict=True)) % product
        for row in remainders
    )
    data = b"".join(number.to_bytes(8 * limbs, "little") for number in numbers)
    return np.frombuffer(data, np.uint64).reshape(-1, 1, limbs).copy()
