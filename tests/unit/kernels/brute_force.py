"""Aggregates of a window by building every trend, straight from what a graph's parts mean."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tests.unit.kernels.cases import NO_RANK, Case, Condition, Entry, Floor, Step


class Expected(NamedTuple):
    """Aggregates of all trends of a window."""

    trends: int
    events: int
    amount: float
    rank: int


class Window:
    """The entries of one partition in one window."""

    def __init__(self, case: Case, partition: int, entries: list[Entry]) -> None:
        self.case, self.entries = case, entries
        self.times = [*(e.time for e in entries), *case.others_of(partition)]

    def expected(self) -> Expected:
        """The aggregates."""
        trends = list(self._paths(-1))
        events = [entry for trend in trends for entry in trend]
        return Expected(
            len(trends),
            sum(entry.count for entry in events),
            sum(entry.amount for entry in events),
            min((entry.rank for entry in events), default=NO_RANK),
        )

    @cached_property
    def _firings(self) -> dict[int, list[tuple[int, int]]]:
        """(ts, te) of all matches of each guard."""
        found: dict[int, list[tuple[int, int]]] = {}
        self.__dict__["_firings"] = found  # guards look at the firings of inner ones
        for guard in range(max(self.case.guard_of) + 1):
            found[guard] = [(path[0].time, path[-1].time) for path in self._paths(guard)]
        return found

    def _paths(self, guard: int) -> Iterator[tuple[Entry, ...]]:
        own = [e for e in self.entries if self.case.guard_of[e.state] == guard]
        stack: list[tuple[Entry, ...]] = [(e,) for e in own if self._may_start(e)]
        while stack:
            path = stack.pop()
            if self._may_end(path[-1]):
                yield path
            stack += [(*path, e) for e in own if self._adjacent(path[-1], e)]

    def _may_start(self, entry: Entry) -> bool:
        floor = self.case.starts.get(entry.state)
        if floor is None or self._parted(floor, None, entry):
            return False
        return self._parted(self.case.bars.get(entry.state, -1), None, entry, if_none=True)

    def _may_end(self, entry: Entry) -> bool:
        floor = self.case.ends.get(entry.state)
        return floor is not None and not self._parted(floor, entry, None)

    def _adjacent(self, p: Entry, e: Entry) -> bool:
        return any(
            (t.earlier, t.later) == (p.state, e.state)
            and p.time < e.time
            and self._satisfied(t, p, e)
            and not self._closed(p, e)
            for t in self.case.transitions
        )

    def _satisfied(self, step: Step, p: Entry, e: Entry) -> bool:
        if step.condition is not None:
            return self._truth(step.condition, p, e) is True
        return not self._parted(step.floor, p, e)

    def _parted(
        self, number: int, p: Entry | None, e: Entry | None, *, if_none: bool = False
    ) -> bool:
        """Whether between p (or the window's begin) and e (or its end) every way is barred."""
        if number < 0:
            return if_none
        floor: Floor = self.case.floors[number]
        after = p.time if p else min(self.times) - 1
        before = e.time if e else max(self.times) + 1
        if floor.contiguous and any(after < time < before for time in self.times):
            return True
        return bool(floor.sets) and all(
            any(after < ts and te < before for g in guards for ts, te in self._firings[g])
            for guards in floor.sets
        )

    def _between(self, p: Entry, e: Entry, state: int) -> list[Entry]:
        return [x for x in self.entries if x.state == state and p.time < x.time < e.time]

    def _closed(self, p: Entry, e: Entry) -> bool:
        return any(
            t.closes and t.earlier == p.state and self._between(p, e, t.later)
            for t in self.case.transitions
        )

    def _open(self, slot: int, p: Entry, e: Entry) -> bool:
        return not any(
            self._satisfied(way, p, x)
            for way in self.case.ways
            if (way.earlier, way.slot) == (p.state, slot)
            for x in self._between(p, e, way.later)
        )

    def _truth(self, condition: Condition, p: Entry, e: Entry) -> bool | None:
        match condition:
            case ("less_l",):
                return None if p.x is None or e.x is None else p.x < e.x
            case ("less_d",):
                values = p.d, e.d
                unknown = any(value is None or value != value for value in values)
                return None if unknown else p.d < e.d  # type: ignore[operator]
            case ("reaches", floor):
                return not self._parted(floor, p, e)
            case ("open", slot):
                return self._open(slot, p, e)
            case ("is_true", operand):
                return self._truth(operand, p, e) is True
            case ("not", operand):
                truth = self._truth(operand, p, e)
                return None if truth is None else not truth
            case ("and" | "or", left, right):
                sides = self._truth(left, p, e), self._truth(right, p, e)
                decides = condition[0] == "or"
                if decides in sides:
                    return decides
                return None if None in sides else not decides
        raise AssertionError(condition)
