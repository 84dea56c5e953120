"""Find the trends of a query with a span in one period.

The time from the first to the last event of a trend is at most the span. Its NOT look among the
events from one span before its last event to one span after its first event, both ends included.
So these events are searched for each pair of a first and a last time. Without NOT, only the events
of a trend and between them matter, and the last event can have any time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Pattern
from elsinore.reference.budget import Meter
from elsinore.reference.event import Event
from elsinore.reference.keys import Keys
from elsinore.reference.match import Ends, Match, Matcher
from elsinore.timeline import Interval
from elsinore.windows import Span


class SpanMatcher(Matcher):
    """Finds the matches of a query's pattern whose last, or first, event is in a period."""

    def __init__(
        self, query: BoundQuery, keys: Keys, events: Sequence[Event], meter: Meter, period: Interval
    ) -> None:
        super().__init__(query, keys, events, meter)
        assert query.window.span is not None
        self._span: Span = query.window.span
        self._events = events
        self._times = [event.time for event in events]
        self._period = period

    def trends(self, pattern: Pattern) -> Iterator[Match]:
        """Yield all matches of a pattern that are trends; see `Matcher.trends`."""
        for part in self.parts():
            yield from part.trends(pattern)

    def parts(self) -> Iterator[Matcher]:
        """Yield a matcher for each possible time of the first event, and of the last if needed."""
        negates = any(position.negated for position in self.query.positions)
        length = self._span.length
        for ends in self._ends_of_trends():
            if not negates:
                yield self._matcher(ends, ends.first, ends.most)
                continue
            for last in self._distinct(ends.least, ends.most):
                exact = Ends(ends.first, last, last)
                yield self._matcher(exact, last - length, ends.first + length)

    def _ends_of_trends(self) -> Iterator[Ends]:
        """Yield the times of first events, with the times of last events within the span."""
        length, period = self._span.length, self._period
        if self._span.by_first:
            for first in self._distinct(period.start, period.end - 1):
                yield Ends(first, first, first + length)
            return
        for first in self._distinct(period.start - length, period.end - 1):
            yield Ends(first, max(first, period.start), min(first + length, period.end - 1))

    def _distinct(self, least: int, most: int) -> list[int]:
        """Return the times of events from `least` to `most`, both included."""
        begin, end = bisect_left(self._times, least), bisect_right(self._times, most)
        return sorted(set(self._times[begin:end]))

    def _matcher(self, ends: Ends, least: int, most: int) -> Matcher:
        begin, end = bisect_left(self._times, least), bisect_right(self._times, most)
        self.meter.spend()
        return Matcher(self.query, self.keys, self._events[begin:end], self.meter, ends)
