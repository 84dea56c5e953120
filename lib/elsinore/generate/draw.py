"""Random columns: times, burst lengths, running numbers, walks. Whole arrays, no loop an event."""

from __future__ import annotations

import numpy as np

from elsinore.generate.options import StreamOptions
from elsinore.timeline import MINUTE


def arrival_times(dice: np.random.Generator, options: StreamOptions) -> np.ndarray:
    """Increasing int64 microseconds of a Poisson process whose rate is constant or grows evenly.

    Distinct unless `options.resolution` makes some equal.
    """
    passed = np.cumsum(dice.standard_exponential(options.events))  # events that should have come
    rate = options.rate / MINUTE
    first = rate if options.first_rate is None else options.first_rate / MINUTE
    growth = (rate - first) * (rate + first) / (2 * options.events)
    # `passed = first t + growth t^2 / 2`, solved for t without cancellation.
    times = 2 * passed / (first + np.sqrt(first * first + 2 * growth * passed))
    ticks = np.floor(times).astype(np.int64)
    numbers = np.arange(options.events)
    ticks = np.maximum.accumulate(ticks - numbers) + numbers
    unit = options.resolution.micros
    return (options.start_micros + ticks) // unit * unit


def burst_lengths(dice: np.random.Generator, count: int, options: StreamOptions) -> np.ndarray:
    """Lengths of bursts, int64, all 1 or more."""
    if options.fixed_bursts:
        return np.full(count, round(options.burst), np.int64)
    return dice.geometric(1 / options.burst, count).astype(np.int64)


def running_numbers(keys: np.ndarray) -> np.ndarray:
    """For each element, how many before it have the same key.

    >>> running_numbers(np.array([5, 7, 5, 5, 7])).tolist()
    [0, 0, 1, 2, 1]
    """
    return running_sums(keys, np.ones(keys.size, np.int64)) - 1


def running_sums(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each element, the sum of the values up to it, its own included, that have its key.

    >>> running_sums(np.array([5, 7, 5]), np.array([1, 10, 2])).tolist()
    [1, 10, 3]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    sums = np.cumsum(values[order])
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    before = sums[begins] - values[order][begins]
    sums -= np.repeat(before, np.diff(np.append(begins, keys.size)))
    result = np.empty_like(sums)
    result[order] = sums
    return result


def walk(
    dice: np.random.Generator, keys: np.ndarray, falling: float, step: float, height: float
) -> np.ndarray:
    """A random walk within `[0, height)` for each key, one value an element.

    Steps are exponential. A walk that leaves at one side enters at the other, so that it can fall
    (or rise) for ever; only there a step goes against its direction.

    Args:
        dice: the random numbers.
        keys: whose walk each element belongs to: int64 codes from 0.
        falling: the share of steps that go down.
        step: the mean length of a step.
        height: the walks' range.
    """
    down = dice.random(keys.size) < falling
    steps = dice.standard_exponential(keys.size) * step * np.where(down, -1.0, 1.0)
    starts = dice.random(int(keys.max()) + 1) * height
    return (starts[keys] + running_sums(keys, steps)) % height
