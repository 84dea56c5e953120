"""Random small cases that use every part of a graph."""

from __future__ import annotations

import random

from tests.unit.kernels.cases import NO_RANK, Case, Condition, Entry, Floor, Step


def random_case(seed: int) -> Case:
    """A case with 0 to 3 guards (inner ones in front), 1 to 3 states of trends, ties and gaps."""
    return _Maker(random.Random(seed)).case()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.floors: list[Floor] = []
        self.transitions: list[Step] = []
        self.ways: list[Step] = []
        self.starts: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.bars: dict[int, int] = {}
        self.slots = 0

    def case(self) -> Case:
        rng = self.rng
        guard_of = [-1] * rng.randint(1, 3)
        for guard in range(rng.choice([0, 1, 1, 2, 3])):
            guard_of += [guard] * rng.choice([1, 1, 2])
        for guard in sorted(set(guard_of)):
            machine = [state for state, owner in enumerate(guard_of) if owner == guard]
            self._machine(machine, guard if guard >= 0 else max(guard_of) + 1, guard < 0)
        partitions = [self._entries(len(guard_of)) for _ in range(rng.randint(1, 2))]
        others = [[rng.randint(0, 11) for _ in range(rng.randint(0, 2))] for _ in partitions]
        return Case(
            partitions, guard_of, self.starts, self.ends, self.transitions, self.floors,
            self.ways, others, self.bars,
        )  # fmt: skip

    def _entries(self, states: int) -> list[Entry]:
        rng = self.rng
        entries = [
            Entry(
                rng.randint(0, 11),
                rng.randrange(states),
                rng.choice([None, 0, 1, 2, 3]),
                rng.choice([None, float("nan"), 0.5, 1.5, 2.5]),
                rng.randint(-2, 3),
                rng.choice([0.0, 0.25, -1.5, 3.0]),
                rng.choice([NO_RANK, 0, 1, 2, 3]),
            )
            for _ in range(rng.randint(1, 12))
        ]
        return sorted(entries, key=lambda entry: entry.time)

    def _machine(self, states: list[int], guards: int, trend: bool) -> None:
        """States of a trend or a guard, whose floors refer to the first guards."""
        rng = self.rng
        for state in rng.sample(states, rng.randint(1, len(states))):
            self.starts[state] = self._floor(guards, False)
            if rng.random() < 0.15:
                self.bars[state] = self._floor(guards, False)
        for state in rng.sample(states, rng.randint(1, len(states))):
            self.ends[state] = self._floor(guards, False)
        for earlier in states:
            followers = [later for later in states if rng.random() < 0.75]
            kind = rng.choice(["free", "free", "closes", "opens"]) if trend else "free"
            getattr(self, f"_{kind}")(earlier, followers, guards, trend)

    def _free(self, earlier: int, followers: list[int], guards: int, trend: bool) -> None:
        for later in followers:
            condition = self._condition(guards, trend, 2) if self.rng.random() < 0.35 else None
            floor = self._floor(guards, trend)
            self.transitions.append(Step(earlier, later, condition, floor))

    def _closes(self, earlier: int, followers: list[int], guards: int, trend: bool) -> None:
        floor = self._floor(guards, trend)
        for later in followers:
            closes = self.rng.random() < 0.8
            self.transitions.append(Step(earlier, later, None, floor, closes))

    def _opens(self, earlier: int, followers: list[int], guards: int, trend: bool) -> None:
        rng = self.rng
        slots = range(self.slots, self.slots + rng.randint(1, 2))
        self.slots = slots.stop
        for later in followers:
            for _ in range(rng.randint(1, 2)):
                condition = self._condition(guards, trend, 1) if rng.random() < 0.7 else None
                floor = self._floor(guards, trend)
                self.ways.append(Step(earlier, later, condition, floor, slot=rng.choice(slots)))
            open_at_all: Condition = ("open", rng.choice(slots))
            if rng.random() < 0.3:
                open_at_all = ("or", open_at_all, ("open", rng.choice(slots)))
            parts = [open_at_all, self._condition(guards, trend, 1)]
            rng.shuffle(parts)
            name = "or" if rng.random() < 0.1 else "and"
            self.transitions.append(Step(earlier, later, (name, *parts)))

    def _floor(self, guards: int, contiguous: bool) -> int:
        """Number of a new floor, or -1."""
        rng = self.rng
        contiguous = contiguous and rng.random() < 0.2
        if rng.random() < 0.4 or not (guards or contiguous):
            return -1
        sets = [self._set(guards) for _ in range(rng.choice([1, 1, 2]) if guards else 0)]
        self.floors.append(Floor(tuple(sets), contiguous))
        return len(self.floors) - 1

    def _set(self, guards: int) -> tuple[int, ...]:
        least = 0 if self.rng.random() < 0.1 else 1
        return tuple(self.rng.sample(range(guards), self.rng.randint(least, guards)))

    def _condition(self, guards: int, trend: bool, depth: int) -> Condition:
        rng = self.rng
        if depth and rng.random() < 0.5:
            name = rng.choice(["and", "or", "not", "is_true"])
            operands = 2 if name in ("and", "or") else 1
            return (name, *(self._condition(guards, trend, depth - 1) for _ in range(operands)))
        floor = self._floor(guards, trend) if rng.random() < 0.4 else -1
        return ("reaches", floor) if floor >= 0 else (rng.choice(["less_l", "less_d"]),)
