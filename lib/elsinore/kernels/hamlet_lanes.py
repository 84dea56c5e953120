"""Rows of lanes, and what the Hamlet kernels do with runs of them, on every rung of the ladder.

On the first rung longs are int64 and doubles plain; above it longs have L limbs (`wide`) and
doubles an exponent of their own (`rows` tells the same story for greta). A lane that outgrows its
rung is marked and goes on from zero, so that nothing wraps; its window is worked out again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_graph import DOUBLE, LONG, takes
from elsinore.kernels.rows import LIMIT
from elsinore.kernels.wide import add_scaled, add_wide, is_zero, multiply, normal, to_scaled

_ZERO, _ONE = np.uint64(0), np.uint64(1)

#: A product that is larger by an estimate in doubles is not kept on the first rung.
_ROOM = 2.0**61


class Lanes(NamedTuple):
    """R rows of lanes.

    Attributes:
        longs: int64[R, V], or uint64[R, V, L] in two's complement.
        doubles, exponents: float64[R, W], int64[R, W]; `double * 2**exponent`.
        ranks: int64[R, X], the smallest met.
        over: bool[V], long lanes that outgrew the rung.
        limbs: uint64[L], scratch.
    """

    longs: np.ndarray
    doubles: np.ndarray
    exponents: np.ndarray
    ranks: np.ndarray
    over: np.ndarray
    limbs: np.ndarray


def make_lanes(rows: int, widths: tuple[int, int, int], limbs: int, no_rank: int) -> Lanes:
    """Rows of "no trend"; `widths` are V, W and X, one limb means the first rung."""
    longs, doubles, ranks = widths
    shape = (rows, longs) if limbs == 1 else (rows, longs, limbs)
    return Lanes(
        longs=np.zeros(shape, np.int64 if limbs == 1 else np.uint64),
        doubles=np.zeros((rows, doubles)),
        exponents=np.zeros((rows, doubles), np.int64),
        ranks=np.full((rows, ranks), no_rank, np.int64),
        over=np.zeros(longs, np.bool_),
        limbs=np.empty(limbs, np.uint64),
    )


# ---- the sum of rows


@outlined
def _mark(values, over):
    for v in range(values.size):
        if values[v] > LIMIT or values[v] < -LIMIT:
            values[v] = 0
            over[v] = True


@inlined
def _forget(longs, lanes, row, lane):
    """Mark a wide lane."""
    lanes.over[lane] = True
    for limb in range(longs.shape[2]):
        longs[row, lane, limb] = 0


@outlined
def _add_longs(longs, lanes, row, source, low, high):
    if longs.ndim == 2:
        mine, more = longs[row, low:high], longs[source, low:high]
        seen = np.int64(0)
        for v in range(mine.size):
            total = mine[v] + more[v]
            mine[v] = total
            seen |= total ^ (total >> 63)
        if seen > LIMIT:
            _mark(mine, lanes.over[low:high])
    else:
        for lane in range(low, high):
            if add_wide(longs[row, lane], longs[source, lane]):
                _forget(longs, lanes, row, lane)


@outlined
def _add_doubles(longs, lanes, row, source, low, high):
    doubles, exponents = lanes.doubles, lanes.exponents
    for d in range(low, high):
        if longs.ndim == 2:
            doubles[row, d] += doubles[source, d]
        else:
            doubles[row, d], exponents[row, d] = add_scaled(
                doubles[row, d], exponents[row, d], doubles[source, d], exponents[source, d]
            )


@outlined
def _lower(lanes, row, source, low, high):
    for x in range(low, high):
        lanes.ranks[row, x] = min(lanes.ranks[row, x], lanes.ranks[source, x])


@inlined
def add_lanes(graph, lanes, row, source, a, b):
    """Add the lanes of queries `a` to `b - 1` of one row to those of another."""
    first, after = graph.queries[a], graph.queries[b]
    _add_longs(lanes.longs, lanes, row, source, first["long_start"], after["long_start"])
    if first["double_start"] < after["double_start"]:
        _add_doubles(lanes.longs, lanes, row, source, first["double_start"], after["double_start"])
    if first["rank_start"] < after["rank_start"]:
        _lower(lanes, row, source, first["rank_start"], after["rank_start"])


@inlined
def add_rows(graph, lanes, row, base, hits, a, b):
    """Add the lanes of queries `a` to `b - 1` of rows `base + hits` to those of another row."""
    first, after = graph.queries[a], graph.queries[b]
    low, high = first["long_start"], after["long_start"]
    for h in range(hits.size):
        _add_longs(lanes.longs, lanes, row, base + hits[h], low, high)
    low, high = first["double_start"], after["double_start"]
    if low < high:
        for h in range(hits.size):
            _add_doubles(lanes.longs, lanes, row, base + hits[h], low, high)
    low, high = first["rank_start"], after["rank_start"]
    if low < high:
        for h in range(hits.size):
            _lower(lanes, row, base + hits[h], low, high)


# ---- rows and single lanes of "no trend", of one trend, and copies


@outlined
def _zero(longs, row, low, high):
    if longs.ndim == 2:
        mine = longs[row, low:high]
        for v in range(mine.size):
            mine[v] = 0
    else:
        wide = longs[row, low:high]
        for v in range(wide.shape[0]):
            for limb in range(wide.shape[1]):
                wide[v, limb] = 0


@outlined
def _zero_rest(lanes, row, low, high, first, after, no_rank):
    for d in range(low, high):
        lanes.doubles[row, d] = 0.0
        lanes.exponents[row, d] = 0
    for x in range(first, after):
        lanes.ranks[row, x] = no_rank


@inlined
def clear_lanes(graph, lanes, row, a, b):
    """Set the lanes of queries `a` to `b - 1` to "no trend"."""
    first, after = graph.queries[a], graph.queries[b]
    _zero(lanes.longs, row, first["long_start"], after["long_start"])
    doubles, ranks = first["double_start"], first["rank_start"]
    if doubles < after["double_start"] or ranks < after["rank_start"]:
        _zero_rest(
            lanes, row, doubles, after["double_start"], ranks, after["rank_start"], graph.no_rank
        )


@inlined
def clear_window(graph, lanes, row, q, lane):
    """Set one window's lane of a query to "no trend" in one row."""
    query = graph.queries[q]
    width = query["width"]
    for j in range(query["longs_of"]):
        place = query["long_start"] + j * width + lane
        _zero(lanes.longs, row, place, place + 1)
    for j in range(query["doubles_of"]):
        place = query["double_start"] + j * width + lane
        lanes.doubles[row, place] = 0.0
        lanes.exponents[row, place] = 0
    for j in range(query["ranks_of"]):
        lanes.ranks[row, query["rank_start"] + j * width + lane] = graph.no_rank


@inlined
def copy_lanes(graph, lanes, row, source):
    """Make the lanes of one row those of another."""
    queries = graph.queries.size - 1
    clear_lanes(graph, lanes, row, 0, queries)
    add_lanes(graph, lanes, row, source, 0, queries)


@inlined
def copy_long(target, trow, place, source, srow, lane):
    """Make one long lane a copy of another."""
    if target.ndim == 2:
        target[trow, place] = source[srow, lane]
    else:
        for limb in range(target.shape[2]):
            target[trow, place, limb] = source[srow, lane, limb]


@inlined
def set_one(longs, row, lane):
    """Let a cleared lane be 1."""
    if longs.ndim == 2:
        longs[row, lane] = 1
    else:
        longs[row, lane, 0] = 1


@inlined
def counts_any(longs, row, lane):
    """Whether a lane counts any trend."""
    if longs.ndim == 2:
        return longs[row, lane] != 0
    return not is_zero(longs[row, lane])


@outlined
def _any_long(longs, row, low, high):
    if longs.ndim == 2:
        mine = longs[row, low:high]
        seen = np.int64(0)
        for v in range(mine.size):
            seen |= mine[v]
        return seen != 0
    wide = longs[row, low:high]
    bits = _ZERO
    for v in range(wide.shape[0]):
        for limb in range(wide.shape[1]):
            bits |= wide[v, limb]
    return bits != _ZERO


@inlined
def any_lane(graph, lanes, row, a, b):
    """Whether any lane of queries `a` to `b - 1` holds anything."""
    return _any_long(
        lanes.longs, row, graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    )


# ---- multiples of rows, and what events contribute


@inlined
def add_times(lanes, row, place, source, low, high, factor):
    """Add `factor` times lanes `low` to `high - 1` of a row to those from `place` on of another."""
    _add_times(lanes.longs, lanes, row, place, source, low, high, factor)


@outlined
def _add_times(longs, lanes, row, place, source, low, high, factor):
    if longs.ndim == 2:
        mine, more = longs[row, place : place + high - low], longs[source, low:high]
        limit = np.int64(_ROOM / max(abs(np.float64(factor)), 1.0))
        seen, large = False, np.int64(0)
        for v in range(mine.size):
            seen |= more[v] > limit or more[v] < -limit
            total = mine[v] + more[v] * factor
            large |= total ^ (total >> 63)
            mine[v] = total
        if seen or large > LIMIT:
            for v in range(mine.size):
                wide = abs(np.float64(more[v]) * np.float64(factor)) > _ROOM
                if wide or mine[v] > LIMIT or mine[v] < -LIMIT:
                    mine[v] = 0
                    lanes.over[place + v] = True
    else:
        for v in range(high - low):
            if _add_multiple(longs[row, place + v], longs[source, low + v], factor, lanes.limbs):
                _forget(longs, lanes, row, place + v)


@outlined
def _add_multiple(target, source, factor, scratch):
    """`target += source * factor`: uint64[L] by int64; True if the result needs more limbs."""
    size, carry = source.size, _ZERO
    short = np.uint64(factor) if factor >= 0 else ~np.uint64(factor) + _ONE
    for i in range(size):
        high, low = multiply(source[i], short)
        scratch[i] = low + carry
        carry = high + (_ONE if scratch[i] < low else _ZERO)
    if np.int64(source[size - 1]) < 0:
        carry -= short
    top = np.int64(scratch[size - 1])
    if carry != (_ZERO if top >= 0 else ~_ZERO) or top > LIMIT or top < -LIMIT:
        return True
    if factor < 0:  # two's complement: invert and add one
        carry = _ONE
        for i in range(size):
            scratch[i] = ~scratch[i] + carry
            carry = _ONE if carry == _ONE and scratch[i] == _ZERO else _ZERO
    return add_wide(target, scratch)


@outlined
def _weigh_doubles(longs, lanes, row, place, source, counts, width, weight):
    """Add `weight` times `width` lanes of counts to as many lanes of doubles."""
    doubles, exponents = lanes.doubles, lanes.exponents
    for i in range(width):
        if not counts_any(longs, source, counts + i):
            continue
        if longs.ndim == 2:
            doubles[row, place + i] += weight * longs[source, counts + i]
        else:
            trends, exponent = to_scaled(longs[source, counts + i])
            fraction, shift = normal(weight, 0)
            product, places = normal(fraction * trends, shift + exponent)
            doubles[row, place + i], exponents[row, place + i] = add_scaled(
                doubles[row, place + i], exponents[row, place + i], product, places
            )


@outlined
def _lower_ranks(lanes, row, place, source, counts, width, rank):
    """Lower lanes of ranks to `rank` where trends are counted."""
    for i in range(width):
        if counts_any(lanes.longs, source, counts + i):
            lanes.ranks[row, place + i] = min(lanes.ranks[row, place + i], rank)


@inlined
def add_own(graph, lanes, s, accepts, row, source, weights, at, a, b):
    """Add what events contribute themselves, for each trend that row `source` counts.

    Args:
        graph: a `MergedGraph`.
        lanes: the `Lanes`.
        s: the state.
        accepts: the classes that take the events.
        row: the row to add to.
        source: the row of the trends that end at the events.
        weights: a `Weights`.
        at: the place in it.
        a: the first query.
        b: the query after the last one.
    """
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        own = graph.owns[o]
        q, column = own["query"], own["column"]
        if q < a or q >= b or not takes(accepts, own["class"]):
            continue
        query = graph.queries[q]
        counts, width = query["long_start"], query["width"]
        shift = own["index"] * width
        if own["kind"] == LONG:
            weight = weights.longs[column, at]
            if weight != 0:
                add_times(lanes, row, counts + shift, source, counts, counts + width, weight)
        elif own["kind"] == DOUBLE:
            value, place = weights.doubles[column, at], query["double_start"] + shift
            if value != 0.0:
                _weigh_doubles(lanes.longs, lanes, row, place, source, counts, width, value)
        else:
            rank, place = weights.ranks[column, at], query["rank_start"] + shift
            _lower_ranks(lanes, row, place, source, counts, width, rank)
