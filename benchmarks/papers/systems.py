"""The two-step systems of the papers: they construct all trends, then aggregate them.

Written from what the papers say of them (GRETA section 10.1, Sharon section 8.1, Hamlet section
5.1); each takes queries over the events of a table to rows, and refuses what no figure needs. They
differ in what they construct once, what they keep, and what they construct again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.papers import kernels
from benchmarks.papers.pointers import (
    BUDGET,
    OutOfMemoryError,
    Partitions,
    Stacks,
    make_stacks,
    refuse,
)
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.segments import Segment
from elsinore.results.row import ResultRow
from elsinore.template.template import ALWAYS, Template

# ---- not shared: each query by itself


def sase(queries: Sequence[BoundQuery], events: EventTable) -> list[ResultRow]:
    """SASE: stacks, pointers, and a depth-first search that holds one trend at a time."""
    rows = []
    for query in queries:
        parts = Partitions.of([query], events, "SASE")
        stacks, totals = make_stacks(parts, 0), parts.totals(0)
        kernels.by_depth(stacks, _useful(stacks), *_integers(2, stacks), totals)
        rows += parts.rows(0, totals)
    return rows


def cet(queries: Sequence[BoundQuery], events: EventTable) -> list[ResultRow]:
    """CET: a graph in as few slices as memory allows, the sub-trends of each kept and reused."""
    rows = []
    for query in queries:
        parts = Partitions.of([query], events, "CET")
        stacks, totals = make_stacks(parts, 0), parts.totals(0)
        aggregates = stacks.weights.shape[0]
        room = BUDGET // (8 + 8 * aggregates)
        kept = (*(each[:room] for each in _memory(2)), _sums(aggregates, room))
        work = tuple(_integers(6, stacks)), np.empty(stacks.times.size)
        kernels.by_slices(stacks, _useful(stacks), *work, kept, totals)
        rows += parts.rows(0, totals)
    return rows


def flink(queries: Sequence[BoundQuery], events: EventTable) -> list[ResultRow]:
    """Flink: one query of fixed length for each length up to the longest match, all kept.

    NOT is looked for in the sequences that were constructed (GRETA section 10.2). The pointers are
    worked out once for all lengths of a query, which is to its favour.

    Raises:
        OutOfMemoryError: there are too many sequences.
    """
    rows = []
    kept = _memory(3)
    for query in queries:
        parts = Partitions.of([query], events, "Flink")
        template, stacks = parts.templates[0], make_stacks(parts, 0, late=True)
        totals = parts.totals(0)
        for way in _ways(query, template, stacks):
            if not kernels.by_length(stacks, way, kept, np.empty(way.size, np.int64), totals):
                raise OutOfMemoryError
        rows += parts.rows(0, totals)
    return rows


def _ways(query: BoundQuery, template: Template, stacks: Stacks) -> list[np.ndarray]:
    """The states of all sequences of fixed length that a query is flattened to."""
    before, kleene, after = _around(query, template, "Flink")
    if kleene is None:
        return [np.array(before, np.int64)]
    looping = np.array([state == kleene for state in range(len(template.states))])
    lengths = np.empty(stacks.times.size, np.int64)
    longest = kernels.longest_way(stacks, _useful(stacks), looping, lengths)
    return [np.array([*before, *[kleene] * n, *after], np.int64) for n in range(1, longest + 1)]


def _around(
    query: BoundQuery, template: Template, system: str
) -> tuple[list[int], int | None, list[int]]:
    """The states of a pattern before its one E+, the state of that, and those after it."""
    arrows = {(a.earlier, a.later) for a in template.transitions}
    trend = set(template.trend_states)
    order = [s for s in template.starts if s in trend]
    while len(order) <= len(trend):
        onwards = [b for a, b in sorted(arrows) if a == order[-1] and a != b and b in trend]
        if not onwards:
            break
        order += onwards
    starts = [s for s in template.starts if s in trend]
    ends = [s for s in template.ends if s in trend]
    plain = len(starts) == len(ends) == 1 and sorted(order) == sorted(trend)
    plain &= len(arrows) - len(template.loops) == len(order) - 1 + _within_nots(template)
    refuse(query, system, [] if plain and len(template.loops) < 2 else ["no SEQ with one E+"])
    if not template.loops:
        return order, None, []
    place = order.index(template.loops[0])
    return order[:place], order[place], order[place + 1 :]


def _within_nots(template: Template) -> int:
    trend = set(template.trend_states)
    return sum(not {a.earlier, a.later} <= trend for a in template.transitions)


def _memory(arrays: int) -> tuple[np.ndarray, ...]:
    """Some int32 arrays that fill the budget; they take memory as they are written to."""
    return _reserved(arrays, BUDGET)


@cache
def _reserved(arrays: int, size: int) -> tuple[np.ndarray, ...]:
    return tuple(np.empty(size // 4 // arrays, np.int32) for _ in range(arrays))


@cache
def _sums(aggregates: int, room: int) -> np.ndarray:
    return np.empty((aggregates, room), np.int64)


def _useful(stacks: Stacks) -> np.ndarray:
    useful = np.empty(stacks.times.size, np.bool_)
    kernels.find_useful(stacks, useful)
    return useful


def _integers(rows: int, stacks: Stacks) -> np.ndarray:
    return np.empty((rows, stacks.times.size), np.int64)


# ---- shared: sequences of several queries at once


@dataclass
class _Pieces:
    """Constructed sequences, sorted by partition and first event.

    `bounds` is int64[P + 1]; the others have one element a sequence: times of the first and the
    last event, the last and the first window that may hold it.
    """

    bounds: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    highs: np.ndarray
    lows: np.ndarray


def _construct(stacks: Stacks, way: Sequence[int]) -> _Pieces:
    """All sequences along some states."""
    bounds = np.zeros(stacks.offsets.size, np.int64)
    firsts, lasts = _reserved(2, BUDGET // 5)  # which five columns of eight bytes are made of
    states = np.array(way, np.int64)
    if not kernels.sequences(stacks, states, _memory(3), firsts, lasts, bounds):
        raise OutOfMemoryError
    first, last = firsts[: bounds[-1]], lasts[: bounds[-1]]
    times, spans = stacks.times, stacks.spans
    return _Pieces(bounds, times[first], times[last], spans[first, 1], spans[last, 2])


def _counts_alone(queries: Sequence[BoundQuery], system: str) -> None:
    for query in queries:
        counted = all(aggregate.counts_trends for aggregate in query.aggregates)
        refuse(query, system, [] if counted else ["aggregates beside COUNT(*)"])


def mcep(queries: Sequence[BoundQuery], events: EventTable) -> list[ResultRow]:
    """MCEP: the trends of a Kleene sub-pattern are constructed once for all queries that have it.

    Each is then completed, query by query, with the sequences of events before and after it.
    """
    _counts_alone(queries, "MCEP")
    parts = Partitions.of(queries, events, "MCEP")
    around = [_around(q, t, "MCEP") for q, t in zip(queries, parts.templates, strict=True)]
    groups: dict[object, list[int]] = {}
    for number, (_, kleene, _) in enumerate(around):
        groups.setdefault(_shared_part(parts, number, kleene), []).append(number)
    rows = []
    for numbers in groups.values():
        rows += _complete(parts, numbers, [around[number] for number in numbers])
    return rows


def _shared_part(parts: Partitions, number: int, kleene: int | None) -> object:
    """What queries that share their E+ have in common: its type and all that is asked of it."""
    query, template = parts.queries[number], parts.templates[number]
    refuse(query, "MCEP", [] if kleene is not None else ["no E+"])
    refuse(query, "MCEP", ["NOT"] if template.guards else [])
    asked = {(a.earlier, a.later): a.condition for a in template.transitions}
    loop = asked.pop((kleene, kleene))  # type: ignore[arg-type]
    refuse(query, "MCEP", ["conditions outside of E+"] if {*asked.values()} - {ALWAYS} else [])
    (position,) = template.states[kleene].positions  # type: ignore[index]
    return query.positions[position].type, query.local_conditions(position), loop, query.window


def _complete(
    parts: Partitions,
    numbers: Sequence[int],
    around: Sequence[tuple[list[int], int | None, list[int]]],
) -> list[ResultRow]:
    """The rows of queries that share their E+."""
    kleene = around[0][1]
    assert kleene is not None
    shared = make_stacks(parts, numbers[0], kept=frozenset([kleene]))
    mine = shared.states == kleene
    heads = np.full((len(numbers), shared.times.size, 2), (-1, 0), np.int64)
    tails, known = heads.copy(), [0, 0]
    found: tuple[list[_Pieces], list[_Pieces]] = [], []
    for n, (number, (before, _, after)) in enumerate(zip(numbers, around, strict=True)):
        for side, (way, ranges) in enumerate(((before, heads[n]), (after, tails[n]))):
            if way:
                stacks = make_stacks(parts, number, kept=frozenset(way))
                pieces = _by_end(_construct(stacks, way)) if side == 0 else _construct(stacks, way)
                ranges[:] = _ranges(shared, pieces, parts, before=side == 0) + known[side]
                found[side].append(pieces)
                known[side] += pieces.begins.size
    none = np.empty(0, np.int64)
    highs = np.concatenate([none, *(pieces.highs for pieces in found[0])])
    lows = np.concatenate([none, *(pieces.lows for pieces in found[1])])
    starts = mine & (heads[:, :, 0] < heads[:, :, 1]).any(axis=0)
    ends = mine & (tails[:, :, 0] < tails[:, :, 1]).any(axis=0)
    totals = np.stack([parts.totals(number) for number in numbers], axis=1)
    stacks = shared._replace(starts=starts, ends=ends)
    kernels.by_sub_pattern(
        stacks, _useful(stacks), (heads, tails, highs, lows), *_integers(2, stacks),
        np.empty((2, highs.size + len(numbers)), np.int64), totals,
    )  # fmt: skip
    return [row for n, number in enumerate(numbers) for row in parts.rows(number, totals[:, n])]


def _by_end(pieces: _Pieces) -> _Pieces:
    """Sorted by partition and last event."""
    owners = np.repeat(np.arange(pieces.bounds.size - 1), np.diff(pieces.bounds))
    order = np.lexsort((pieces.ends, owners))
    columns = (pieces.begins, pieces.ends, pieces.highs, pieces.lows)
    return _Pieces(pieces.bounds, *(column[order] for column in columns))


def _ranges(shared: Stacks, pieces: _Pieces, parts: Partitions, *, before: bool) -> np.ndarray:
    """int64[N, 2], the pieces of its partition that end before an entry, or begin after it.

    Those that no window of the entry holds are left out as far as their nearer end tells.
    """
    ranges = np.zeros((shared.times.size, 2), np.int64)
    window = parts.queries[0].window
    for p in range(shared.offsets.size - 1):
        entries = slice(shared.offsets[p], shared.offsets[p + 1])
        low, high = pieces.bounds[p], pieces.bounds[p + 1]
        times, spans = shared.times[entries], shared.spans[entries] + parts.base
        if before:
            ends = pieces.ends[low:high]
            ranges[entries, 0] = low + np.searchsorted(ends, spans[:, 2] * window.slide)
            ranges[entries, 1] = low + np.searchsorted(ends, times)
        else:
            begins = pieces.begins[low:high]
            latest = spans[:, 1] * window.slide + window.within
            ranges[entries, 0] = low + np.searchsorted(begins, times, side="right")
            ranges[entries, 1] = low + np.searchsorted(begins, latest)
    return ranges


def spass(
    queries: Sequence[BoundQuery], events: EventTable, shared: Sequence[Sequence[Segment]]
) -> list[ResultRow]:
    """SPASS: the sequences of shared segments are constructed once, and joined query by query.

    Args:
        queries: of fixed length, partitioned alike, with one window.
        events: in any order.
        shared: the segments of a plan, each with its places in the queries that share it.

    Raises:
        OutOfMemoryError: there are too many sequences of a segment.
    """
    _counts_alone(queries, "SPASS")
    parts, rows = Partitions.of(queries, events, "SPASS"), []
    made: dict[object, _Pieces] = {}
    for number, query in enumerate(queries):
        order, kleene, _ = _around(query, parts.templates[number], "SPASS")
        refuse(
            query, "SPASS", [] if kleene is None and not query.edge_predicates else ["E+, edges"]
        )
        pieces = []
        for name, low, high in _cut(query, shared):
            if name not in made:
                way = order[low:high]
                stacks = make_stacks(parts, number, kept=frozenset(way))
                made[name] = _construct(stacks, way)
            pieces.append(made[name])
        rows += parts.rows(number, _joined(pieces, parts.totals(number)))
        made = {name: each for name, each in made.items() if not isinstance(name, tuple)}
    return rows


def _cut(query: BoundQuery, shared: Sequence[Sequence[Segment]]) -> list[tuple[object, int, int]]:
    """Pieces of a pattern from left to right: a name, which is a number if shared, and a range."""
    mine = sorted(
        (place.start, place.stop, number)
        for number, places in enumerate(shared) for place in places if place.query == query.name
    )  # fmt: skip
    pieces: list[tuple[object, int, int]] = []
    at = 0
    for start, stop, number in mine:
        if at < start:
            pieces.append(((query.name, at), at, start))
        pieces.append((number, start, stop))
        at = stop
    if at < len(query.positions):
        pieces.append(((query.name, at), at, len(query.positions)))
    return pieces


def _joined(pieces: Sequence[_Pieces], totals: np.ndarray) -> np.ndarray:
    sizes = np.cumsum([0, *(piece.begins.size for piece in pieces)])
    bounds = np.array([p.bounds + size for p, size in zip(pieces, sizes[:-1], strict=True)])
    columns = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("begins", "ends", "highs", "lows")
    )
    cursor, stop = np.empty((2, len(pieces)), np.int64)
    kernels.join_pieces(bounds, *columns, cursor, stop, totals)
    return totals
