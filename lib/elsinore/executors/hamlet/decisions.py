"""Policies that decide which queries share a burst, and the measured costs that they use.

`python -m benchmarks.hamlet_calibrate` measures the costs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from elsinore.errors import ParameterError
from elsinore.executors.hamlet.kernels import decide as hamlet_decide
from elsinore.executors.hamlet.kernels.decide import Costs, Policy
from elsinore.executors.hamlet.kernels.graph import MergedGraph

#: Costs of a lane that grow with the number of limbs of wide counts.
WIDE_NAMES = ("product", "addition")


@cache
def load_costs() -> Costs:
    """Return the costs with 64-bit counts, from `costs.json` in this package."""
    return Costs(**_load()["nanoseconds"])


@cache
def load_wide_costs(limbs: int) -> Costs:
    """Return the costs of bursts without edge predicates, with counts of two or more limbs."""
    found = _load()["wide"]
    costs = {name: found[name] for name in ("burst", "coefficient", "step")}
    for name in WIDE_NAMES:
        costs[name] = found[name] + limbs * found[f"{name}_limb"]
    return load_costs()._replace(**costs)


@cache
def _load() -> dict[str, dict[str, float]]:
    text = (resources.files(__package__) / "costs.json").read_text("utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found


#: The length for runs whose bursts are never cheaper with snapshots: no burst is as long.
_NO_BURST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Decisions:
    """A policy; it does not affect the rows."""

    mode: int  #: of `executors.hamlet.kernels.decide`
    #: given decisions, a row per burst with a number per query: 0 computed separately, 1 shared, 2
    #: computed together without snapshots (`executors.hamlet.kernels.ways`). The rows are used in
    #: turn.
    given: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None  #: for random decisions

    @classmethod
    def random(cls, seed: int) -> Decisions:
        """Return a policy that picks one of the three ways at random for each query and burst."""
        return cls(hamlet_decide.GIVEN, seed=seed)

    @classmethod
    def of(cls, given: tuple[tuple[int, ...], ...]) -> Decisions:
        """Return a policy with given decisions.

        Args:
            given: a row per burst with a number per query, as in the attribute `given`; True means
                shared. After the last row, the first one is used again.

        Raises:
            ParameterError: `given` is empty.
        """
        if not given:
            hint = "pass a tuple with an entry per burst"
            raise ParameterError("no decisions were given", hint=hint)
        return cls(hamlet_decide.GIVEN, given=given)

    def policy(self, graph: MergedGraph, limbs: int) -> Policy:
        """Return the input of the kernels' decisions, for counts of `limbs` limbs."""
        queries = graph.queries.size - 1
        given = np.array(self.given, np.int8).reshape(-1, queries)
        if self.seed is not None:
            given = np.random.default_rng(self.seed).integers(0, 3, (997, queries), np.int8)
        costs = load_costs() if limbs == 1 else load_wide_costs(limbs)
        return Policy(self.mode, costs, given, _turns(graph, costs, limbs))


#: Decides per burst by measured costs: the executor `hamlet`.
DYNAMIC = Decisions(hamlet_decide.MEASURED)
#: All queries share every burst: the executor `hamlet-static`.
ALWAYS = Decisions(hamlet_decide.ALWAYS)
#: No burst is shared.
NEVER = Decisions(hamlet_decide.NEVER)


# ---- the length from which on bursts are cheaper with shared snapshots, per run of queries


def _turns(graph: MergedGraph, costs: Costs, limbs: int) -> np.ndarray:
    """Return int64[runs], the length of the shortest burst that may be cheaper with snapshots.

    Let a run of queries accept a share f of the events and have l lanes. Without edge predicates,
    `burst + b coefficient + l product` is compared with `b f (step + l addition)`.

    With edge predicates, the best case is a burst whose pairs are all adjacent: `b expression + b l
    value + b^2 / 2 term + snapshot` is compared with `b (arrival + l arrival_lane) + b^2 / 2 (hit +
    l pair_lane)`. Expressions over snapshots exist only for counts of one limb.
    """
    starts = graph.queries["long_start"]
    runs = graph.runs
    lanes = (starts[runs["high"]] - starts[runs["low"]]).astype(np.float64)
    states = np.repeat(np.arange(graph.kinds.size - 1), np.diff(graph.kinds["run_start"]))
    plain = graph.kinds["plain"][states] != 0
    saved = _shares(graph, states) * (costs.step + lanes * costs.addition)
    per_event = saved - costs.coefficient
    turns = np.full(runs.size, _NO_BURST)
    pays = plain & (per_event > 0)
    shared = costs.burst + lanes * costs.product
    turns[pays] = np.ceil(np.minimum(shared[pays] / per_event[pays], 2.0**62)).astype(np.int64)
    if limbs == 1:
        common = np.bincount(states, lanes * runs["common"], graph.kinds.size - 1)
        able = (graph.kinds["plain"] == 0) & (graph.kinds["foreign"] == 0)
        for state in np.flatnonzero(able[:-1] & (common > 0)):
            turns[states == state] = _turn_with_edges(costs, float(common[state]))
    return np.maximum(turns, 1)


def _shares(graph: MergedGraph, states: np.ndarray) -> np.ndarray:
    """Return float64[runs], the share of the entries of its state that each run accepts."""
    shares = np.ones(graph.runs.size)
    sizes = np.bincount(graph.runs["class"].astype(np.int64), minlength=1)
    if sizes.size == 1:  # no state has two classes
        return shares
    for state in np.unique(states[graph.runs["class"] > 0]):
        accepts = graph.accepts[graph.states == state]
        for run in np.flatnonzero(states == state):
            taken = (accepts >> graph.runs["class"][run]) & 1
            shares[run] = taken.mean() if taken.size else 1.0
    return shares


def _turn_with_edges(costs: Costs, lanes: float) -> int:
    """Return the positive root of a b^2 + c b = snapshot; `_NO_BURST` if there is none."""
    a = (costs.hit + lanes * costs.pair_lane - costs.term) / 2.0
    c = costs.arrival + lanes * costs.arrival_lane - costs.expression - lanes * costs.value
    if a <= 0.0:
        return int(np.ceil(costs.snapshot / c)) if c > 0.0 else _NO_BURST
    return int(np.ceil((-c + np.sqrt(c * c + 4.0 * a * costs.snapshot)) / (2.0 * a)))
