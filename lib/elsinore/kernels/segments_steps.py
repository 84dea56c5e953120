"""Sorted entries of segment programs folded into steps: equal symbols side by side become one.

A run of `m` events of one symbol without another in between, or `m` of them at one instant, reads
the same counts: it is one step with the multiplicity m and the sums of the events' weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, kernel
from elsinore.kernels.segments import SLIDE, WITHIN

#: Sums of long weights stay below this, or the run is cut.
_ROOM = 2.0**61


class EntryColumns(NamedTuple):
    """M entries in the order of partition and time.

    Attributes:
        times: int64[M]; rows: int64[M], the event of each; symbols: int32[M].
        offsets: int64[P + 1], where each partition begins.
    """

    times: np.ndarray
    rows: np.ndarray
    symbols: np.ndarray
    offsets: np.ndarray


class Weights(NamedTuple):
    """Weights of N events: int64[K, N], float64[D, N], and ranks, int64[E, N]."""

    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class Steps(NamedTuple):
    """Folded entries: G groups, one an instant, of F steps.

    Attributes:
        instants: int64[G], the time of each group.
        groups: int64[G + 1], where each group's steps begin.
        group_offsets: int64[P + 1], where each partition's groups begin.
        symbols: int32[F]; counts: int64[F], the multiplicity of each step.
        longs, doubles, ranks: int64[K, *], float64[D, *], int64[E, *], by step sums of weights, and
            smallest ranks.
    """

    instants: np.ndarray
    groups: np.ndarray
    group_offsets: np.ndarray
    symbols: np.ndarray
    counts: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


@inlined
def _same_cell(early, late, windows):
    """Whether no window begins or ends after one instant, up to another."""
    for w in range(windows.shape[0]):
        within, slide = windows[w, WITHIN], windows[w, SLIDE]
        if early // slide != late // slide or (early - within) // slide != (late - within) // slide:
            return False
    return True


@inlined
def _joins(weights, row, steps, step):
    """Whether weights, of an event or of another step, may be added to those of a step."""
    for k in range(weights.longs.shape[0]):
        if abs(np.float64(weights.longs[k, row]) + np.float64(steps.longs[k, step])) > _ROOM:
            return False
    return True


@inlined
def _join(weights, row, steps, step):
    for k in range(weights.longs.shape[0]):
        steps.longs[k, step] += weights.longs[k, row]
    for k in range(weights.doubles.shape[0]):
        steps.doubles[k, step] += weights.doubles[k, row]
    for k in range(weights.ranks.shape[0]):
        steps.ranks[k, step] = min(steps.ranks[k, step], weights.ranks[k, row])


@inlined
def _begin(weights, row, steps, step):
    for k in range(weights.longs.shape[0]):
        steps.longs[k, step] = weights.longs[k, row]
    for k in range(weights.doubles.shape[0]):
        steps.doubles[k, step] = weights.doubles[k, row]
    for k in range(weights.ranks.shape[0]):
        steps.ranks[k, step] = weights.ranks[k, row]


@kernel
def fold_steps(entries, weights, windows, runs, seen, places, steps):
    """Fold entries into steps, and steps of one instant into groups.

    Args:
        entries: what to fold.
        weights: of the events.
        windows: int64[W, *], WITHIN and SLIDE; a run ends where a window begins or ends.
        runs: bool[Y]: symbols whose events at several instants may be one step.
        seen: int64[Y], scratch of -1.
        places: int64[Y], scratch.
        steps: with room for M of them, and M groups, to write to.

    Returns:
        The number of groups and of steps.
    """
    times, rows, symbols, offsets = entries
    instants, groups, counts = steps.instants, steps.groups, steps.counts
    group = step = 0
    for partition in range(offsets.size - 1):
        steps.group_offsets[partition] = group
        entry, end = offsets[partition], offsets[partition + 1]
        while entry < end:
            time, first = times[entry], step
            while entry < end and times[entry] == time:
                row, symbol = rows[entry], symbols[entry]
                place = places[symbol]
                if seen[symbol] == group and _joins(weights, row, steps, place):
                    counts[place] += 1
                    _join(weights, row, steps, place)
                else:
                    seen[symbol], places[symbol] = group, step
                    steps.symbols[step], counts[step] = symbol, 1
                    _begin(weights, row, steps, step)
                    step += 1
                entry += 1
            last, symbol = first - 1, steps.symbols[first]
            if (
                step == first + 1
                and group > steps.group_offsets[partition]
                and groups[group - 1] == last
                and runs[symbol]
                and symbol == steps.symbols[last]
                and _same_cell(instants[group - 1], time, windows)
                and _joins(steps, first, steps, last)
            ):
                counts[last] += counts[first]
                _join(steps, first, steps, last)
                seen[symbol] = -1
                step = first
                continue
            groups[group], instants[group] = first, time
            group += 1
    steps.group_offsets[offsets.size - 1] = group
    groups[group] = step
    return group, step
