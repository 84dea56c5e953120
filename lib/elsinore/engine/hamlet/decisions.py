"""How a run decides which queries share a burst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.engine.hamlet.costs import load_costs, load_wide_costs
from elsinore.engine.hamlet.turns import turns_of
from elsinore.errors import ParameterError
from elsinore.kernels import hamlet_decide
from elsinore.kernels.hamlet_decide import Policy
from elsinore.kernels.hamlet_graph import MergedGraph


@dataclass(frozen=True)
class Decisions:
    """A way to decide; any of them gives the same rows.

    Attributes:
        mode: of `kernels.hamlet_decide`.
        given: for given decisions, rows of a number a query, used in turn: 0 by itself, 1 shared,
            2 side by side without snapshots (`kernels.hamlet_ways`).
        seed: for random decisions.
    """

    mode: int
    given: tuple[tuple[int, ...], ...] = ()
    seed: int | None = None

    @classmethod
    def random(cls, seed: int) -> Decisions:
        """Every query does every burst in one of the three ways, each as likely."""
        return cls(hamlet_decide.GIVEN, seed=seed)

    @classmethod
    def of(cls, given: tuple[tuple[int, ...], ...]) -> Decisions:
        """Given decisions: for each burst in turn, how each query does it; true means shared.

        Raises:
            ParameterError: there is none.
        """
        if not given:
            raise ParameterError("decisions must be given for one burst at least")
        return cls(hamlet_decide.GIVEN, given=given)

    def policy(self, graph: MergedGraph, limbs: int) -> Policy:
        """What the kernels decide by, on the rung of so many limbs."""
        queries = graph.queries.size - 1
        given = np.array(self.given, np.int8).reshape(-1, queries)
        if self.seed is not None:
            given = np.random.default_rng(self.seed).integers(0, 3, (997, queries), np.int8)
        costs = load_costs() if limbs == 1 else load_wide_costs(limbs)
        return Policy(self.mode, costs, given, turns_of(graph, costs, limbs))


#: Burst by burst, by measured costs: the `hamlet` executor.
DYNAMIC = Decisions(hamlet_decide.MEASURED)
#: Every burst is shared by all queries: `hamlet-static`.
ALWAYS = Decisions(hamlet_decide.ALWAYS)
#: No burst is shared.
NEVER = Decisions(hamlet_decide.NEVER)
#: Burst by burst, by Equation 7 with the paper's count of steps.
EQUATION = Decisions(hamlet_decide.EQUATION)
