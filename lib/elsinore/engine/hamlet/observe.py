"""What a run did: decisions, snapshots with their values, coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from elsinore.kernels.hamlet_graph import MergedGraph
from elsinore.kernels.hamlet_log import Log, make_log
from elsinore.kernels.hamlet_work import Ledger, Work

#: What a row of `Log.decisions` says, in this order.
NUMBERS = ("burst", "partition", "state", "entry", "b", "n", "s_p", "s_c", "k", "g", "t")


@dataclass(frozen=True, slots=True)
class Decision:
    """One burst: Equation 7's numbers, both costs, and the queries that shared.

    `entry` is the number of the burst's first event among those of the run; the costs are in the
    units of the mode that decided.
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
        """Equation 7: what sharing saves."""
        return self.alone - self.shared


@dataclass
class Observer:
    """Filled by a run on the first rung of the exact ladder."""

    room: int = 100_000  #: rows of the log kept of decisions, and of values and coefficients each
    decisions: list[Decision] = field(default_factory=list)  #: burst by burst
    #: by (burst, snapshot, query, window number), values of snapshots; 0 is the snapshot at
    #: graphlet level, the others are at event level.
    values: dict[tuple[int, int, int, int], int] = field(default_factory=dict)
    #: by (burst, snapshot), the number of the event of a snapshot at event level.
    events: dict[tuple[int, int], int] = field(default_factory=dict)
    #: by (burst, entry, snapshot).
    coefficients: dict[tuple[int, int, int], int] = field(default_factory=dict)
    #: by (burst, snapshot), coefficients of the whole burst's count.
    sums: dict[tuple[int, int], int] = field(default_factory=dict)
    #: bursts, shared bursts and so on, by name; bytes of scratch.
    counts: dict[str, int] = field(default_factory=dict)
    complete: bool = True  #: whether the log had room for everything
    #: of processor time that the kernels took, by the limbs of the rung.
    seconds: dict[int, float] = field(default_factory=dict)
    details: bool = True  #: whether values and coefficients are kept, too
    #: of the run that was observed last, the time of each entry, and the JSON array of group values
    #: of each partition: what a decision's `entry` and `partition` mean.
    times: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Sequence[str] = ()

    def log(self, graph: MergedGraph, limbs: int) -> Log:
        """A log for a rung; without room on all but the first."""
        room = self.room if limbs == 1 else 0
        return make_log(graph.queries.size - 1, room, room if self.details else 0)

    def take(self, log: Log, work: Work) -> None:
        """Take over what a log holds, and what was counted."""
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
    """What the scratch takes, members of all open windows included."""
    parts = *work.lanes, *work.block, *work.block.stack, *work
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    return sum(array.nbytes for array in arrays)
