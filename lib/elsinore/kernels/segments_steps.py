"""Sorted entries of segment programs folded into steps: equal symbols side by side become one.

A run of `m` events of one symbol without another in between, or `m` of them at one instant, reads
the same counts: it is one step with the multiplicity m and the sums of the events' weights.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, kernel

#: Sums of long weights stay below this, or the run is cut.
_ROOM = 2.0**61


@kernel
def order_entries(layers, owners, by_time, heads, rows, symbols):
    """Lay out the entries of all events by partition, in the order of time.

    Args:
        layers: int32[L, N], symbols of each event, -1 for none.
        owners: int64[N], the event's partition, -1 for none.
        by_time: int64[N], the events in the order of time; empty if they are.
        heads: int64[P + 1], where each partition begins; moved on to where it ends.
        rows: int64[M] to write to, events.
        symbols: int32[M] to write to.
    """
    for i in range(owners.size):
        event = by_time[i] if by_time.size else i
        owner = owners[event]
        if owner < 0:
            continue
        for layer in range(layers.shape[0]):
            if layers[layer, event] >= 0:
                place = heads[owner]
                rows[place] = event
                symbols[place] = layers[layer, event]
                heads[owner] = place + 1


@inlined
def _same_cell(early, late, windows):
    """Whether no window begins or ends after one instant, up to another."""
    for w in range(windows.shape[0]):
        within, slide = windows[w, 0], windows[w, 1]
        if early // slide != late // slide or (early - within) // slide != (late - within) // slide:
            return False
    return True


@inlined
def _joins(longs, step_longs, row, step):
    for k in range(longs.shape[0]):
        if abs(np.float64(longs[k, row]) + np.float64(step_longs[k, step])) > _ROOM:
            return False
    return True


@inlined
def _join(longs, doubles, ranks, row, step, step_longs, step_doubles, step_ranks):
    for k in range(longs.shape[0]):
        step_longs[k, step] += longs[k, row]
    for k in range(doubles.shape[0]):
        step_doubles[k, step] += doubles[k, row]
    for k in range(ranks.shape[0]):
        step_ranks[k, step] = min(step_ranks[k, step], ranks[k, row])


@inlined
def _begin(longs, doubles, ranks, row, step, step_longs, step_doubles, step_ranks):
    for k in range(longs.shape[0]):
        step_longs[k, step] = longs[k, row]
    for k in range(doubles.shape[0]):
        step_doubles[k, step] = doubles[k, row]
    for k in range(ranks.shape[0]):
        step_ranks[k, step] = ranks[k, row]


@kernel
def fold_steps(
    times, rows, symbols, offsets, windows, runs, longs, doubles, ranks, seen, places,
    instants, groups, group_offsets, step_symbols, counts, step_longs, step_doubles, step_ranks,
):  # fmt: skip
    """Fold entries into steps, and steps of one instant into groups.

    Args:
        times: int64[M], of the entries.
        rows: int64[M], the event of each entry; entries are in the order of partition and time.
        symbols: int32[M], the symbol of each entry.
        offsets: int64[P + 1], where each partition's entries begin.
        windows: int64[W, 2], WITHIN and SLIDE; a run ends where a window begins or ends.
        runs: bool[Y]: symbols whose events at several instants may be one step.
        longs: int64[K, N], weights of the events.
        doubles: float64[D, N], weights of the events.
        ranks: int64[E, N], ranks of the events.
        seen: int64[Y], scratch of -1.
        places: int64[Y], scratch.
        instants: int64[M] to write to, the time of each group.
        groups: int64[M + 1] to write to, where each group's steps begin.
        group_offsets: int64[P + 1] to write to, where each partition's groups begin.
        step_symbols: int32[M] to write to.
        counts: int64[M] to write to, the multiplicity of each step.
        step_longs: int64[K, M] to write to, sums of weights.
        step_doubles: float64[D, M] to write to, sums of weights.
        step_ranks: int64[E, M] to write to, smallest ranks.

    Returns:
        The number of groups and of steps.
    """
    group = step = 0
    for partition in range(offsets.size - 1):
        group_offsets[partition] = group
        entry, end = offsets[partition], offsets[partition + 1]
        while entry < end:
            time, first = times[entry], step
            while entry < end and times[entry] == time:
                row, symbol = rows[entry], symbols[entry]
                place = places[symbol]
                if seen[symbol] == group and _joins(longs, step_longs, row, place):
                    counts[place] += 1
                    _join(longs, doubles, ranks, row, place, step_longs, step_doubles, step_ranks)
                else:
                    seen[symbol], places[symbol] = group, step
                    step_symbols[step], counts[step] = symbol, 1
                    _begin(longs, doubles, ranks, row, step, step_longs, step_doubles, step_ranks)
                    step += 1
                entry += 1
            last = first - 1
            if (
                step == first + 1
                and group > group_offsets[partition]
                and groups[group - 1] == last
                and runs[step_symbols[first]]
                and step_symbols[first] == step_symbols[last]
                and _same_cell(instants[group - 1], time, windows)
                and _joins(step_longs, step_longs, first, last)
            ):
                counts[last] += counts[first]
                _join(
                    step_longs, step_doubles, step_ranks, first, last,
                    step_longs, step_doubles, step_ranks,
                )  # fmt: skip
                seen[step_symbols[first]] = -1
                step = first
                continue
            groups[group], instants[group] = first, time
            group += 1
    group_offsets[offsets.size - 1] = group
    groups[group] = step
    return group, step
