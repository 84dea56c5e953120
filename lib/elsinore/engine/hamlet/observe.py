"""What a run did: its decisions, and counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from elsinore.kernels.hamlet import prepare_work, share_propagation
from elsinore.kernels.hamlet_decide import Policy
from elsinore.kernels.hamlet_graph import MergedGraph
from elsinore.kernels.hamlet_work import Extent, Ledger, Output, Work, make_lanes_for

#: What is counted in `Observer.counts`.
_COUNTED = {
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
    """Filled by a run on the first rung of the exact ladder.

    Attributes:
        room: how many decisions are kept.
        decisions: burst by burst.
        counts: bursts, shared bursts and so on, by name; bytes of scratch.
        complete: whether there was room for all decisions.
        seconds: of processor time that the kernels took, by the limbs of the rung.
        times, groups: of the run that was observed last, the time of each entry, and the JSON array
            of group values of each partition: what a decision's `entry` and `partition` mean.
    """

    room: int = 100_000
    decisions: list[Decision] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    seconds: dict[int, float] = field(default_factory=dict)
    times: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Sequence[str] = ()

    def take(self, work: Work) -> None:
        """Take over what a run noted."""
        wanted = int(work.ledger[Ledger.DECISIONS])
        self.complete &= wanted <= self.room
        for numbers, shares in zip(work.decisions[:wanted].tolist(), work.shares, strict=False):
            noted = (*numbers, tuple(np.flatnonzero(shares).tolist()))
            self.decisions.append(Decision(*noted))
        for name, place in _COUNTED.items():
            self.counts[name] = self.counts.get(name, 0) + int(work.ledger[place])


def run_observed(
    graph: MergedGraph,
    output: Output,
    policy: Policy,
    sizes: tuple[Extent, int],
    observer: Observer | None,
) -> None:
    """Run the kernels, and tell the observer if there is one.

    `sizes` are how much of a partition there is at once, and the limbs of the rung.
    """
    extent, limbs = sizes
    watched = observer is not None and limbs == 1
    work = prepare_work(graph, extent, observer.room if observer is not None and watched else 0)
    lanes = make_lanes_for(graph, work, limbs)
    began = time.thread_time()
    share_propagation(graph, work, lanes, output, policy)
    if observer is not None:
        observer.seconds[limbs] = time.thread_time() - began
    if observer is not None and watched:
        observer.take(work)
        parts = *lanes, *work, *work.stack
        taken = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        observer.counts["bytes"] = max(observer.counts.get("bytes", 0), taken)
