"""Find the participating events of a template without conditions on pairs of events.

Two time bounds per state and window are enough, so events are read once per window
(`kernels.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elsinore.executors.linear.kernels.bounds import Cells, Entered, Scratch, find_members
from elsinore.executors.linear.sweep import make_runs
from elsinore.executors.output.participation import Found, Pass, joined_lists, take
from elsinore.timeline import Interval


class TimeBounds(Pass):
    """A template whose states have two time bounds."""

    def found(self, kinds: Sequence[int], owned: Interval | None) -> Iterator[Found]:
        """Yield the windows with a trend; see `Pass.found`."""
        window, entries, weights = self.query.window, self.entries, self.sought.weights
        runs = make_runs(entries, window, owned, 1)
        if not runs:
            return
        cells, asked = self._cells(), self.asked(kinds)
        longest = int((runs[0][:, 1] - runs[0][:, 0]).max())
        members = self.buffer(longest * int(asked.listed[0]))
        size = len(self.template.states)
        scratch = Scratch(
            np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(len(kinds), np.int64)
        )
        rows = np.arange(entries.times.size) if entries.rows is None else entries.rows
        columns = (weights.longs, weights.doubles, weights.ranks)
        entered = Entered(entries.times, entries.codes, rows, *columns)
        done = False
        while not done:
            done = find_members(
                cells, asked, entered, runs[0], window.within, window.slide, scratch, members
            )
            yield take(self.query, members, done=done)

    def _cells(self) -> Cells:
        template, size = self.template, len(self.template.states)
        starts, ends = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        starts[[*template.starts]] = True
        ends[[*template.ends]] = True
        after: list[list[int]] = [[] for _ in range(size)]
        before: list[list[int]] = [[] for _ in range(size)]
        for arrow in template.transitions:
            after[arrow.earlier].append(arrow.later)
            before[arrow.later].append(arrow.earlier)
        classes = [sorted(state for _, state in places) for places in self.entries.classes]
        most = int(self.entries.codes.max(initial=-1)) + 1
        classes += [[]] * (most - len(classes))
        lists = (*joined_lists(after), *joined_lists(before), *joined_lists(classes))
        return Cells(starts, ends, *lists)
