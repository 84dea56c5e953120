"""Find the participating events of queries without conditions on pairs of events.

Two time bounds per state and window are enough (`kernels.bounds`). Queries whose events are
partitioned alike share the entries, the weights, and the sorted events of each window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elsinore.executors.joined_lists import joined_lists
from elsinore.executors.kinds import Kind
from elsinore.executors.linear.kernels.bounds import (
    Entered,
    Scratch,
    Spots,
    States,
    find_members,
)
from elsinore.executors.linear.sweep import make_runs
from elsinore.executors.output.kernels.members import LISTED
from elsinore.executors.output.participation import Found, Pass, take
from elsinore.template.template import Template
from elsinore.timeline import Interval

#: Number of events for which scratch takes little memory.
_FEW = 100_000


class TimeBounds(Pass):
    """Templates whose states have two time bounds."""

    def found(self, kinds: Sequence[int], owned: Interval | None) -> Iterator[Found]:
        """Yield the windows with a trend; see `Pass.found`."""
        query, entries, weights = self.sought.queries[0], self.entries, self.sought.weights
        window = query.window
        runs = make_runs(entries, window, owned, 1)
        if not runs:
            return
        tables = _Tables(self, kinds)
        longest = max(_longest(entries.times[a:b], window.within) for a, b in runs[0][:, :2])
        members = self.buffer(longest * kinds.count(LISTED))
        scratch = tables.scratch(longest)
        rows, longs = np.arange(entries.times.size), weights.longs
        if entries.rows is not None:  # the kernel reads each integer once: much faster in order
            rows, longs = entries.rows, np.take(longs, entries.rows, axis=1)
        columns, size = (rows, longs, weights.doubles, weights.ranks), window.within
        entered = Entered(entries.times, entries.codes, *columns)
        done = False
        while not done:
            done = find_members(
                tables.states, tables.spots, entered, runs[0], size, window.slide, scratch, members
            )
            yield take(query, members, done=done)


class _Tables:
    """The states of all templates, and the accumulators that count the events of each class.

    Attributes:
        states, spots: the tables of the kernel.
    """

    def __init__(self, found: TimeBounds, kinds: Sequence[int]) -> None:
        self._found, self._kinds = found, kinds
        self._orders = [*map(_by_depth, found.templates)]
        places = [(n, state) for n, order in enumerate(self._orders) for state in order]
        self._number = {place: number for number, place in enumerate(places)}
        entries = found.entries
        size = int(entries.codes.max(initial=-1)) + 1
        #: For each class of events, its states by query.
        self._classes: list[dict[int, list[int]]] = [{} for _ in range(size)]
        for code, admitted in enumerate(entries.classes[:size]):
            for n, state in sorted(admitted):
                self._classes[code].setdefault(n, []).append(state)
        self.states = self._states(places)
        self.spots = self._spots()

    def _states(self, places: Sequence[tuple[int, int]]) -> States:
        templates, number = self._found.templates, self._number
        starts = np.array([s in templates[n].starts for n, s in places], np.bool_)
        ends = np.array([s in templates[n].ends for n, s in places], np.bool_)
        codes: list[list[int]] = [[] for _ in places]
        for code, of_queries in enumerate(self._classes):
            for n, admitting in of_queries.items():
                for state in admitting:
                    codes[number[n, state]].append(code)
        afters: list[list[int]] = [[] for _ in places]
        befores: list[list[int]] = [[] for _ in places]
        for n, template in enumerate(templates):
            for arrow in template.transitions:
                one, other = number[n, arrow.earlier], number[n, arrow.later]
                # An event of a state bounds the state's other events only if it is in a trend.
                if one != other and not starts[other]:
                    afters[one].append(other)
                if one != other and not ends[one]:
                    befores[other].append(one)
        begins = np.cumsum([0, *map(len, self._orders)]).astype(np.int64)
        lists = (*joined_lists(codes), *joined_lists(afters), *joined_lists(befores))
        return States(begins, starts, ends, *lists)

    def _spots(self) -> Spots:
        accumulators, kinds = self._found.sought.accumulators, self._kinds
        spots: list[tuple[int, tuple[int, ...], list[int]]] = []
        sizes, weights = [], [set[int]() for _ in self._classes]
        for n, template in enumerate(self._found.templates):
            before = len(spots)
            own = [k for k, a in enumerate(accumulators) if a.query == n and kinds[k] >= 0]
            for code, of_queries in enumerate(self._classes):
                asked: dict[tuple[int, ...], list[int]] = {}
                for k in own:
                    counts_at = accumulators[k].of.counts_at
                    found = (
                        s for s in of_queries.get(n, ()) if counts_at(template.states[s].positions)
                    )
                    if states := tuple(self._number[n, state] for state in found):
                        asked.setdefault(states, []).append(k)
                        if kinds[k] == Kind.INTEGER and accumulators[k].weight >= 0:
                            weights[code].add(accumulators[k].weight)
                spots += [(code, states, counting) for states, counting in asked.items()]
            sizes.append(len(spots) - before)
        return Spots(
            np.cumsum([0, *sizes]).astype(np.int64),
            np.array([code for code, *_ in spots], np.int64),
            *joined_lists([states for _, states, _ in spots]),
            *joined_lists([counting for *_, counting in spots]),
            self._found.columns_of(kinds),
            np.array([kinds.count(LISTED)]),
            *joined_lists([*map(sorted, weights)]),
        )

    def scratch(self, longest: int) -> Scratch:
        """Return scratch for windows of at most `longest` entries."""
        classes, states = len(self._classes), self.states.starts.size
        columns = self._found.sought.weights.longs.shape[0] if self.spots.weights.size else 0
        begin, end, present = np.zeros((3, classes), np.int64)
        times = np.empty(longest, np.int64)
        rows = np.empty(0 if {*self._kinds} <= {-1, Kind.INTEGER} else longest, np.int64)
        low, high = np.empty((2, states), np.int64)
        totals = np.empty((columns, longest, 2), np.int64)
        return Scratch(begin, end, present, np.zeros(1, np.int64), times, rows, totals, low, high)


def _longest(times: np.ndarray, within: int) -> int:
    """Return a bound on the number of events of a window, given the times of a partition."""
    if times.size < _FEW:
        return times.size
    ends = np.searchsorted(times, times + np.int64(within))
    return int((ends - np.arange(times.size)).max())


def _by_depth(template: Template) -> list[int]:
    """Return the states of a template, in the order of their distance from a start."""
    order = dict.fromkeys(template.starts)
    after: dict[int, list[int]] = {}
    for arrow in template.transitions:
        after.setdefault(arrow.earlier, []).append(arrow.later)
    queue = list(order)
    for state in queue:
        for later in after.get(state, ()):
            if later not in order:
                order[later] = None
                queue.append(later)
    return [*order, *(s for s in range(len(template.states)) if s not in order)]
