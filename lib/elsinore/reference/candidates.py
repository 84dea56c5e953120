"""The events of one window by the positions of the pattern that they may take."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from elsinore.query.bound import BoundQuery
from elsinore.reference.evaluate import holds
from elsinore.reference.event import Event
from elsinore.reference.keys import ABSENT, Keys, KeyValues


class Candidate(NamedTuple):
    """An event that may take a position, and its values of the keys that it carries there."""

    event: Event
    carried: KeyValues


class _Line:
    """Candidates in the order of time."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.times: list[int] = []

    def add(self, candidate: Candidate) -> None:
        self.candidates.append(candidate)
        self.times.append(candidate.event.time)

    def between(self, after: int | None, before: int | None) -> Sequence[Candidate]:
        first = 0 if after is None else bisect_right(self.times, after)
        end = len(self.times) if before is None else bisect_left(self.times, before)
        return self.candidates[first:end]


class Candidates:
    """The events of one window, in the order of time, that pass local predicates and key rules."""

    def __init__(self, query: BoundQuery, keys: Keys, events: Sequence[Event]) -> None:
        self._keys = keys
        self._events = events
        self._times = [event.time for event in events]
        self._positions = query.positions
        self._predicates = query.local_predicates
        self._lines: dict[int, dict[KeyValues | None, _Line]] = {}

    def at(
        self, position: int, values: KeyValues, after: int | None, before: int | None
    ) -> Sequence[Candidate]:
        """Candidates for a position strictly after and before given times (None: no bound).

        Where `values` has a value for every key of the position, only those that carry the same;
        else the caller has to compare.
        """
        lines = self._lines_of(position)
        wanted = tuple(values[number] for number in self._keys.at_position(position))
        line = lines.get(None if ABSENT in wanted else wanted)
        return line.between(after, before) if line is not None else ()

    def every_event_between(self, after: int, before: int) -> Sequence[Event]:
        """All events of the window strictly between two times, whatever their type."""
        return self._events[bisect_right(self._times, after) : bisect_left(self._times, before)]

    def _lines_of(self, position: int) -> dict[KeyValues | None, _Line]:
        """Candidates by their key values, and all of them under None."""
        if position not in self._lines:
            lines: dict[KeyValues | None, _Line] = defaultdict(_Line)
            for candidate in self._admitted(position):
                lines[None].add(candidate)
                lines[candidate.carried].add(candidate)
            self._lines[position] = dict(lines)
        return self._lines[position]

    def _admitted(self, position: int) -> list[Candidate]:
        conditions = [p.condition for p in self._predicates if p.position == position]
        found = []
        for event in self._events:
            if event.type != self._positions[position].type:
                continue
            carried = self._keys.carried(event, position)
            if carried is not None and all(holds(condition, event) for condition in conditions):
                found.append(Candidate(event, carried))
        return found
