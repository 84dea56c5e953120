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
def link(s, arrows, bounds, tests, values):
    """Write the pointers of all entries of stacks; how many, or -1 where there are too many.

    `arrows` is bool[S, S], `bounds` int64[S, S, 2] into `tests`, int64[T, 3], and `values`
    float64[*, N], the sides of comparisons.
    """
    used = 0
    for p in range(s.offsets.size - 1):
        for i in range(s.offsets[p], s.offsets[p + 1]):
            s.first[i] = used
            a = s.states[i]
            for j in range(i + 1, s.offsets[p + 1]):
                if s.spans[j, 2] > s.spans[i, 1]:
                    break
                b = s.states[j]
                if s.times[j] == s.times[i] or not arrows[a, b]:
                    continue
                if s.guarded[a, b] and not s.late and s.before[j] > s.times[i]:
                    continue
                if not _adjacent(i, j, tests, bounds[a, b, 0], bounds[a, b, 1], values):
                    continue
                if used == s.following.size:
                    return -1
                s.following[used] = j
                used += 1
    s.first[s.times.size] = used
    return used


@kernel
def find_useful(s, useful):
    """Whether an end can be reached from each entry."""
    for i in range(useful.size - 1, -1, -1):
        useful[i] = s.ends[i]
        for place in range(s.first[i], s.first[i + 1]):
            if useful[s.following[place]]:
                useful[i] = True
                break


@kernel
def longest_way(s, useful, looping, lengths):
    """The most events at states `looping` (bool[S]) of any trend; `lengths` is int64[N]."""
    most = 0
    for i in range(lengths.size - 1, -1, -1):
        lengths[i] = 0
        for place in range(s.first[i], s.first[i + 1]):
            f = s.following[place]
            if useful[f]:
                lengths[i] = max(lengths[i], lengths[f])
        lengths[i] += looping[s.states[i]]
        if s.starts[i] and useful[i]:
            most = max(most, lengths[i])
    return most


# ---- SASE: one trend at a time, depth first


@part
def _add(s, path, size, totals):
    """Aggregate a constructed trend: the second step."""
    i, f = path[0], path[size - 1]
    low, high = max(s.spans[i, 0], s.spans[f, 2]), min(s.spans[i, 1], s.spans[f, 3])
    if low > high:
        return
    totals[low, 0] += 1
    totals[high + 1, 0] -= 1
    for c in range(s.weights.shape[0]):
        total = 0
        for n in range(size):
            total += s.weights[c, path[n]]
        totals[low, c + 1] += total
        totals[high + 1, c + 1] -= total


@kernel
def by_depth(s, useful, path, place, totals):
    """Construct every trend and aggregate it; `path` and `place`, int64[N], hold one at a time."""
    for p in range(s.offsets.size - 1):
        mine = totals[p]
        for i in range(s.offsets[p], s.offsets[p + 1]):
            if not s.starts[i] or not useful[i] or s.spans[i, 0] > s.spans[i, 1]:
                continue
            depth, latest = 0, s.spans[i, 1]
            path[0], at, stop = i, s.first[i], s.first[i + 1]
            if s.ends[i]:
                _add(s, path, 1, mine)
            while True:
                if at == stop:
                    depth -= 1
                    if depth < 0:
                        break
                    at, stop = place[depth], s.first[path[depth] + 1]
                    continue
                f = s.following[at]
                at += 1
                if useful[f] and s.spans[f, 2] <= latest:
                    place[depth] = at
                    depth += 1
                    path[depth], at, stop = f, s.first[f], s.first[f + 1]
                    if s.ends[f]:
                        _add(s, path, depth + 1, mine)


# ---- Flink: sequences of one length, all kept, event by event


@kernel
def by_level(p, s, way, kept):
    """Construct all sequences along `way` (int64[L], states) in a partition.

    Partial ones are kept in three int32 arrays: the one that each extends, its last entry, its
    first. Returns where the finished ones lie in them, from and to; -1 where there are too many.
    """
    parents, events, begins = kept
    low, used = 0, 0
    for i in range(s.offsets[p], s.offsets[p + 1]):
        if s.states[i] == way[0]:
            if used == events.size:
                return -1, -1
            parents[used], events[used], begins[used] = -1, i, i
            used += 1
    for k in range(1, way.size):
        high = used
        for m in range(low, high):
            i, latest = events[m], s.spans[begins[m], 1]
            for place in range(s.first[i], s.first[i + 1]):
                f = s.following[place]
                if s.states[f] == way[k] and s.spans[f, 2] <= latest:
                    if used == events.size:
                        return -1, -1
                    parents[used], events[used], begins[used] = m, f, begins[m]
                    used += 1
        low = high
    return low, used


@kernel
def add_level(low, high, s, kept, path, totals):
    """Aggregate finished sequences, as long as `path`, but those with an event of NOT in them."""
    parents, events, begins = kept
    whole = s.weights.shape[0] > 0 or s.guarded.any()
    for m in range(low, high):
        at, allowed = m, True
        path[0], path[path.size - 1] = begins[m], events[m]
        for n in range(path.size - 1 if whole else -1, -1, -1):
            i = events[at]
            path[n] = i
            at = parents[at]
            if at >= 0 and s.guarded[s.states[events[at]], s.states[i]]:
                allowed = allowed and s.before[i] <= s.times[events[at]]
        if allowed:
            _add(s, path, path.size, totals)


@kernel
def by_length(s, way, kept, path, totals):
    """Construct all sequences along `way` and aggregate them; whether there was room."""
    for p in range(s.offsets.size - 1):
        low, high = by_level(p, s, way, kept)
        if low < 0:
            return False
        add_level(low, high, s, kept, path, totals[p])
    return True


@kernel
def sequences(s, way, kept, firsts, lasts, bounds):
    """Construct all sequences along `way` and keep their first and last entries.

    Returns whether there was room for them in `firsts` and `lasts`, int32 each; `bounds`, int64[P +
    1], says where those of each partition lie, sorted by their first.
    """
    used = 0
    for p in range(s.offsets.size - 1):
        low, high = by_level(p, s, way, kept)
        if low < 0 or used + high - low > firsts.size:
            return False
        for m in range(low, high):
            firsts[used], lasts[used] = kept[2][m], kept[1][m]
            used += 1
        bounds[p + 1] = used
    return True


# ---- CET: sub-trends of slices of the graph, kept and put together


@part
def _sub_trends(low, high, slices, s, useful, estimate):
    """About how many sub-trends there are when the entries are cut into so many slices."""
    size = (high - low + slices - 1) // slices
    total = 0.0
    for i in range(high - 1, low - 1, -1):
        estimate[i] = 1.0 if useful[i] else 0.0
        for place in range(s.first[i], s.first[i + 1] if useful[i] else s.first[i]):
            f = s.following[place]
            if (f - low) // size == (i - low) // size:
                estimate[i] += estimate[f]
        total += estimate[i]
    return total


@part
def _keep_sub_trends(low, high, size, s, useful, numbers, kept):
    """Keep the sub-trends of each slice by their first entry: its own, then the longer ones."""
    begin, end, cross = numbers[0], numbers[1], numbers[2]
    lasts, rests, sums = kept
    used = 0
    for i in range(high - 1, low - 1, -1):
        begin[i] = end[i] = used
        cross[i] = s.first[i + 1]
        if not useful[i]:
            continue
        lasts[used], rests[used] = i, -1
        for c in range(sums.shape[0]):
            sums[c, used] = s.weights[c, i]
        used += 1
        for place in range(s.first[i], s.first[i + 1]):
            f = s.following[place]
            if (f - low) // size != (i - low) // size:
                cross[i] = place
                break
            for y in range(begin[f], end[f]):
                if s.spans[lasts[y], 2] > s.spans[i, 1]:
                    continue
                lasts[used], rests[used] = lasts[y], y
                for c in range(sums.shape[0]):
                    sums[c, used] = sums[c, y] + s.weights[c, i]
                used += 1
        end[i] = used
    return used


@part
def _add_chain(s, i, f, y, depth, cursor, sums, totals):
    low, high = max(s.spans[i, 0], s.spans[f, 2]), min(s.spans[i, 1], s.spans[f, 3])
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
def _put_together(i, s, useful, numbers, kept, totals):
    """All trends that start at entry i: a sub-trend, or one followed by those of later slices."""
    begin, end, cross, cursor, stop, place = numbers
    lasts, _, sums = kept
    depth, latest = 0, s.spans[i, 1]
    cursor[0], stop[0], place[0] = begin[i] - 1, end[i], -1
    while depth >= 0:
        if place[depth] >= 0 and place[depth] < s.first[lasts[cursor[depth]] + 1]:
            f = s.following[place[depth]]
            place[depth] += 1
            if useful[f] and s.spans[f, 2] <= latest:
                depth += 1
                cursor[depth], stop[depth], place[depth] = begin[f] - 1, end[f], -1
            continue
        place[depth] = -1
        y = cursor[depth] + 1
        while y < stop[depth]:  # a scan over what is kept, as long as nothing goes on from there
            last = lasts[y]
            if s.ends[last]:
                _add_chain(s, i, last, y, depth, cursor, sums, totals)
            if cross[last] < s.first[last + 1]:
                break
            y += 1
        cursor[depth] = y
        if y == stop[depth]:
            depth -= 1
        else:
            place[depth] = cross[lasts[y]]


@kernel
def by_slices(s, useful, numbers, estimate, kept, totals):
    """Construct and aggregate every trend; the most sub-trends that were kept at once.

    Each partition's graph is cut into as few slices as let its sub-trends fit into `kept`: int32
    twice, the last entry of each and the rest of it, and int64[C, *], its sums. `numbers`, a tuple
    of six int64[N], and `estimate`, float64[N], are to work with.
    """
    most = 0
    for p in range(s.offsets.size - 1):
        low, high, mine, slices = s.offsets[p], s.offsets[p + 1], totals[p], 1
        while _sub_trends(low, high, slices, s, useful, estimate) > kept[0].size:
            slices += 1
        size = (high - low + slices - 1) // slices
        most = max(most, _keep_sub_trends(low, high, size, s, useful, numbers, kept))
        for i in range(low, high):
            if s.starts[i] and useful[i] and s.spans[i, 0] <= s.spans[i, 1]:
                _put_together(i, s, useful, numbers, kept, mine)
    return most


# ---- MCEP: the trends of a Kleene sub-pattern once, completed query by query


@part
def _complete(last, begun, size, spans, around, totals):
    """Every trend with one trend of the sub-pattern in it, for what was begun before that."""
    tails, tail_low = around[1], around[3]
    for n in range(size):
        q, high = begun[0, n], begun[1, n]
        for y in range(tails[q, last, 0], tails[q, last, 1]):
            low = tail_low[y] if y >= 0 else spans[last, 2]
            if low <= high:
                totals[q, low, 0] += 1
                totals[q, high + 1, 0] -= 1


@kernel
def by_sub_pattern(s, useful, around, path, place, begun, totals):
    """Construct every trend of the sub-pattern by depth, and complete it for each query.

    The stacks are those of its events. `around` are heads and tails, int64[Q, N, 2], which
    sequences may come before each event and after it, from -1 to 0 where a query has nothing there;
    then int64[*] twice, the last window that holds each head, and the first that holds each tail.
    `path` and `place`, int64[N], and `begun`, int64[2, *] for a query and a window of each head,
    are to work with; `totals` is int64[P, Q, W + 1, 1].
    """
    heads, head_high = around[0], around[2]
    for p in range(s.offsets.size - 1):
        mine = totals[p]
        for i in range(s.offsets[p], s.offsets[p + 1]):
            if not s.starts[i] or not useful[i]:
                continue
            depth, latest, size = 0, s.spans[i, 1], 0
            path[0], at, stop = i, s.first[i], s.first[i + 1]
            for q in range(heads.shape[0]):
                for x in range(heads[q, i, 0], heads[q, i, 1]):
                    begun[0, size], begun[1, size] = q, head_high[x] if x >= 0 else latest
                    size += 1
            if s.ends[i]:
                _complete(i, begun, size, s.spans, around, mine)
            while True:
                if at == stop:
                    depth -= 1
                    if depth < 0:
                        break
                    at, stop = place[depth], s.first[path[depth] + 1]
                    continue
                f = s.following[at]
                at += 1
                if useful[f] and s.spans[f, 2] <= latest:
                    place[depth] = at
                    depth += 1
                    path[depth], at, stop = f, s.first[f], s.first[f + 1]
                    if s.ends[f]:
                        _complete(f, begun, size, s.spans, around, mine)


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
