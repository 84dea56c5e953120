"""A sliding or tumbling window clause, a span with its periods, or sessions, as integers.

Windows are `[k*slide, k*slide + within)` for all integers k, which may be negative, plus an offset.
The **position** of a time is the time minus the offset, so that windows begin at the positions
`k*slide`. Windows of a calendar have different lengths; a clock gives their times positions between
which windows are equally long (`calendar_clock`). A trend belongs to each window that holds all of
its events.

With a span, windows are periods that tumble. A trend belongs to the period that contains its last
or first event, so the rows of a period also depend on events around it.

With sessions, positions are not times: each session is the only window that contains its events
(`executors.input.sessions`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import gcd

import numpy as np

from elsinore.calendar_clock import CalendarClock
from elsinore.errors import ParameterError
from elsinore.timeline import DAY, HOUR, Interval

#: The longest WITHIN and SLIDE in ticks: for any time of `timeline.TICKS`, the borders of its
#: windows, and of the windows before and after them, fit 64 bits.
LONGEST = 2**61 - 1

#: The longest in microseconds: windows of plausible times stay in the years 1 to 9999.
LONGEST_CALENDAR = 365_000 * DAY

#: Maximum number of windows with one event, WITHIN divided by SLIDE. An event costs work and memory
#: in each of its windows; `WITHIN 1 day SLIDE 10 seconds` has 8,640.
MOST_OVERLAPPING = 10_000


@dataclass(frozen=True, slots=True)
class Span:
    """The part of `SPAN length PER period BY FIRST | BY LAST` that limits trends.

    Attributes:
        length: the longest time from the first to the last event of a trend, in microseconds (or
            ticks). It is at least 1; both ends are included.
        by_first: whether the first event decides on the period of a trend, not the last one.
        looks_ahead: whether a NOT, or a NOT inside of one, looks at events after the last event.
    """

    length: int
    by_first: bool = False
    looks_ahead: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """`SESSION gap UP TO up_to BY keys` over the events of some types.

    Attributes:
        gap: the longest time between two consecutive events of a session, in microseconds (or
            ticks). It is at least 1; exactly the gap belongs together.
        up_to: the longest time from the first to the last event of a session, at least the gap;
            None: no limit.
        keys: the attributes that the events of a session share; at least one.
        types: the event types of the pattern, also those under NOT.
    """

    gap: int
    up_to: int | None
    keys: tuple[str, ...]
    types: frozenset[str]

    @property
    def estimate(self) -> int:
        """Return a length by which costs are predicted: ten gaps, or UP TO."""
        return min(10 * self.gap, self.up_to or 10 * self.gap)


#: The positions of a window that is a session: more than a table has events.
SESSION_POSITIONS = 2**31


@dataclass(frozen=True, slots=True)
class Window:
    """`WITHIN within SLIDE slide OFFSET offset`, in microseconds (or ticks).

    With `slide == within`, windows tumble. With a `span`, `within` is the length of the periods,
    which tumble. The offset is at least 0 and less than `slide`.

    With a `clock`, `within` and `slide` are lengths of positions, multiples of its length, and
    `longest` is a length of time. The clock has the offset. With a `session`, `within` and `slide`
    are `SESSION_POSITIONS`.
    """

    within: int
    slide: int
    span: Span | None = None
    offset: int = 0
    clock: CalendarClock | None = None
    session: Session | None = None

    def __post_init__(self) -> None:
        if self.within <= 0 or self.slide <= 0:
            raise ParameterError("WITHIN and SLIDE must be positive", hint="write 1 or more")
        if not 0 <= self.offset < self.slide:
            raise ParameterError("OFFSET is not less than SLIDE", hint="write 0 or more")

    @classmethod
    def of_session(cls, session: Session) -> Window:
        """Return the windows of sessions."""
        return cls(SESSION_POSITIONS, SESSION_POSITIONS, session=session)

    def number_at(self, instant: int) -> int:
        """Return the number of the last window that begins at or before a timestamp.

        >>> Window(10, 10, offset=3).number_at(12), Window(10, 10, offset=3).number_at(13)
        (0, 1)
        """
        return self._position(instant) // self.slide

    def numbers_at(self, instants: np.ndarray) -> np.ndarray:
        """Return `number_at` of each timestamp, as int64[N]."""
        clock = self.clock
        positions = instants - self.offset if clock is None else clock.positions(instants)
        return positions // self.slide

    @property
    def axis(self) -> int | CalendarClock | Session:
        """Return what decides on the positions of events: a clock, an offset, or sessions.

        The times of a query with a span are its positions, because a span has a fixed length.
        """
        if self.session is not None:
            return self.session
        return self.offset if self.clock is None else 0 if self.span else self.clock

    @property
    def keeps_lengths(self) -> bool:
        """Return whether differences of positions in a window are differences of times."""
        if self.session is not None:
            return False
        return self.clock is None or self.within == self.clock.length or self.span is not None

    def positions(self, instants: np.ndarray) -> np.ndarray:
        """Return the position of each timestamp, as int64[N]; not for sessions.

        >>> Window(10, 10, offset=3).positions(np.array([3, 12]))
        array([0, 9])
        """
        axis = self.axis
        if isinstance(axis, CalendarClock):
            return axis.positions(instants)
        assert not isinstance(axis, Session), "positions of sessions depend on all events"
        return instants - axis if axis else instants

    def start(self, number: int) -> int:
        """Return the timestamp at which a window begins."""
        clock = self.clock
        if clock is not None:
            return clock.start(number * (self.slide // clock.length))
        return number * self.slide + self.offset

    def end(self, number: int) -> int:
        """Return the timestamp at which a window ends; its start for a day that does not exist."""
        clock = self.clock
        if clock is not None:
            return clock.start((number * self.slide + self.within) // clock.length)
        return number * self.slide + self.offset + self.within

    def exists(self, number: int) -> bool:
        """Return whether no later window begins at the same time, because a day was skipped."""
        return self.clock is None or self.start(number) < self.start(number + 1)

    @property
    def may_skip(self) -> bool:
        """Return whether there are windows that do not exist and can have a time."""
        clock = self.clock
        return clock is not None and self.slide == clock.length < self.within and clock.may_skip

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Return `start` of each number, as int64[N]."""
        clock = self.clock
        if clock is not None:
            return clock.starts(numbers * (self.slide // clock.length))
        return numbers * self.slide + self.offset

    def ends(self, numbers: np.ndarray) -> np.ndarray:
        """Return `end` of each number, as int64[N]."""
        clock = self.clock
        if clock is not None:
            step, parts = self.slide // clock.length, self.within // clock.length
            return clock.starts(numbers * step + parts)
        return self.starts(numbers) + self.within

    @property
    def longest(self) -> int:
        """Return the length of the longest window in microseconds (or ticks).

        For sessions, it is an estimate by which costs are predicted.
        """
        if self.session is not None:
            return self.session.estimate
        clock = self.clock
        return self.within if clock is None else clock.longest(self.within // clock.length)

    def _position(self, instant: int) -> int:
        return instant - self.offset if self.clock is None else self.clock.position(instant)

    def _complete(self, instant: int) -> int:
        """Return the number of the last window that is complete at a timestamp.

        A window is complete at its end, or later if its rows depend on later events.
        """
        return (self._position(instant - self.ahead) - self.within) // self.slide

    @property
    def back(self) -> int:
        """Return how long before a window the events are on which its rows depend."""
        return self.span.length if self.span else 0

    @property
    def ahead(self) -> int:
        """Return how long after a window the events are on which its rows depend."""
        span = self.span
        return span.length if span and (span.by_first or span.looks_ahead) else 0

    @property
    def length(self) -> int:
        """Return the length of the time range on whose events the rows of a window depend.

        For sessions, it is an estimate.
        """
        return self.back + self.longest + self.ahead

    def extent(self, index: int) -> Interval:
        """Return the time range on whose events the rows of a window depend.

        >>> Window(10, 10, Span(3, by_first=True)).extent(1)
        Interval(start=7, end=23)
        """
        bounds = self.bounds(index)
        return Interval(bounds.start - self.back, bounds.end + self.ahead)

    def bounds(self, index: int) -> Interval:
        """Return the time range of a window, which is not empty (see `end`).

        >>> Window(10, 3).bounds(-1)
        Interval(start=-3, end=7)
        """
        return Interval(self.start(index), self.end(index))

    def indices(self, instant: int) -> range:
        """Return the numbers of the windows with a timestamp; empty in a gap (`slide > within`).

        With a span, these are the periods whose rows may depend on an event at this time.

        >>> [Window(10, 3).bounds(k).start for k in Window(10, 3).indices(4)]
        [-3, 0, 3]
        >>> list(Window(10, 10, offset=5).indices(4)), list(Window(10, 10, offset=5).indices(5))
        ([-1], [0])
        >>> [Window(10, 10, Span(3)).bounds(k).start for k in Window(10, 10, Span(3)).indices(8)]
        [0, 10]
        """
        return range(self._complete(instant) + 1, self.number_at(instant + self.back) + 1)

    @property
    def overlapping(self) -> int:
        """The maximum number of windows that contain the same time.

        >>> Window(10, 3).overlapping, Window(10, 10).overlapping
        (4, 1)
        """
        return -(-self.within // self.slide)

    @property
    def hours_back(self) -> int:
        """The maximum number of hours before its own that the windows of an hour reach.

        Windows start at multiples of SLIDE, plus OFFSET. So the distances of their ends from the
        starts of hours are equal, up to multiples of the greatest common divisor of SLIDE and an
        hour.

        >>> Window(HOUR, HOUR).hours_back, Window(2 * HOUR, HOUR).hours_back
        (0, 1)
        >>> Window(HOUR, HOUR, Span(HOUR)).hours_back
        1
        >>> Window(HOUR, HOUR, offset=HOUR // 2).hours_back
        1
        """
        if self.clock is not None:  # they may end in any minute
            return -(-(self.length - 1) // HOUR)
        earliest = (self.offset + self.within + self.ahead - 1) % gcd(self.slide, HOUR)
        return -(-(self.length - 1 - earliest) // HOUR)

    def pane(self) -> int:
        """Return the length of a pane: the gcd of WITHIN and SLIDE (Hamlet, section 3).

        With a clock, this is a length of positions. For sessions, it is an estimated length.
        """
        return gcd(self.within, self.slide) if self.session is None else self.session.estimate

    def ending_in(self, interval: Interval) -> range:
        """Return the numbers of the windows that a run over `interval` computes.

        A window ends in the interval if its last timestamp is in it, that is, if
        `interval.start < end <= interval.end`: a window that ends on the hour belongs to the hour
        before, whose data complete it. A period whose rows depend on later events ends with them.

        >>> list(Window(2, 1).ending_in(Interval(0, 3)))
        [-1, 0, 1]
        >>> list(Window(2, 2, Span(1, by_first=True)).ending_in(Interval(0, 3)))
        [-1, 0]
        """
        return range(self._complete(interval.start) + 1, self._complete(interval.end) + 1)

    def open_ends(self, instant: int, until: int, closed: Container[int]) -> tuple[int, int] | None:
        """Return the first and the last end of the open windows that contain a time.

        A window is open if it ends after `until` and its hour is not in `closed`.

        Args:
            instant: an event time.
            until: a whole hour.
            closed: first instants of hours whose windows are computed.

        Returns:
            Both ends, see `ending_in`; None if no window is open.

        >>> Window(2 * HOUR, HOUR).open_ends(3 * HOUR, 4 * HOUR, {4 * HOUR})
        >>> Window(3 * HOUR, HOUR).open_ends(3 * HOUR, 4 * HOUR, {4 * HOUR})
        (21600000000, 21600000000)
        """
        numbers = self.indices(instant)
        first = max(numbers.start, self._complete(until) + 1)
        last = numbers.stop - 1
        while first <= last and (hour := owning_hour(self.completed(first))) in closed:
            first = self._complete(hour + HOUR) + 1
        while first <= last and (hour := owning_hour(self.completed(last))) in closed:
            last = self._complete(hour)
        return (self.completed(first), self.completed(last)) if first <= last else None

    def completed(self, number: int) -> int:
        """Return the timestamp from which on no event changes the rows of a window."""
        return self.end(number) + self.ahead

    def owned(self, interval: Interval | None) -> tuple[int, int]:
        """Return the first and the last number of `ending_in`; for None, of all windows.

        The numbers of sessions do not depend on time, so these are all sessions.
        """
        if interval is None or self.session is not None:
            return -(2**63), 2**63 - 1
        numbers = self.ending_in(interval)
        return numbers.start, numbers.stop - 1

    def reach(self, interval: Interval) -> Interval:
        """Return the time range of the windows that end in an interval, and of the interval.

        >>> Window(10, 10).reach(Interval(20, 30)), Window(10, 10).reach(Interval(25, 30))
        (Interval(start=20, end=30), Interval(start=20, end=30))
        >>> Window(10, 10).reach(Interval(21, 29))  # in which none ends
        Interval(start=21, end=29)
        """
        starts = (self.start(number) - self.back for number in self.ending_in(interval)[:1])
        return Interval(min([interval.start, *starts]), interval.end)


@dataclass(frozen=True, slots=True)
class OrderedWindow(Window):
    """A window over positions that also order events with equal times.

    The position of an event is its position in the `plain` window in ticks, times `copies`, plus
    the rank of the event among those with its time. A rank is less than half of `copies`, so two
    events are within a span if and only if their positions are within the span and half a copy.
    Windows have the numbers and time ranges of the plain window.

    Attributes:
        plain: the window as bound.
        tick: the length of a tick, which divides all positions and lengths.
        copies: an even number.
    """

    plain: Window = field(kw_only=True)
    tick: int = field(kw_only=True)
    copies: int = field(kw_only=True)

    @classmethod
    def of(cls, plain: Window, tick: int, copies: int) -> OrderedWindow:
        """Return the window over ordered positions."""
        span = plain.span
        if span is not None:
            span = replace(span, length=span.length // tick * copies + copies // 2)
        within, slide = (length // tick * copies for length in (plain.within, plain.slide))
        clock = plain.clock
        return cls(within, slide, span, clock=clock, plain=plain, tick=tick, copies=copies)

    def ordered(self, positions: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """Return the positions of events by their positions in the plain window, as int64[N]."""
        return positions // self.tick * self.copies + ranks

    def unordered(self, positions: np.ndarray) -> np.ndarray:
        """Return the positions in the plain window, as int64[N]."""
        return positions // self.copies * self.tick

    def firsts(self, positions: np.ndarray) -> np.ndarray:
        """Return the lowest positions of events at or after positions in the plain window."""
        return -(-positions // self.tick) * self.copies

    @property
    def axis(self) -> int | CalendarClock | Session:
        """See `Window.axis`."""
        return self.plain.axis

    @property
    def keeps_lengths(self) -> bool:
        """See `Window.keeps_lengths`."""
        return False

    @property
    def may_skip(self) -> bool:
        """See `Window.may_skip`."""
        return self.plain.may_skip

    def number_at(self, instant: int) -> int:
        """See `Window.number_at`."""
        return self.plain.number_at(instant)

    def numbers_at(self, instants: np.ndarray) -> np.ndarray:
        """See `Window.numbers_at`."""
        return self.plain.numbers_at(instants)

    def start(self, number: int) -> int:
        """See `Window.start`."""
        return self.plain.start(number)

    def end(self, number: int) -> int:
        """See `Window.end`."""
        return self.plain.end(number)

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """See `Window.starts`."""
        return self.plain.starts(numbers)

    def ends(self, numbers: np.ndarray) -> np.ndarray:
        """See `Window.ends`."""
        return self.plain.ends(numbers)

    @property
    def longest(self) -> int:
        """See `Window.longest`."""
        return self.plain.longest

    @property
    def back(self) -> int:
        """See `Window.back`."""
        return self.plain.back

    @property
    def ahead(self) -> int:
        """See `Window.ahead`."""
        return self.plain.ahead

    def indices(self, instant: int) -> range:
        """See `Window.indices`."""
        return self.plain.indices(instant)

    def ending_in(self, interval: Interval) -> range:
        """See `Window.ending_in`."""
        return self.plain.ending_in(interval)


def joint_reach(windows: Iterable[Window], interval: Interval) -> Interval:
    """Return the common reach of windows, see `Window.reach`."""
    return Interval(min(window.reach(interval).start for window in windows), interval.end)


def owning_hour(end: int) -> int:
    """Return the hour whose run computes the windows that end at `end`.

    >>> owning_hour(HOUR), owning_hour(HOUR + 1) == HOUR
    (0, True)
    """
    return (end - 1) // HOUR * HOUR


def replay_ranges(
    windows: Iterable[Window], events: Mapping[int, int], *, gap: int, most: int
) -> tuple[Interval, ...]:
    """Return the hours to replay so that every window of some events is computed.

    The hours of an event begin with its own, in which it lands, and end with the hour that owns
    the last window that contains it. Hours that are at most `gap` apart share a range. If more than
    `most` ranges remain, ranges with the shortest gaps between them are joined.

    Args:
        windows: of the queries.
        events: by hour (its first instant), the last event time in it.
        gap: microseconds.
        most: ranges, at least 1.

    >>> [str(hours)[1:14] for hours in replay_ranges([], {0: 1, 5 * HOUR: 5 * HOUR}, gap=0, most=2)]
    ['1970-01-01T00', '1970-01-01T05']
    """
    every, found = set(windows), list[Interval]()
    for hour, last in sorted(events.items()):
        ends = (window.completed(window.number_at(last + window.back)) for window in every)
        end = max([hour, *map(owning_hour, ends)]) + HOUR
        if found and hour - found[-1].end <= gap:
            found[-1] = Interval(found[-1].start, max(found[-1].end, end))
        else:
            found.append(Interval(hour, end))
    return _joined(found, most)


def _joined(ranges: list[Interval], most: int) -> tuple[Interval, ...]:
    """Return at most `most` ranges, by joining across the shortest gaps."""
    gaps = range(1, len(ranges))
    kept = sorted(gaps, key=lambda n: ranges[n - 1].end - ranges[n].start)[: most - 1]
    cuts = [0, *sorted(kept), len(ranges)] if ranges else []
    return tuple(
        Interval(ranges[first].start, ranges[end - 1].end) for first, end in pairwise(cuts)
    )
