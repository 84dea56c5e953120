"""Record what a run of Hamlet did: its decisions, snapshots with values, and coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from elsinore.executors.hamlet.kernels.graph import MergedGraph
from elsinore.executors.hamlet.kernels.log import Log, make_log
from elsinore.executors.hamlet.kernels.work import Ledger, Work

#: The columns of `Log.decisions`, in their order.
NUMBERS = ("burst", "partition", "state", "entry", "b", "n", "s_p", "s_c", "k", "g", "t")


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision for one burst, with the numbers of Equation 7 and both costs.

    `entry` is the number of the burst's first event among the events of the run. The unit of the
    costs depends on the mode that decided. `queries` are the numbers of the queries that share the
    burst.
    """

    burst: int
    partition: int
    state: int
    entry: int
    b: int
    n: int
    s_p: int
    s_c: int
    k: int
    g: int
    t: int
    shared: float
    alone: float
    queries: tuple[int, ...]

    @property
    def benefit(self) -> float:
        """Return the saving of sharing (Equation 7)."""
        return self.alone - self.shared


@dataclass
class Observer:
    """The record of a run, filled at the first precision level."""

    room: int = 100_000  #: maximum number of decisions; also of values, and of coefficients
    decisions: list[Decision] = field(default_factory=list)  #: one per burst
    #: values of snapshots by (burst, snapshot, query, window number); snapshot 0 is at graphlet
    #: level, the others are at event level.
    values: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    #: number of the event of a snapshot at event level, by (burst, snapshot).
    events: dict[tuple[int, int], int] = field(default_factory=dict)
    #: coefficients by (burst, entry, snapshot).
    coefficients: dict[tuple[int, int, int], int] = field(default_factory=dict)
    #: coefficients of the count of the whole burst, by (burst, snapshot).
    sums: dict[tuple[int, int], int] = field(default_factory=dict)
    #: numbers of bursts, shared bursts and so on, by name; bytes of scratch memory.
    counts: dict[str, int] = field(default_factory=dict)
    complete: bool = True  #: whether the log had room for everything
    #: seconds of CPU time of the kernels, by the number of limbs.
    seconds: dict[int, float] = field(default_factory=dict)
    details: bool = True  #: whether to record values and coefficients, too
    #: the time of each entry of the latest run, and the JSON array of group values of each of its
    #: partitions; `Decision.entry` and `Decision.partition` are positions in these.
    times: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Sequence[str] = ()

    def log(self, graph: MergedGraph, limbs: int) -> Log:
        """Return a log for a precision level; it has no room except on the first level."""
        room = self.room if limbs == 1 else 0
        return make_log(graph.queries.size - 1, room, room if self.details else 0)

    def take(self, log: Log, work: Work) -> None:
        """Add the contents of a log, and the counters of its run."""
        wanted, value_rows, coefficient_rows = log.used.tolist()
        rows = max(wanted, value_rows, coefficient_rows) if self.details else wanted
        self.complete &= rows <= self.room
        for row in range(min(wanted, self.room)):
            numbers = dict(zip(NUMBERS, log.decisions[row].tolist(), strict=False))
            queries = tuple(np.flatnonzero(log.shares[row]).tolist())
            shared, alone = log.costs[row].tolist()
            self.decisions.append(Decision(**numbers, shared=shared, alone=alone, queries=queries))
        for burst, snapshot, entry, query, window, value in log.values[:value_rows].tolist():
            self.values[burst, snapshot, query, window] = value
            if entry >= 0:
                self.events[burst, snapshot] = entry
        for burst, entry, snapshot, value in log.coefficients[:coefficient_rows].tolist():
            if entry < 0:
                self.sums[burst, snapshot] = value
            else:
                self.coefficients[burst, entry, snapshot] = value
        names = {
            "bursts": Ledger.BURSTS,
            "shared": Ledger.SHARED,
            "split": Ledger.SPLIT,
            "merged": Ledger.MERGED,
            "events in bursts": Ledger.EVENTS,
            "events shared": Ledger.SHARED_EVENTS,
            "events beside bursts": Ledger.SINGLE,
            "event snapshots": Ledger.EVENT_SNAPSHOTS,
            "pairs": Ledger.PAIRS,
        }
        for name, place in names.items():
            self.counts[name] = self.counts.get(name, 0) + int(work.ledger[place])
        self.counts["bytes"] = max(self.counts.get("bytes", 0), _bytes_of(work))


def _bytes_of(work: Work) -> int:
    """Return the bytes of the scratch memory, which includes the members of all open windows."""
    parts = *work.lanes, *work.block, *work.block.stack, *work
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return sum(array.nbytes for array in arrays)
