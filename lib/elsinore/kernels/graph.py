"""The array layout of a GRETA graph that the propagation kernels read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: A floor, firing or time that does not exist: earlier than every time.
NONE = int(np.iinfo(np.int64).min)


class Lanes(NamedTuple):
    """The counts of several queries side by side in a row: C columns, and in a total F.

    Queries whose trends are the same up to a state have the same columns there; so which of them a
    column counts for depends on the state.

    Attributes:
        columns: C.
        finished: F.
        trends: int64[S, C], the column that counts the trends of a column's queries.
        weights: int64[S, C], the row of `Graph.count_weights` that a column adds up; -1 for none.
        start_from: int64[S + 1], where each state's begin in `starts`, int64[*]: the counts of
            trends that may start there.
        end_from: int64[S + 1], where each state's begin in `ends`, int64[*, 2]: a column of a
            total, and the column that is added to it where trends end there.
        link_from: int64[T + 1], where each transition's begin in `links`, int64[*, 2]: a column of
            the later state, and the column of the earlier one that is added to it.
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
    """A template over N entries; an entry is an event at one state of one partition.

    It is that of one query, or the merged one of several, which needs a plain pass only
    (`upkeep.Upkeep.plain`). A query has a count of trends and K integer carriers.

    Entries are sorted by partition, then time. S states, T transitions, F floors, P programs, K
    integer carriers, M carriers of doubles, E extremes; slots are columns read by edge predicates.
    A number of -1 stands for "none" throughout.

    A **guard** is one NOT: a little graph of its own, over states of its own among the same
    entries. At time te it *fires* with ts, the latest start of all its matches that end at te. It
    parts an earlier event p from a later event e if it fires between them with ts > time(p). So
    what NOT asks for, and likewise `contiguous`, is a bound on p that rises with e's time: a
    **floor**. p may come before e if time(p) >= floor(e).

    Attributes:
        times: int64[N], none of them `NONE`.
        states: int32[N], the entry's state.
        guard_of: int64[S], the guard to which a state belongs, -1 for states of trends, which come
            first. A guard's floors refer only to guards of smaller numbers.
        starts, ends: bool[S], whether events there may start or end a trend (or guard's match).
        start_floor: int64[S]; a START event starts something only where this floor is `NONE`.
        start_bar: int64[S]; and only where this floor is not `NONE`, but was raised by something;
            not in guards.
        end_floor: int64[S]; an END event ends something only if it reaches this floor as it is at
            the window's end, all firings counted.
        transition_start: int64[S + 1], where the transitions into each state begin.
        transition_from: int64[T], the earlier state.
        transition_program: int64[T], number of the program that is the whole condition of a pair.
        transition_floor: int64[T], the floor that is the whole condition.
        closes: bool[T]: every instant with an entry at the later state makes all earlier events
            of the earlier state unable to go on. So do all transitions from a state, or none: they
            have no program, and one floor in common, if any.
        floor_set_start: int64[F + 1], where each floor's sets begin.
        set_guard_start: int64[* + 1], where each set's guards begin in `set_guards`, int64[*]. A
            floor is the lowest over its sets of the highest ts over the set's guards, of the
            firings strictly before e; `NONE` for an empty set, or no set.
        floor_contiguous: bool[F]: the floor is at least `base`.
        base: int64[N], time of the partition's last event strictly before, `NONE` if there is
            none; of size 0 if no floor is contiguous.
        open_start: int64[S + 1], where the ways out of each state begin whose events close one by
            one; empty for other states.
        open_slot, open_state, open_program, open_floor: int64[*], for each way out: a slot, the
            later state, and the way's condition as for transitions. For its slot an event is closed
            after the first instant with an entry at that state for which the condition is true.
        program_start: int64[P + 1]; program: int64[*, 2], see `pair_program`.
        slots_l, slots_d: int64[*, N] and float64[*, N]; known: bool[*, N].
        count_weights: int64[K, N]; sum_weights: float64[M, N].
        ranks: int64[E, N], smaller is more extreme; `no_rank` where there is no value.
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
