"""The skeleton of a stream: who sends which type when, in bursts of the lengths asked for.

A unit is an event of a lead type, then a burst of the main type, all of one slot (a driver, a
company, a mapper's job). The units of a slot are cut into trips: the first unit of a trip has the
type that starts it, the last one a type that ends it and no burst. A burst is never followed by its
own type, in the slot or in the stream, since a lead comes between. Columns are drawn whole, without
a loop over events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.generate.options import StreamOptions
from elsinore.timeline import MINUTE


@dataclass(frozen=True)
class Script:
    """What trips are made of, as codes of types.

    Attributes:
        main: the type of the bursts.
        start: the type that starts a trip; None where there are no trips, and any of `middle`
            leads.
        middle: the types that lead within a trip.
        weights: how often these occur, relative to each other.
        end: the types that end a trip, equally often.
        units: mean number of units of a trip, 2 or more.
    """

    main: int
    start: int | None
    middle: tuple[int, ...]
    weights: tuple[float, ...]
    end: tuple[int, ...] = ()
    units: float = 2.0


@dataclass(frozen=True)
class Skeleton:
    """Columns of a stream, one element an event, int64.

    Attributes:
        types: codes of event types.
        slots: whose event it is.
        units: number of the event's unit among those of its slot, from 0.
        trips: a number below `most_trips` for each trip; a trip has one slot.
        most_trips: a bound on these numbers.
    """

    types: np.ndarray
    slots: np.ndarray
    units: np.ndarray
    trips: np.ndarray
    most_trips: int


def draw_skeleton(
    dice: np.random.Generator, options: StreamOptions, slots: int, script: Script
) -> Skeleton:
    """The skeleton of exactly `options.events` events; each unit has a slot at random."""
    count = int(options.events / (options.burst + 1) * 1.2) + 64
    while True:
        slot = dice.integers(0, slots, count)
        trips, begins, ends = _cut_into_trips(dice, slot, script)
        sizes = np.where(ends, 1, burst_lengths(dice, count, options) + 1)
        if sizes.sum() >= options.events:
            break
        count *= 2
    unit = np.repeat(np.arange(count), sizes)[: options.events]
    types = np.full(options.events, script.main, np.int64)
    firsts = np.cumsum(sizes) - sizes
    inside = firsts < options.events
    types[firsts[inside]] = _leads(dice, begins, ends, script)[inside]
    return Skeleton(types, slot[unit], running_numbers(slot)[unit], trips[unit], count)


def _cut_into_trips(
    dice: np.random.Generator, slot: np.ndarray, script: Script
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each unit the first unit of its trip; whether it begins one; whether it ends one."""
    if script.start is None:
        return np.arange(slot.size), np.zeros(slot.size, np.bool_), np.zeros(slot.size, np.bool_)
    # Slot by slot; a trip that reaches the end of its slot's units is not finished.
    order = np.argsort(slot, kind="stable")
    first = np.concatenate([[True], slot[order][1:] != slot[order][:-1]])
    planned = np.cumsum(1 + dice.geometric(1 / (script.units - 1), slot.size // 2 + 1)) - 1
    lasts = np.zeros(slot.size, np.bool_)
    lasts[planned[planned < slot.size]] = True
    lasts &= ~first
    fresh = first | np.concatenate([[False], lasts[:-1]])
    trips, begins, ends = np.empty(slot.size, np.int64), np.empty_like(lasts), np.empty_like(lasts)
    trips[order] = order[np.maximum.accumulate(np.where(fresh, np.arange(slot.size), 0))]
    begins[order] = fresh
    ends[order] = lasts
    return trips, begins, ends


def _leads(
    dice: np.random.Generator, begins: np.ndarray, ends: np.ndarray, script: Script
) -> np.ndarray:
    """The type of each unit's first event."""
    weights = np.array(script.weights, float)
    chosen = dice.choice(weights.size, begins.size, p=weights / weights.sum())
    leads = np.array(script.middle, np.int64)[chosen]
    if script.start is not None:
        leads[begins] = script.start
        leads[ends] = dice.choice(np.array(script.end, np.int64), int(ends.sum()))
    return leads


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
