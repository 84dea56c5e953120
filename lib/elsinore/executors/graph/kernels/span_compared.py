"""Count trends with a span if each contains at most one pair of events that a comparison decides.

A trend is then a part without comparisons, a pair `x, y` whose values are compared, and another
part without comparisons. Let G be the product of the matrices of all events so far (see
`span_products`), modulo a prime. Its inverse H exists, because an event multiplies it by an
invertible matrix. So the number of ways from an event a to the events before e is a row of H after
a, multiplied by a column of G before e. Sums over pairs of a and e become sums over each:

- A is the sum of the rows of H of all first events. Events that are too old are subtracted.
- A tree over the order of values holds, for each x that is not too old, the number of ways to it
  from all first events, and the column of G by which ways from too old ones are subtracted.
- U and V are the sums over the pairs `x, y` of the ways to x, multiplied by the row of H of y.
- Another tree holds the rows of H of all y. When x becomes too old, it has the sum over its pairs.

An event takes time logarithmic in the number of events of a run, whatever the span. Several primes
give counts of any size (`span_remainders`). The primes are below 2^31, so that products fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined, outlined


class ComparedGraph(NamedTuple):
    """N entries of templates with S states, K of which another follows without a condition.

    Attributes:
        times: int64[N], ascending in each partition.
        states: int32[N].
        starts, ends: bool[S].
        place: int64[S], the number of a state among the K; -1 for none.
        before_start: int64[S + 1], the range of each state in `before`, int64[*]: the numbers of
            the states that can come right before it without a condition.
        into_start: int64[S + 1], the range of each state in `into`, int64[*]: the compared
            transitions that lead to it.
        out_start: int64[S + 1], the same for `outs`, the compared transitions that leave it.
        tree: int64[L], bound: int64[L], the row of `ranks` and of `bounds` of each transition.
        exact: bool[L], whether values are compared for equality.
        ranks, bounds: int32[*, *], see `orders.Orders`.
        turned: whether the entries are in reverse, and their times are negated.
    """

    times: np.ndarray
    states: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    place: np.ndarray
    before_start: np.ndarray
    before: np.ndarray
    into_start: np.ndarray
    into: np.ndarray
    out_start: np.ndarray
    outs: np.ndarray
    tree: np.ndarray
    bound: np.ndarray
    exact: np.ndarray
    ranks: np.ndarray
    bounds: np.ndarray
    turned: bool


class ComparedWork(NamedTuple):
    """Scratch for runs of up to W entries, trees of M nodes, and L compared transitions.

    Attributes:
        product, inverse: int64[K, K], G and H; swap, int64[2, K, K], scratch for them.
        sums: int64[6, K], A; the part of A that is too old; U; the row vector of all ways that are
            not too old; A multiplied by G; the row vector multiplied by G.
        taken: int64[K, K], V.
        earlier: int64[L, M, K + 1], a tree of x per transition.
        later: int64[L, M, K], a tree of y per transition.
        ways: int64[W, K + 1], for each x the ways to it, and the column of G.
        rows: int64[W, K], for each entry its row of H.
        pair: int64[W, K + 1], the sum over the x before each y.
        ending: int64[2, K + 1], scratch for sums over nodes.
    """

    product: np.ndarray
    inverse: np.ndarray
    swap: np.ndarray
    sums: np.ndarray
    taken: np.ndarray
    earlier: np.ndarray
    later: np.ndarray
    ways: np.ndarray
    rows: np.ndarray
    pair: np.ndarray
    ending: np.ndarray


def make_compared_work(graph: ComparedGraph, longest: int, highest: int) -> ComparedWork:
    """Return scratch, given the most entries of a run and the highest rank."""
    states, links = int(graph.place.max(initial=-1)) + 1, graph.tree.size
    return ComparedWork(
        np.zeros((states, states), np.int64),
        np.zeros((states, states), np.int64),
        np.zeros((2, states, states), np.int64),
        np.zeros((6, states), np.int64),
        np.zeros((states, states), np.int64),
        np.zeros((links, highest + 2, states + 1), np.int64),
        np.zeros((links, highest + 2, states), np.int64),
        np.zeros((longest, states + 1), np.int64),
        np.zeros((longest, states), np.int64),
        np.zeros((longest, states + 1), np.int64),
        np.zeros((2, states + 1), np.int64),
    )


#: Rows of `ComparedWork.sums`.
_ALL, _OLD, _PAIRS, _LIVE, _ALL_NOW, _LIVE_NOW = range(6)


@brief
def count_compared(in_graph, runs, shifts, sizes, numbers, in_work, prime, totals):
    """Count the trends that end in each period, modulo a prime.

    Args:
        in_graph: a `ComparedGraph`.
        runs: int64[R, 5], see `fill_runs`.
        shifts: int64[R], see `orders.Orders`.
        sizes: int64[R], the highest rank of each run.
        numbers: int64[N], the row of each entry in `totals`; -1 for none.
        in_work: a `ComparedWork`.
        prime: the prime.
        totals: int64[*] to add to.

    Returns:
        Whether an inverse existed after each timestamp. If not, the totals are invalid.
    """
    graph, work = borrow(in_graph), borrow(in_work)
    for run in range(runs.shape[0]):
        low, first, high = runs[run, 0], runs[run, 1], runs[run, 2]
        span = runs[run, 3]
        _clear(graph, work, sizes[run])
        head = i = low
        while i < high:
            time, after = graph.times[i], i + 1
            while after < high and graph.times[after] == time:
                after += 1
            while graph.times[head] < time - span:
                end = head + 1
                while graph.times[end] == graph.times[head]:
                    end += 1
                _expire(graph, work, head, end, low, shifts[run], sizes[run], prime)
                head = end
            _look(work, prime)
            for entry in range(i, after):
                ended = _arrive(graph, work, entry, low, shifts[run], sizes[run], prime)
                if graph.ends[graph.states[entry]] and entry >= first and numbers[entry] >= 0:
                    row = numbers[entry]
                    totals[row] = (totals[row] + ended) % prime
            if work.product.shape[0] and not _multiply(graph, work, i, after, prime):
                return False
            for entry in range(i, after):
                _enter(graph, work, entry, low, shifts[run], sizes[run], prime)
            i = after
    return True


@outlined
def _clear(graph, work, size):
    """Begin a run."""
    states = work.product.shape[0]
    for a in range(states):
        for b in range(states):
            work.product[a, b] = work.inverse[a, b] = 1 if a == b else 0
            work.taken[a, b] = 0
        for row in range(6):
            work.sums[row, a] = 0
    for link in range(graph.tree.size):
        for node in range(size + 2):
            for k in range(states + 1):
                work.earlier[link, node, k] = 0
            for k in range(states):
                work.later[link, node, k] = 0


# ---- keys of compared events: x can come before y if its key is not above the key of y


@inlined
def _keys(graph, link, entry, shift):
    """Return the rank and the bound of an entry; 0 for a value that is not comparable."""
    at = (graph.times.size - 1 - entry if graph.turned else entry) + shift
    rank, bound = graph.ranks[graph.tree[link], at], graph.bounds[graph.bound[link], at]
    return np.int64(rank), np.int64(bound)


@inlined
def _key_of_earlier(graph, link, entry, shift, size):
    """Return the key of x, from 1; 0 for none."""
    rank, bound = _keys(graph, link, entry, shift)
    if not graph.turned:
        return rank
    return size + 1 - bound if bound > 0 else np.int64(0)


@inlined
def _key_of_later(graph, link, entry, shift, size):
    """Return the key of y, from 1; 0 for none."""
    rank, bound = _keys(graph, link, entry, shift)
    if not graph.turned:
        return bound
    return size + 1 - rank if rank > 0 else np.int64(0)


@inlined
def _add_to_tree(nodes, key, size, exact, values, sign, prime):
    """Add values to, or subtract them from, the nodes that include a key."""
    i = key
    while 0 < i <= size:
        for k in range(nodes.shape[1]):
            value = nodes[i, k] + (values[k] if sign > 0 else prime - values[k])
            nodes[i, k] = value - prime if value >= prime else value
        i = size + 1 if exact else i + (i & -i)


@inlined
def _sum_of_tree(nodes, key, exact, out, prime):
    """Write the sum over the keys up to a key to `out`."""
    for k in range(nodes.shape[1]):
        out[k] = 0
    i = key
    while i > 0:
        for k in range(nodes.shape[1]):
            value = out[k] + nodes[i, k]
            out[k] = value - prime if value >= prime else value
        i = 0 if exact else i & (i - 1)


# ---- events that become too old


@outlined
def _expire(graph, work, first, end, low, shift, size, prime):
    """Subtract the trends that begin with the entries of a timestamp."""
    states = work.product.shape[0]
    for entry in range(first, end):
        state = graph.states[entry]
        if graph.place[state] >= 0:
            for n in range(graph.into_start[state], graph.into_start[state + 1]):
                link = graph.into[n]
                key = _key_of_later(graph, link, entry, shift, size)
                if key > 0:
                    mirrored = key if graph.exact[link] else size + 1 - key
                    exact, rows = graph.exact[link], work.rows[entry - low]
                    _add_to_tree(work.later[link], mirrored, size, exact, rows, -1, prime)
            if graph.starts[state]:
                for k in range(states):
                    old = work.sums[_OLD, k] + work.rows[entry - low, k]
                    work.sums[_OLD, k] = old % prime
    for entry in range(first, end):
        state, ways = graph.states[entry], work.ways[entry - low]
        for n in range(graph.out_start[state], graph.out_start[state + 1]):
            link = graph.outs[n]
            key = _key_of_earlier(graph, link, entry, shift, size)
            if key > 0:
                exact, rows = graph.exact[link], work.ending[0]
                _add_to_tree(work.earlier[link], key, size, exact, ways, -1, prime)
                if states:
                    mirrored = key if exact else size + 1 - key
                    _sum_of_tree(work.later[link], mirrored, exact, rows, prime)
                    _take_pairs(work, ways, rows, -1, prime)


@inlined
def _take_pairs(work, ways, rows, sign, prime):
    """Add the pairs of some x and some y to U and V, or subtract them."""
    states = work.product.shape[0]
    for k in range(states):
        row = rows[k] if sign > 0 else (prime - rows[k]) % prime
        work.sums[_PAIRS, k] = (work.sums[_PAIRS, k] + ways[0] * row) % prime
        for r in range(states):
            work.taken[r, k] = (work.taken[r, k] + ways[1 + r] * row) % prime


# ---- events that arrive


@outlined
def _look(work, prime):
    """Compute the numbers of ways to each state, from all first events and from those in reach."""
    states = work.product.shape[0]
    for k in range(states):
        live = work.sums[_ALL, k] + prime - work.sums[_OLD, k] + work.sums[_PAIRS, k]
        for r in range(states):
            live += prime - work.sums[_OLD, r] * work.taken[r, k] % prime
        work.sums[_LIVE, k] = live % prime
    for k in range(states):
        everything = now = np.int64(0)
        for r in range(states):
            everything += work.sums[_ALL, r] * work.product[r, k] % prime
            now += work.sums[_LIVE, r] * work.product[r, k] % prime
        work.sums[_ALL_NOW, k], work.sums[_LIVE_NOW, k] = everything % prime, now % prime


@outlined
def _arrive(graph, work, entry, low, shift, size, prime):
    """Return the number of trends in reach that end at an entry; keep what pairs with it need."""
    state, states = graph.states[entry], work.product.shape[0]
    number = every = np.int64(1 if graph.starts[state] else 0)
    ways, pair, found = work.ways[entry - low], work.pair[entry - low], work.ending[0]
    for k in range(states + 1):
        ways[k] = pair[k] = 0
    for n in range(graph.before_start[state], graph.before_start[state + 1]):
        before = graph.before[n]
        number += work.sums[_LIVE_NOW, before]
        every += work.sums[_ALL_NOW, before]
        for r in range(states):
            ways[1 + r] += work.product[r, before]
    ways[0] = every % prime
    for r in range(states):
        ways[1 + r] %= prime
    for n in range(graph.into_start[state], graph.into_start[state + 1]):
        link = graph.into[n]
        key = _key_of_later(graph, link, entry, shift, size)
        if key > 0:
            _sum_of_tree(work.earlier[link], key, graph.exact[link], found, prime)
            number += found[0]
            for r in range(states):
                number += prime - work.sums[_OLD, r] * found[1 + r] % prime
            for k in range(states + 1):
                pair[k] = (pair[k] + found[k]) % prime
    return number % prime


@outlined
def _enter(graph, work, entry, low, shift, size, prime):
    """Make an entry a first event, an x and a y for later entries."""
    state, states = graph.states[entry], work.product.shape[0]
    place, rows = graph.place[state], work.rows[entry - low]
    if place >= 0:
        for k in range(states):
            rows[k] = work.inverse[place, k]
            if graph.starts[state]:
                work.sums[_ALL, k] = (work.sums[_ALL, k] + rows[k]) % prime
        if graph.into_start[state] < graph.into_start[state + 1]:
            _take_pairs(work, work.pair[entry - low], rows, 1, prime)
        for n in range(graph.into_start[state], graph.into_start[state + 1]):
            link = graph.into[n]
            key = _key_of_later(graph, link, entry, shift, size)
            if key > 0:
                exact = graph.exact[link]
                mirrored = key if exact else size + 1 - key
                _add_to_tree(work.later[link], mirrored, size, exact, rows, 1, prime)
    for n in range(graph.out_start[state], graph.out_start[state + 1]):
        link = graph.outs[n]
        key = _key_of_earlier(graph, link, entry, shift, size)
        if key > 0:
            exact = graph.exact[link]
            _add_to_tree(work.earlier[link], key, size, exact, work.ways[entry - low], 1, prime)


# ---- the product of matrices and its inverse


@outlined
def _multiply(graph, work, first, after, prime):
    """Multiply G by the matrix of the events of a timestamp; return whether it has an inverse."""
    states, followed = work.product.shape[0], 0
    matrix, rest = work.swap[0], work.swap[1]
    for a in range(states):
        for b in range(states):
            matrix[a, b] = 1 if a == b else 0
    for entry in range(first, after):
        state = graph.states[entry]
        if graph.place[state] >= 0:
            followed += 1
            for n in range(graph.before_start[state], graph.before_start[state + 1]):
                matrix[graph.before[n], graph.place[state]] += 1
    if followed == 0:
        return True
    for a in range(states):
        for b in range(states):
            value = np.int64(0)
            for r in range(states):
                value += work.product[a, r] * matrix[r, b] % prime
            rest[a, b] = value % prime
    for a in range(states):
        for b in range(states):
            work.product[a, b] = rest[a, b]
    return _divide(matrix, work.inverse, prime)


@outlined
def _divide(matrix, target, prime):
    """Multiply rows of a matrix by the inverse of another, from the left (Gauss and Jordan)."""
    states = matrix.shape[0]
    for column in range(states):
        pivot = column
        while pivot < states and matrix[pivot, column] % prime == 0:
            pivot += 1
        if pivot == states:
            return False
        if pivot != column:
            for k in range(states):
                a, b = matrix[pivot, k], target[pivot, k]
                matrix[pivot, k], target[pivot, k] = matrix[column, k], target[column, k]
                matrix[column, k], target[column, k] = a, b
        if matrix[column, column] != 1:
            factor = _inverse_of(matrix[column, column], prime)
            for k in range(states):
                matrix[column, k] = matrix[column, k] * factor % prime
                target[column, k] = target[column, k] * factor % prime
        for row in range(states):
            if row != column and matrix[row, column] != 0:
                factor = prime - matrix[row, column]
                for k in range(states):
                    matrix[row, k] = (matrix[row, k] + factor * matrix[column, k]) % prime
                    target[row, k] = (target[row, k] + factor * target[column, k]) % prime
    return True


@inlined
def _inverse_of(value, prime):
    """Return the inverse of a number that is not 0 modulo a prime (Euclid)."""
    a, b, x, y = value % prime, prime, np.int64(1), np.int64(0)
    while a > 1:
        quotient = b // a
        a, b, x, y = b - quotient * a, a, y - quotient * x, x
    return x % prime


# ---- runs of entries, and a bound on the number of trends


@brief
def fill_runs(offsets, times, span, least, out):
    """Divide the entries of all partitions into runs.

    Args:
        offsets: int64[P + 1], the first entry of each partition.
        times: int64[N], ascending in each partition.
        span: the span.
        least: the least number of entries of a run, except for the last run of a partition.
        out: int64[M, 5] to write to: the first entry that a run reads, at most one span before the
            first entry at which it counts trends; this one; the end; the span; the partition. With
            M = 0 the kernel only counts.

    Returns:
        The number of runs, even if `out` does not hold them all.
    """
    count = 0
    for partition in range(offsets.size - 1):
        low = first = offsets[partition]
        end = offsets[partition + 1]
        while first < end:
            while times[low] < times[first] - span:
                low += 1
            high = min(end, first + max(least, 3 * (first - low)))
            while high < end and times[high] == times[high - 1]:
                high += 1
            if count < out.shape[0]:
                out[count, 0], out[count, 1], out[count, 2] = low, first, high
                out[count, 3], out[count, 4] = span, partition
            count += 1
            first = high
    return count


#: Numbers above the first are multiplied by the second. No number is below the last.
_LARGE, _SMALLER, _STEP, _LEAST = 2.0**600, 2.0**-500, 500.0, 2.0**-900


@brief
def bound_bits(graph, runs, sums):
    """Return a bound on the bits of the number of trends of a run.

    Two neighboring blocks of the length of the span contain each trend. The bound counts the trends
    of all such pairs of blocks, as if every comparison were true.

    Args:
        graph: a `ComparedGraph`.
        runs: int64[R, 5], see `fill_runs`.
        sums: float64[S], scratch.
    """
    most = 0.0
    for run in range(runs.shape[0]):
        low, high, span = runs[run, 0], runs[run, 2], runs[run, 3]
        begin, total, shift = low, 0.0, 0.0
        while begin < high:
            own, power = _bound_block(graph, sums, begin, high, 2 * span)
            if power > shift:
                total, shift = total * 2.0 ** max(shift - power, -1000.0), power
            total += own * 2.0 ** max(power - shift, -1000.0)
            time = graph.times[begin]
            while begin < high and graph.times[begin] <= time + span:
                begin += 1
        if total > 0.0:
            most = max(most, np.log2(total) + shift)
    return most


@outlined
def _bound_block(graph, sums, begin, high, reach):
    """Return a bound on the number of trends of the entries from one on, and a power of 2."""
    total, power = 0.0, 0.0
    for state in range(sums.size):
        sums[state] = 0.0
    i = begin
    while i < high and graph.times[i] <= graph.times[begin] + reach:
        state = graph.states[i]
        number = max(2.0 ** max(-power, -1000.0), _LEAST) if graph.starts[state] else 0.0
        for n in range(graph.before_start[state], graph.before_start[state + 1]):
            number += _sum_at(graph, sums, graph.before[n])
        for n in range(graph.into_start[state], graph.into_start[state + 1]):
            number += sums[_source_of(graph, graph.into[n])]
        sums[state] += number
        if graph.ends[state]:
            total += number
        if max(total, sums[state]) > _LARGE:
            total *= _SMALLER
            power += _STEP
            for each in range(sums.size):
                if sums[each] > 0.0:
                    sums[each] = max(sums[each] * _SMALLER, _LEAST)
        i += 1
    return total, power


@inlined
def _sum_at(graph, sums, place):
    found = 0.0
    for state in range(sums.size):
        if graph.place[state] == place:
            found = sums[state]
    return found


@inlined
def _source_of(graph, link):
    found = 0
    for state in range(graph.place.size):
        for n in range(graph.out_start[state], graph.out_start[state + 1]):
            if graph.outs[n] == link:
                found = state
    return found
