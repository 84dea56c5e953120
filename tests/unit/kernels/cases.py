"""Small graphs told by their meaning, and the arrays that the kernels read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elsinore.kernels.graph import NONE, Graph
from elsinore.kernels.pair_program import Op

NO_RANK = int(np.iinfo(np.int64).max)

#: A condition on a pair: ("less_l",), ("less_d",), ("reaches", floor), ("open", slot),
#: ("and" | "or", left, right), ("not" | "is_true", operand).
Condition = tuple


@dataclass(frozen=True)
class Entry:
    """An event at a state; `x` and `d` are compared, the rest is aggregated."""

    time: int
    state: int
    x: int | None = None
    d: float | None = None
    count: int = 0
    amount: float = 0.0
    rank: int = NO_RANK


@dataclass(frozen=True)
class Step:
    """A transition, or a way out of a state (then `slot` says for which slot it closes)."""

    earlier: int
    later: int
    condition: Condition | None = None
    floor: int = -1
    closes: bool = False
    slot: int = -1


@dataclass(frozen=True)
class Floor:
    """Guards in disjunctive form."""

    sets: tuple[tuple[int, ...], ...] = ()
    contiguous: bool = False


@dataclass
class Case:
    """A graph.

    Attributes:
        partitions: entries of each partition, in time order.
        guard_of: the guard of each state, -1 for trends.
        starts, ends: the floor (or -1) of each START and END state.
        bars: the floor of each START state that must have been raised.
        others: times of events that are no entries, by partition.
    """

    partitions: list[list[Entry]]
    guard_of: list[int]
    starts: dict[int, int]
    ends: dict[int, int]
    transitions: list[Step]
    floors: list[Floor] = field(default_factory=list)
    ways: list[Step] = field(default_factory=list)
    others: list[list[int]] = field(default_factory=list)
    bars: dict[int, int] = field(default_factory=dict)

    @property
    def entries(self) -> list[Entry]:
        """The entries of all partitions."""
        return [entry for partition in self.partitions for entry in partition]

    def offsets(self) -> np.ndarray:
        """Where each partition begins."""
        return np.cumsum([0, *map(len, self.partitions)], dtype=np.int64)

    def others_of(self, partition: int) -> list[int]:
        """Times of a partition's events that are no entries."""
        return self.others[partition] if self.others else []

    def graph(self) -> Graph:
        """The arrays."""
        return _graph(self)


_LEAVES = {
    "less_l": [(Op.EARLIER_L, 0), (Op.LATER_L, 0), (Op.LESS_L, 0)],
    "less_d": [(Op.EARLIER_D, 1), (Op.LATER_D, 1), (Op.LESS_D, 0)],
}


def steps_of(condition: Condition) -> list[tuple[Op, int]]:
    """A condition as a pair program."""
    match condition:
        case ("less_l" | "less_d",):
            return _LEAVES[condition[0]]
        case ("reaches" | "open", number):
            return [(Op[condition[0].upper()], number)]
        case (name, *operands):
            steps = [step for operand in operands for step in steps_of(operand)]
            return [*steps, (Op[name.upper()], 0)]
    raise AssertionError(condition)


def in_order(transitions: list[Step]) -> list[Step]:
    """Transitions as a graph has them."""
    return sorted(transitions, key=lambda step: (step.later, step.earlier))


def _graph(case: Case) -> Graph:
    size, entries = len(case.guard_of), case.entries
    transitions = in_order(case.transitions)
    ways = sorted(case.ways, key=lambda way: way.earlier)
    conditions = [step.condition for step in (*transitions, *ways)]
    programs = [steps_of(condition) for condition in conditions if condition]
    numbers = np.cumsum([condition is not None for condition in conditions]) - 1
    programmed = np.where([condition is not None for condition in conditions], numbers, -1)
    sets = [guards for floor in case.floors for guards in floor.sets]
    return Graph(
        times=_longs(entry.time for entry in entries),
        states=np.array([entry.state for entry in entries], np.int32),
        guard_of=_longs(case.guard_of),
        starts=np.array([state in case.starts for state in range(size)]),
        ends=np.array([state in case.ends for state in range(size)]),
        start_floor=_longs(case.starts.get(state, -1) for state in range(size)),
        start_bar=_longs(case.bars.get(state, -1) for state in range(size)),
        end_floor=_longs(case.ends.get(state, -1) for state in range(size)),
        transition_start=_borders([t.later for t in transitions], size),
        transition_from=_longs(t.earlier for t in transitions),
        transition_program=programmed[: len(transitions)].astype(np.int64),
        transition_floor=_longs(t.floor for t in transitions),
        closes=np.array([t.closes for t in transitions], np.bool_),
        floor_set_start=_longs(np.cumsum([0, *(len(floor.sets) for floor in case.floors)])),
        set_guard_start=_longs(np.cumsum([0, *map(len, sets)])),
        set_guards=_longs(guard for guards in sets for guard in guards),
        floor_contiguous=np.array([floor.contiguous for floor in case.floors], np.bool_),
        base=_base(case),
        open_start=_borders([way.earlier for way in ways], size),
        open_slot=_longs(way.slot for way in ways),
        open_state=_longs(way.later for way in ways),
        open_program=programmed[len(transitions) :].astype(np.int64),
        open_floor=_longs(way.floor for way in ways),
        program_start=_longs(np.cumsum([0, *map(len, programs)])),
        program=_longs(step for program in programs for step in program).reshape(-1, 2),
        slots_l=np.array([[e.x or 0 for e in entries], [0] * len(entries)], np.int64),
        slots_d=np.array([[0.0] * len(entries), [e.d or 0.0 for e in entries]]),
        known=np.array([[e.x is not None for e in entries], [e.d is not None for e in entries]]),
        count_weights=_longs([e.count for e in entries]).reshape(1, -1),
        sum_weights=np.array([[e.amount for e in entries]]),
        ranks=_longs([e.rank for e in entries]).reshape(1, -1),
        no_rank=NO_RANK,
        lanes=None,
    )


def _longs(values: object) -> np.ndarray:
    return np.array(list(values), np.int64)  # type: ignore[call-overload]


def _borders(ascending: list[int], size: int) -> np.ndarray:
    return np.searchsorted(ascending, np.arange(size + 1)).astype(np.int64)


def _base(case: Case) -> np.ndarray:
    found = []
    for number, partition in enumerate(case.partitions):
        times = [*(entry.time for entry in partition), *case.others_of(number)]
        for entry in partition:
            found.append(max((t for t in times if t < entry.time), default=NONE))
    return _longs(found)
