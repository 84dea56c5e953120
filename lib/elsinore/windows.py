"""A sliding or tumbling window clause as arithmetic on integers.

Windows are `[k*slide, k*slide + within)` for all integers k, aligned to the epoch; k may be
negative. A trend belongs to each window that holds all of its events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from elsinore.errors import ParameterError
from elsinore.timeline import DAY, Interval

#: The longest WITHIN and SLIDE in ticks: beside any time of `timeline.TICKS`, the borders of its
#: windows and of those right before and after them stay within 64 bits.
LONGEST = 2**61 - 1

#: The longest in microseconds: the windows of plausible times lie in the years that can be written.
LONGEST_CALENDAR = 365_000 * DAY

#: Windows that may hold one event, WITHIN divided by SLIDE. An event costs work and memory in each
#: of its windows; `WITHIN 1 day SLIDE 10 seconds` has 8,640.
MOST_OVERLAPPING = 10_000


@dataclass(frozen=True, slots=True)
class Window:
    """`WITHIN within SLIDE slide`, both in microseconds (or ticks); `slide == within` tumbles."""

    within: int
    slide: int

    def __post_init__(self) -> None:
        if self.within <= 0 or self.slide <= 0:
            raise ParameterError("WITHIN and SLIDE must be positive")

    def bounds(self, index: int) -> Interval:
        """The window number `index`.

        >>> Window(10, 3).bounds(-1)
        Interval(start=-3, end=7)
        """
        start = index * self.slide
        return Interval(start, start + self.within)

    def indices(self, instant: int) -> range:
        """Numbers of the windows that hold an instant; empty in a gap (`slide > within`).

        >>> [Window(10, 3).bounds(k).start for k in Window(10, 3).indices(4)]
        [-3, 0, 3]
        """
        first = (instant - self.within) // self.slide + 1
        return range(first, instant // self.slide + 1)

    @property
    def overlapping(self) -> int:
        """The largest number of windows that one instant lies in.

        >>> Window(10, 3).overlapping, Window(10, 10).overlapping
        (4, 1)
        """
        return -(-self.within // self.slide)

    def pane(self) -> int:
        """Length of a pane: the greatest common divisor of WITHIN and SLIDE (Hamlet, section 3)."""
        return gcd(self.within, self.slide)

    def ending_in(self, interval: Interval) -> range:
        """Numbers of the windows that a run over `interval` owns.

        A window ends in the interval when its last instant lies there, that is, when
        `interval.start < end <= interval.end`: a window that ends on the hour belongs to the hour
        before, whose data complete it.

        >>> list(Window(2, 1).ending_in(Interval(0, 3)))
        [-1, 0, 1]
        """
        first = (interval.start - self.within) // self.slide + 1
        last = (interval.end - self.within) // self.slide
        return range(first, last + 1)

    def owned(self, interval: Interval | None) -> tuple[int, int]:
        """The first and the last of `ending_in`; of None, those of 64 bits: every window."""
        if interval is None:
            return -(2**63), 2**63 - 1
        numbers = self.ending_in(interval)
        return numbers.start, numbers.stop - 1

    def reach(self, interval: Interval) -> Interval:
        """The interval, and before it what the windows that end in it can hold.

        >>> Window(10, 10).reach(Interval(20, 30)), Window(10, 10).reach(Interval(25, 30))
        (Interval(start=20, end=30), Interval(start=20, end=30))
        >>> Window(10, 10).reach(Interval(21, 29))  # in which none ends
        Interval(start=21, end=29)
        """
        starts = (self.bounds(number).start for number in self.ending_in(interval)[:1])
        return Interval(min([interval.start, *starts]), interval.end)


def joint_reach(windows: Iterable[Window], interval: Interval) -> Interval:
    """What some windows reach together, see `Window.reach`."""
    return Interval(min(window.reach(interval).start for window in windows), interval.end)
