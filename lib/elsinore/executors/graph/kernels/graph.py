"""The array layout of a GRETA graph that the propagation kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: A missing floor, firing or time: earlier than every time.
NONE = int(np.iinfo(np.int64).min)


class Lanes(NamedTuple):
    """The counts of several queries in one row: C columns, or F columns in a total.

    Queries whose trends are the same up to a state share the columns there. So the queries of a
    column depend on the state.

    Attributes:
        columns: C.
        finished: F.
        trends: int64[S, C], the column that counts the trends of a column's queries.
        weights: int64[S, C], the row of `Graph.count_weights` that a column adds up; -1 for none.
        start_from: int64[S + 1], the range of each state in `starts`, int64[*]: the columns that
            count trends that start there.
        end_from: int64[S + 1], the range of each state in `ends`, int64[*, 2]: a column of a total,
            and the column that is added to it if trends end there.
        link_from: int64[T + 1], the range of each transition in `links`, int64[*, 2]: a column of
            the later state, and the column of the earlier state that is added to it.
    """

    columns: int
    finished: int
    trends: np.ndarray
    weights: np.ndarray
    start_from: np.ndarray
    starts: np.ndarray
    end_from: np.ndarray
    ends: np.ndarray
    link_from: np.ndarray
    links: np.ndarray


class Graph(NamedTuple):
    """A template over N entries; an entry is an event in one state of one partition.

    The template belongs to one query, or to several queries that are merged and need only a plain
    pass (`upkeep.Upkeep.plain`). A query has a count of trends and K integer accumulators.

    Entries are sorted by partition, then time. There are S states, T transitions, F floors, P
    programs, K integer accumulators, M accumulators of doubles and E extremes. Slots are columns
    that edge predicates read. The number -1 means "none" throughout.

    A **guard** is one NOT: a small graph with its own states over the same entries. At time te it
    *fires* with ts, the latest start of all its matches that end at te. An earlier event p cannot
    come right before a later event e if a guard fires between them with ts > time(p). So NOT, and
    also `contiguous`, is a bound on p that rises with the time of e: a **floor**. p can come before
    e if time(p) >= floor(e).

    Attributes:
        times: int64[N], never `NONE`.
        states: int32[N], the entry's state.
        guard_of: int64[S], the guard of a state; -1 for states of trends, which come first. A
            guard's floors refer only to guards with smaller numbers.
        starts, ends: bool[S], whether events there can start or end a trend (or a guard's match).
        start_floor: int64[S]; a START event starts something only if this floor is `NONE`.
        start_bar: int64[S]; and only if this floor is not `NONE`, which means that a guard fired;
            unused in guards.
        end_floor: int64[S]; an END event ends something only if it reaches this floor at the end of
            the window, after all firings.
        transition_start: int64[S + 1], the range of the transitions into each state.
        transition_from: int64[T], the earlier state.
        transition_program: int64[T], the program that is the whole condition of a pair.
        transition_floor: int64[T], the floor that is the whole condition.
        closes: bool[T]: at each timestamp with an entry in the later state, all earlier events of
            the earlier state close: they cannot be extended any more. Either all transitions from a
            state close, or none. They have no program, and one common floor, if any.
        floor_set_start: int64[F + 1], the range of each floor's sets.
        set_guard_start: int64[* + 1], the range of each set's guards in `set_guards`, int64[*]. A
            floor is the minimum over its sets of the maximum ts over the set's guards, of firings
            strictly before e; `NONE` for an empty set, or no set.
        floor_contiguous: bool[F]: the floor is at least `base`.
        base: int64[N], the time of the partition's last event strictly before, `NONE` if there is
            none; of size 0 if no floor is contiguous.
        open_start: int64[S + 1], the range of the ways out of each state whose events close one by
            one; empty for other states.
        open_slot, open_state, open_program, open_floor: int64[*], for each way out: a closing slot,
            the later state, and the condition as for transitions. For its slot, an event is closed
            after the first timestamp with an entry in that state that fulfills the condition.
        program_start: int64[P + 1]; program: int64[*, 2], see `pair_program`.
        slots_l, slots_d: int64[*, N] and float64[*, N]; known: bool[*, N].
        count_weights: int64[K, N]; sum_weights: float64[M, N].
        ranks: int64[E, N], a smaller rank is more extreme; `no_rank` means no value.
        lanes: the counts of several queries; None for one query.
    """

    times: np.ndarray
    states: np.ndarray
    guard_of: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    start_floor: np.ndarray
    start_bar: np.ndarray
    end_floor: np.ndarray
    transition_start: np.ndarray
    transition_from: np.ndarray
    transition_program: np.ndarray
    transition_floor: np.ndarray
    closes: np.ndarray
    floor_set_start: np.ndarray
    set_guard_start: np.ndarray
    set_guards: np.ndarray
    floor_contiguous: np.ndarray
    base: np.ndarray
    open_start: np.ndarray
    open_slot: np.ndarray
    open_state: np.ndarray
    open_program: np.ndarray
    open_floor: np.ndarray
    program_start: np.ndarray
    program: np.ndarray
    slots_l: np.ndarray
    slots_d: np.ndarray
    known: np.ndarray
    count_weights: np.ndarray
    sum_weights: np.ndarray
    ranks: np.ndarray
    no_rank: int
    lanes: Lanes | None
