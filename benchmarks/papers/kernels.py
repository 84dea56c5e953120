"""The inner loops of the two-step systems, compiled; what arrays mean is said of `Stacks`.

Trends are added to int64[P, W + 1, C + 1], the first window that holds them plus one and the one
after the last less one, so that a trend is constructed once however many windows hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

#: Without counting references, which took longer than a trend.
kernel: Any = njit(cache=True, _nrt=False, error_model="numpy")
#: A part of kernels, compiled into each of them.
part: Any = njit(cache=True, _nrt=False, error_model="numpy", forceinline=True)

_NEVER, _FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max

# mypy: disable-error-code="no-untyped-def"

# ---- stacks and pointers


@kernel
def find_nots(times, states, offsets, nots, before, after):
    """For each entry the last event of NOT strictly before it, and the first one after it.

    `nots` is bool[S]; `before` and `after` hold "never" and "forever" to begin with.
    """
    for p in range(offsets.size - 1):
        for forward in (True, False):
            passed = waiting = _NEVER if forward else _FOREVER
            at = times[offsets[p]] if offsets[p] < offsets[p + 1] else 0
            for n in range(offsets[p + 1] - offsets[p]):
                i = offsets[p] + n if forward else offsets[p + 1] - 1 - n
                if times[i] != at or n == 0:
                    passed, at = waiting, times[i]
                if forward:
                    before[i] = passed
                else:
                    after[i] = passed
                if nots[states[i]]:
                    waiting = times[i]


@part
def _holds(sign, left, right):
    if sign == 0:
        return left < right
    if sign == 1:
        return left <= right
    if sign == 2:
        return left > right
    if sign == 3:
        return left >= right
    if sign == 4:
        return left == right
    return left < right or left > right


@part
def _adjacent(i, j, tests, begin, end, values):
    for t in range(begin, end):
        if not _holds(tests[t, 0], values[tests[t, 1], i], values[tests[t, 2], j]):
            return False
    return True


@kernel
def link(
    times, states, offsets, spans, before, arrows, guarded, bounds, tests, values, first, following
):
    """Write the pointers of all entries; how many, or -1 where there are too many.

    `arrows` and `guarded` are bool[S, S], `bounds` int64[S, S, 2] into `tests`, int64[T, 3], and
    `values` float64[*, N], the sides of comparisons; `first` and `following` are written to.
    """
    used = 0
    for p in range(offsets.size - 1):
        for i in range(offsets[p], offsets[p + 1]):
            first[i] = used
            s = states[i]
            for j in range(i + 1, offsets[p + 1]):
                if spans[j, 2] > spans[i, 1]:
                    break
                u = states[j]
                if times[j] == times[i] or not arrows[s, u]:
                    continue
                if guarded[s, u] and before[j] > times[i]:
                    continue
                if not _adjacent(i, j, tests, bounds[s, u, 0], bounds[s, u, 1], values):
                    continue
                if used == following.size:
                    return -1
                following[used] = j
                used += 1
    first[times.size] = used
    return used


@kernel
def find_useful(first, following, ends, useful):
    """Whether an end can be reached from each entry."""
    for i in range(ends.size - 1, -1, -1):
        useful[i] = ends[i]
        for place in range(first[i], first[i + 1]):
            if useful[following[place]]:
                useful[i] = True
                break


@kernel
def longest_way(first, following, states, starts, useful, looping, lengths):
    """The most events at states `looping` (bool[S]) of any trend; `lengths` is int64[N]."""
    most = 0
    for i in range(lengths.size - 1, -1, -1):
        lengths[i] = 0
        for place in range(first[i], first[i + 1]):
            f = following[place]
            if useful[f]:
                lengths[i] = max(lengths[i], lengths[f])
        lengths[i] += looping[states[i]]
        if starts[i] and useful[i]:
            most = max(most, lengths[i])
    return most


# ---- SASE: one trend at a time, depth first


@part
def _add(spans, weights, path, size, totals):
    """Aggregate a constructed trend: the second step."""
    i, f = path[0], path[size - 1]
    low, high = max(spans[i, 0], spans[f, 2]), min(spans[i, 1], spans[f, 3])
    if low > high:
        return
    totals[low, 0] += 1
    totals[high + 1, 0] -= 1
    for c in range(weights.shape[0]):
        total = 0
        for n in range(size):
            total += weights[c, path[n]]
        totals[low, c + 1] += total
        totals[high + 1, c + 1] -= total


@kernel
def by_depth(offsets, first, following, starts, ends, spans, weights, useful, path, place, totals):
    """Construct every trend and aggregate it; `path` and `place`, int64[N], hold one at a time."""
    for p in range(offsets.size - 1):
        mine = totals[p]
        for i in range(offsets[p], offsets[p + 1]):
            if not starts[i] or not useful[i] or spans[i, 0] > spans[i, 1]:
                continue
            depth, latest = 0, spans[i, 1]
            path[0], at, stop = i, first[i], first[i + 1]
            if ends[i]:
                _add(spans, weights, path, 1, mine)
            while True:
                if at == stop:
                    depth -= 1
                    if depth < 0:
                        break
                    at, stop = place[depth], first[path[depth] + 1]
                    continue
                f = following[at]
                at += 1
                if useful[f] and spans[f, 2] <= latest:
                    place[depth] = at
                    depth += 1
                    path[depth], at, stop = f, first[f], first[f + 1]
                    if ends[f]:
                        _add(spans, weights, path, depth + 1, mine)


# ---- Flink: sequences of one length, all kept, event by event


@kernel
def by_level(p, offsets, first, following, states, spans, way, parents, events, begins):
    """Construct all sequences along `way` (int64[L], states) in a partition.

    Partial ones are kept, each as its last event and the one that it extends. Returns where the
    finished ones lie in the three int32 arrays, from and to; -1 where there are too many.
    """
    used = 0
    for i in range(offsets[p], offsets[p + 1]):
        if states[i] == way[0]:
            if used == events.size:
                return -1, -1
            parents[used], events[used], begins[used] = -1, i, i
            used += 1
    low = 0
    for k in range(1, way.size):
        high = used
        for m in range(low, high):
            i, latest = events[m], spans[begins[m], 1]
            for place in range(first[i], first[i + 1]):
                f = following[place]
                if states[f] == way[k] and spans[f, 2] <= latest:
                    if used == events.size:
                        return -1, -1
                    parents[used], events[used], begins[used] = m, f, begins[m]
                    used += 1
        low = high
    return low, used


@kernel
def add_level(
    low, high, times, states, before, guarded, spans, weights, parents, events, begins, path, totals
):
    """Aggregate finished sequences, as long as `path`, but those with an event of NOT in them."""
    size = path.size
    whole = weights.shape[0] > 0 or guarded.any()
    for m in range(low, high):
        at = m
        allowed = True
        path[0], path[size - 1] = begins[m], events[m]
        for n in range(size - 1 if whole else -1, -1, -1):
            i = events[at]
            path[n] = i
            at = parents[at]
            if at >= 0 and guarded[states[events[at]], states[i]]:
                allowed = allowed and before[i] <= times[events[at]]
        if allowed:
            _add(spans, weights, path, size, totals)


@kernel
def by_length(
    offsets, first, following, states, spans, way, times, before, guarded, weights,
    parents, events, begins, path, totals,
):  # fmt: skip
    """Construct all sequences along `way` and aggregate them; whether there was room.

    `parents`, `events` and `begins`, int32 each, hold those of a partition, `path` is int64[L].
    """
    for p in range(offsets.size - 1):
        low, high = by_level(
            p, offsets, first, following, states, spans, way, parents, events, begins
        )
        if low < 0:
            return False
        add_level(
            low, high, times, states, before, guarded, spans, weights, parents, events, begins,
            path, totals[p],
        )  # fmt: skip
    return True


@kernel
def sequences(
    offsets, first, following, states, spans, way, parents, events, begins, firsts, lasts, bounds
):
    """Construct all sequences along `way` and keep their first and last entries.

    Returns whether there was room for them in `firsts` and `lasts`, int32 each; `bounds`, int64[P +
    1], says where those of each partition lie, sorted by their first.
    """
    used = 0
    for p in range(offsets.size - 1):
        low, high = by_level(
            p, offsets, first, following, states, spans, way, parents, events, begins
        )
        if low < 0 or used + high - low > firsts.size:
            return False
        for m in range(low, high):
            firsts[used], lasts[used] = begins[m], events[m]
            used += 1
        bounds[p + 1] = used
    return True


# ---- CET: sub-trends of slices of the graph, kept and put together


@part
def _sub_trends(low, high, slices, first, following, spans, useful, estimate):
    """About how many sub-trends there are when the entries are cut into so many slices."""
    size = (high - low + slices - 1) // slices
    total = 0.0
    for i in range(high - 1, low - 1, -1):
        estimate[i] = 0.0
        if not useful[i]:
            continue
        estimate[i] = 1.0
        for place in range(first[i], first[i + 1]):
            f = following[place]
            if (f - low) // size == (i - low) // size:
                estimate[i] += estimate[f]
        total += estimate[i]
    return total


@part
def _keep_sub_trends(low, high, size, stacks, useful, weights, begin, end, cross, kept):
    """Keep the sub-trends of each slice by their first event: its own, then the longer ones."""
    first, following, spans = stacks
    lasts, rests, sums = kept
    used = 0
    for i in range(high - 1, low - 1, -1):
        begin[i] = end[i] = used
        cross[i] = first[i + 1]
        if not useful[i]:
            continue
        lasts[used], rests[used] = i, -1
        for c in range(weights.shape[0]):
            sums[c, used] = weights[c, i]
        used += 1
        for place in range(first[i], first[i + 1]):
            f = following[place]
            if (f - low) // size != (i - low) // size:
                cross[i] = place
                break
            for y in range(begin[f], end[f]):
                if spans[lasts[y], 2] > spans[i, 1]:
                    continue
                lasts[used], rests[used] = lasts[y], y
                for c in range(weights.shape[0]):
                    sums[c, used] = sums[c, y] + weights[c, i]
                used += 1
        end[i] = used
    return used


@part
def _add_chain(spans, i, f, y, depth, cursor, sums, totals):
    low, high = max(spans[i, 0], spans[f, 2]), min(spans[i, 1], spans[f, 3])
    if low > high:
        return
    totals[low, 0] += 1
    totals[high + 1, 0] -= 1
    for c in range(sums.shape[0]):
        total = sums[c, y]
        for d in range(depth):
            total += sums[c, cursor[d]]
        totals[low, c + 1] += total
        totals[high + 1, c + 1] -= total


@part
def _put_together(i, stacks, ends, useful, begin, end, cross, kept, cursor, stop, place, totals):
    """All trends that start at entry i: a sub-trend, or one followed by those of later slices."""
    first, following, spans = stacks
    lasts, _, sums = kept
    depth, latest = 0, spans[i, 1]
    cursor[0], stop[0], place[0] = begin[i] - 1, end[i], -1
    while depth >= 0:
        if place[depth] >= 0 and place[depth] < first[lasts[cursor[depth]] + 1]:
            f = following[place[depth]]
            place[depth] += 1
            if useful[f] and spans[f, 2] <= latest:
                depth += 1
                cursor[depth], stop[depth], place[depth] = begin[f] - 1, end[f], -1
            continue
        place[depth] = -1
        y = cursor[depth] + 1
        while y < stop[depth]:  # a scan over what is kept, as long as nothing goes on from there
            last = lasts[y]
            if ends[last]:
                _add_chain(spans, i, last, y, depth, cursor, sums, totals)
            if cross[last] < first[last + 1]:
                break
            y += 1
        cursor[depth] = y
        if y == stop[depth]:
            depth -= 1
        else:
            place[depth] = cross[lasts[y]]


@kernel
def by_slices(
    offsets, first, following, starts, ends, spans, weights, useful,
    numbers, estimate, lasts, rests, sums, totals,
):  # fmt: skip
    """Construct and aggregate every trend; the most sub-trends that were kept at once.

    Each partition's graph is cut into as few slices as let the sub-trends fit into `lasts` and
    `rests`, int32 each, with `sums`, int64[C, *]. `numbers` is int64[6, N] to work with, `estimate`
    float64[N].
    """
    begin, end, cross, cursor, stop, place = numbers
    stacks, kept = (first, following, spans), (lasts, rests, sums)
    most = 0
    for p in range(offsets.size - 1):
        low, high, mine = offsets[p], offsets[p + 1], totals[p]
        slices = 1
        while (
            _sub_trends(low, high, slices, first, following, spans, useful, estimate) > lasts.size
        ):
            slices += 1
        size = (high - low + slices - 1) // slices
        used = _keep_sub_trends(low, high, size, stacks, useful, weights, begin, end, cross, kept)
        most = max(most, used)
        for i in range(low, high):
            if starts[i] and useful[i] and spans[i, 0] <= spans[i, 1]:
                _put_together(
                    i, stacks, ends, useful, begin, end, cross, kept, cursor, stop, place, mine
                )
    return most


# ---- MCEP: the trends of a Kleene sub-pattern once, completed query by query


@part
def _complete(f, last, begun, size, spans, heads, tails, head_high, tail_low, totals):
    """Every trend of the queries that begun before f, with one trend of the sub-pattern in it."""
    for n in range(size):
        q = begun[n]
        for y in range(tails[q, last, 0], tails[q, last, 1]):
            low = tail_low[y] if y >= 0 else spans[last, 2]
            for x in range(heads[q, f, 0], heads[q, f, 1]):
                high = head_high[x] if x >= 0 else spans[f, 1]
                if low <= high:
                    totals[q, low, 0] += 1
                    totals[q, high + 1, 0] -= 1


@kernel
def by_sub_pattern(
    offsets, first, following, starts, ends, spans, useful, heads, tails, head_high, tail_low,
    path, place, begun, totals,
):  # fmt: skip
    """Construct every trend of the sub-pattern by depth, and complete it for each query.

    The stacks are those of its events. `heads` and `tails`, int64[Q, N, 2], say which sequences
    may come before each event and after it, from -1 to 0 where a query has nothing there;
    `head_high` and `tail_low`, int64[*], the last and the first window that holds a sequence.
    `path` and `place`, int64[N], and `begun`, int64[Q], are to work with; `totals` is int64[P, Q,
    W + 1, 1].
    """
    for p in range(offsets.size - 1):
        mine = totals[p]
        for i in range(offsets[p], offsets[p + 1]):
            if not starts[i] or not useful[i]:
                continue
            depth, latest = 0, spans[i, 1]
            path[0], at, stop = i, first[i], first[i + 1]
            size = 0
            for q in range(heads.shape[0]):
                if heads[q, i, 0] < heads[q, i, 1]:
                    begun[size] = q
                    size += 1
            if ends[i]:
                _complete(i, i, begun, size, spans, heads, tails, head_high, tail_low, mine)
            while True:
                if at == stop:
                    depth -= 1
                    if depth < 0:
                        break
                    at, stop = place[depth], first[path[depth] + 1]
                    continue
                f = following[at]
                at += 1
                if useful[f] and spans[f, 2] <= latest:
                    place[depth] = at
                    depth += 1
                    path[depth], at, stop = f, first[f], first[f + 1]
                    if ends[f]:
                        _complete(i, f, begun, size, spans, heads, tails, head_high, tail_low, mine)


# ---- SPASS: sequences of shared pieces, joined


@part
def _after(begins, low, high, time):
    """The first piece of [low, high) that begins after a time."""
    while low < high:
        middle = (low + high) // 2
        if begins[middle] > time:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def join_pieces(bounds, begins, ends, highs, lows, cursor, stop, totals):
    """Join the pieces of one query, depth first, and count each sequence.

    `bounds`, int64[K, P + 1], says where the sequences of each of the query's pieces lie in
    `begins` and `ends`, the times of their first and last events, sorted by the first, and in
    `highs` and `lows`, the last and the first window that holds them. `cursor` and `stop`,
    int64[K], are to work with; `totals` is int64[P, W + 1, 1].
    """
    deepest = bounds.shape[0] - 1
    for p in range(bounds.shape[1] - 1):
        depth = 0
        cursor[0], stop[0] = bounds[0, p], bounds[0, p + 1]
        while depth >= 0:
            if cursor[depth] == stop[depth]:
                depth -= 1
                continue
            m = cursor[depth]
            cursor[depth] += 1
            high = highs[cursor[0] - 1]
            if lows[m] > high:
                continue
            if depth == deepest:
                totals[p, lows[m], 0] += 1
                totals[p, high + 1, 0] -= 1
                continue
            depth += 1
            stop[depth] = bounds[depth, p + 1]
            cursor[depth] = _after(begins, bounds[depth, p], stop[depth], ends[m])
