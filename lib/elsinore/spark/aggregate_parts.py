"""Cuts a time slice into parts that tasks read by themselves, or says that Spark should shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from elsinore.spark.event_files import EventFile
from elsinore.timeline import Interval

#: What it costs to read a byte of the table, shuffle it by key and hand it to a Python worker, in
#: bytes that a task reads straight into Arrow and sorts. Measured with a million events and 20
#: queries in CPU seconds of all processes: 6.1 against 1.8, of which the executor takes 1.4 either
#: way, so 4.7 against 0.4; taken lower, since a part of the 4.7 is each job's whatever it moves.
SHUFFLED_BYTE = 8.0


@dataclass(frozen=True, slots=True)
class Part:
    """What one task computes, and from what.

    Attributes:
        owned: the windows that end here.
        reached: what they can hold.
        files: where that is.
    """

    owned: Interval
    reached: Interval
    files: tuple[EventFile, ...]

    @property
    def size(self) -> int:
        """Bytes that the task reads."""
        return sum(file.size for file in self.files)


def cut_into_parts(
    files: Sequence[EventFile], owned: Interval, reach: int, *, most: int, cores: int
) -> tuple[Part, ...]:
    """The parts of a slice that should be done first, in the order of time.

    More parts keep more cores busy, but each reads again what its windows can hold of the time
    before it; taken is the number for which the busiest core reads least, the smallest of those.

    Args:
        files: what holds the events of the slice and of `reach` before it.
        owned: the slice.
        reach: the longest WITHIN of the queries.
        most: parts, at most.
        cores: how many parts are worked on at a time.
    """
    numbers = range(1, min(most, owned.length) + 1)
    choices = [_cut(files, owned, reach, number) for number in numbers]
    return min(choices, key=lambda parts: (busiest(parts, cores), len(parts)))


def busiest(parts: Sequence[Part], cores: int) -> float:
    """Bytes that the busiest core reads, at least."""
    sizes = [part.size for part in parts]
    return max(*sizes, sum(sizes) / cores)


def reads_directly(parts: Sequence[Part], size: int, shuffles: int, cores: int) -> bool:
    """Whether tasks should read the files of their parts, rather than Spark shuffle the events.

    Args:
        parts: the parts.
        size: bytes of all files of the slice, each once.
        shuffles: how many times Spark would read and shuffle them.
        cores: how many tasks run at a time.
    """
    return busiest(parts, cores) <= SHUFFLED_BYTE * shuffles * size / cores


def _cut(files: Sequence[EventFile], owned: Interval, reach: int, number: int) -> tuple[Part, ...]:
    borders = _borders(files, owned, number)
    parts = []
    for start, end in pairwise(borders):
        reached = Interval(start - reach + 1, end)
        inside = (f for f in files if f.first < reached.end and f.last >= reached.start)
        parts.append(Part(Interval(start, end), reached, tuple(inside)))
    return tuple(parts)


def _borders(files: Sequence[EventFile], owned: Interval, number: int) -> list[int]:
    """Instants between which about as many bytes lie, as if files were even inside."""
    ends = sorted({f.first for f in files} | {f.last + 1 for f in files})
    marks = [owned.start, *(e for e in ends if owned.start < e < owned.end), owned.end]
    before = [sum(_share(file, mark) for file in files) for mark in marks]
    # Time counts a little too, so that stretches without files are cut as well.
    weights = np.array(before) + np.arange(len(marks)) * 1e-9
    goals = np.linspace(weights[0], weights[-1], number + 1)[1:-1]
    offsets = np.interp(goals, weights, [mark - owned.start for mark in marks])
    inner = {owned.start + round(offset) for offset in offsets.tolist()} - {owned.start, owned.end}
    return [owned.start, *sorted(inner), owned.end]


def _share(file: EventFile, instant: int) -> float:
    """Bytes of a file before an instant."""
    length = file.last + 1 - file.first
    return file.size * min(max((instant - file.first) / length, 0.0), 1.0)
