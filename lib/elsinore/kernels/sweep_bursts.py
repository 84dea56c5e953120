"""Finds the bursts of sorted events (Hamlet Definition 4.1), and what ties in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined

#: Events of a burst at most, so that what it multiplies counts by fits a double exactly.
LONGEST = 52


class Burst(NamedTuple):
    """Entries that bear on the cells together: those with the first one's code.

    Attributes:
        first: the first one; the others are before `after`.
        after: see `first`.
        length: how many they are; 0 where events of one time are not all alike.
        rising: whether they are at rising times, rather than at one.
    """

    first: int
    after: int
    length: int
    rising: bool


@inlined
def burst_at(events, first, after, end):
    """The burst that begins at an entry."""
    onward, length = _run_at(events, first, after, end)
    rising = length > 0
    if not rising:
        onward, length = _instant_at(events, first, after)
    return Burst(first, onward, length, rising)


@inlined
def single(entry):
    """An entry by itself."""
    return Burst(entry, entry + 1, 1, False)


@inlined
def factor_of(burst):
    """What a burst multiplies by that which reaches slots that loop."""
    return (np.int64(1) << burst.length) - 1 if burst.rising else burst.length


@inlined
def doublings_of(burst):
    """How many times what the first event adds doubles until the last one."""
    return burst.length - 1 if burst.rising else 0


@inlined
def _run_at(events, first, after, end):
    """Where alike events at rising times end, and how many; 0 where other events tie."""
    code, last = events.codes[first], events.times[first]
    length, newest, i = 1, first, first + 1
    while True:
        while (
            i < after
            and events.codes[i] == code
            and events.times[i] > last
            and events.times[i] < end
            and length < LONGEST
        ):
            last = events.times[i]
            newest = i
            length += 1
            i += 1
        while i < after and events.symbol_of[events.codes[i]] < 0:
            i += 1
        if i == after:
            return i, length
        if events.times[i] == last:
            return newest, length - 1
        if events.codes[i] != code or events.times[i] >= end or length == LONGEST:
            return i, length
        last = events.times[i]
        newest = i
        length += 1
        i += 1


@outlined
def _instant_at(events, first, after):
    """Where the events of one time end, and how many; 0 if they are not all alike."""
    time, code = events.times[first], events.codes[first]
    i, length, alike = first, 0, True
    while i < after and events.times[i] == time:
        if events.symbol_of[events.codes[i]] >= 0:
            length += 1
            alike &= events.codes[i] == code
        i += 1
    return i, length if alike else 0
