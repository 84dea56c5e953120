"""What a template says, worked out pair by pair in plain Python: slow, and easy to read.

It stands between the templates and the kernels: a wrong count that the model shows too is the
template's fault, one that it does not show is the kernels'.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partitions import partition
from elsinore.engine.run_template import last_events
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.evaluate import holds
from elsinore.reference.event import Event, read_events
from elsinore.template.build import Templates
from elsinore.template.template import (
    TREND,
    Condition,
    Every,
    Floor,
    Holds,
    Never,
    Open,
    Reaches,
    Some,
    Template,
    Transition,
    WayOut,
)

#: Below every time.
NONE = -(2**70)

#: Group text and window number.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """An event at a state; `last` is the time of the partition's last event before it."""

    event: Event
    state: int
    last: int


def count_trends(query: BoundQuery, templates: Templates, events: EventTable) -> Counter[Place]:
    """COUNT(*) of every group and window."""
    columns = EventColumns(events)
    codes = [KeyCodes.of(key, columns) for key in query.keys]
    by_row = {event.index: event for event in read_events(query, events)}
    found: Counter[Place] = Counter()
    for template in templates:
        entries = partition(query, template, codes, columns)
        if entries is None:
            continue
        last = np.full(entries.rows.size, np.iinfo(np.int64).min)
        if template.contiguous:
            last = last_events(query, events.schema, codes, columns, entries)
        placed = [
            Entry(by_row[row], state, int(time))
            for row, state, time in zip(
                entries.rows.tolist(), entries.states.tolist(), last.tolist(), strict=True
            )
        ]
        for owner, group in enumerate(entries.groups):
            inside = placed[entries.offsets[owner] : entries.offsets[owner + 1]]
            numbers = {n for e in inside for n in query.window.indices(e.event.time)}
            for number in numbers:
                bounds = query.window.bounds(number)
                window = [e for e in inside if bounds.start <= e.event.time < bounds.end]
                found[group, number] += _Window(template, window).trends()
    return +found


@dataclass
class _Window:
    template: Template
    entries: list[Entry]
    #: For each NOT the (end, latest start) of its matches.
    fired: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def trends(self) -> int:
        for guard in range(self.template.guards):
            starts = self._latest_starts(guard)
            ends = [
                (entry.event.time, start)
                for entry, start in starts
                if entry.state in self.template.ends
                and self._may_end(entry, self.template.ends[entry.state])
            ]
            self.fired[guard] = sorted(ends)
        counts: list[tuple[Entry, int]] = []
        total = 0
        for entry in self._of(TREND):
            count = int(self._may_start(entry))
            count += sum(before for p, before in counts if self._adjacent(p, entry))
            counts.append((entry, count))
            if entry.state in self.template.ends and self._may_end(
                entry, self.template.ends[entry.state]
            ):
                total += count
        return total

    def _of(self, guard: int) -> list[Entry]:
        return [e for e in self.entries if self.template.states[e.state].guard == guard]

    def _latest_starts(self, guard: int) -> list[tuple[Entry, int]]:
        """The latest start of all matches up to each entry of a NOT; those without one are out."""
        found: list[tuple[Entry, int]] = []
        for entry in self._of(guard):
            starts = [start for p, start in found if self._adjacent(p, entry)]
            if self._may_start(entry):
                starts.append(entry.event.time)
            if starts:
                found.append((entry, max(starts)))
        return found

    def _may_start(self, entry: Entry) -> bool:
        state, time = entry.state, entry.event.time
        if (
            state not in self.template.starts
            or self._value(self.template.starts[state], time) > NONE
        ):
            return False
        bar = self.template.bars.get(state)
        return bar is None or self._value(bar, time) > NONE

    def _may_end(self, entry: Entry, floor: Floor | None) -> bool:
        return entry.event.time >= self._value(floor, -NONE)

    def _value(self, floor: Floor | None, before: int, last: int = NONE) -> int:
        if floor is None:
            return NONE
        ways = [
            max((self._latest(guard, before) for guard in way), default=NONE) for way in floor.ways
        ]
        return max(min(ways), last) if floor.contiguous else min(ways)

    def _latest(self, guard: int, before: int) -> int:
        firings = self.fired[guard]
        return max(
            (start for _, start in firings[: bisect_left(firings, (before, NONE))]), default=NONE
        )

    def _adjacent(self, earlier: Entry, later: Entry) -> bool:
        return any(
            self._passes(t, earlier, later)
            for t in self.template.transitions
            if (t.earlier, t.later) == (earlier.state, later.state)
        )

    def _passes(self, transition: Transition, earlier: Entry, later: Entry) -> bool:
        if earlier.event.time >= later.event.time:
            return False
        if transition.closes and self._closed(earlier, later.event.time):
            return False
        if transition.condition is not None:
            return self._holds(transition.condition, earlier, later)
        return self._reaches(transition.floor, earlier, later)

    def _reaches(self, floor: Floor | None, earlier: Entry, later: Entry) -> bool:
        return earlier.event.time >= self._value(floor, later.event.time, later.last)

    def _holds(self, condition: Condition, earlier: Entry, later: Entry) -> bool:
        match condition:
            case Every(parts):
                return all(self._holds(part, earlier, later) for part in parts)
            case Some(parts):
                return any(self._holds(part, earlier, later) for part in parts)
            case Never(part):
                return not self._holds(part, earlier, later)
            case Holds(expression):
                return holds(expression, earlier.event, later.event)
            case Reaches(floor):
                return self._reaches(floor, earlier, later)
            case Open(slot):
                ways = [
                    way
                    for way in self.template.ways_out
                    if (way.earlier, way.slot) == (earlier.state, slot)
                ]
                return not any(
                    self._extends(way, earlier, between)
                    for way in ways
                    for between in self._of(TREND)
                    if earlier.event.time < between.event.time < later.event.time
                )

    def _extends(self, way: WayOut, earlier: Entry, later: Entry) -> bool:
        if later.state != way.later:
            return False
        if way.condition is not None:
            return self._holds(way.condition, earlier, later)
        return self._reaches(way.floor, earlier, later)

    def _closed(self, earlier: Entry, before: int) -> bool:
        """Whether an event in between stands where it closes the earlier one."""
        closing = {t.later for t in self.template.transitions if t.earlier == earlier.state}
        return any(
            other.state in closing and earlier.event.time < other.event.time < before
            for other in self._of(TREND)
        )
