"""How a run decides which queries share a burst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.engine.hamlet.costs import load_costs
from elsinore.kernels import hamlet_decide
from elsinore.kernels.hamlet import Policy


@dataclass(frozen=True)
class Decisions:
    """A way to decide; any of them gives the same rows.

    Attributes:
        mode: of `kernels.hamlet_decide`.
        given: for given decisions, rows of a truth value a query, used in turn.
        seed: for random decisions.
    """

    mode: int
    given: tuple[tuple[bool, ...], ...] = ()
    seed: int | None = None

    @classmethod
    def random(cls, seed: int) -> Decisions:
        """Every query shares every burst with a probability of one half."""
        return cls(hamlet_decide.GIVEN, seed=seed)

    @classmethod
    def of(cls, given: tuple[tuple[bool, ...], ...]) -> Decisions:
        """Given decisions: for each burst in turn, whether each query shares."""
        return cls(hamlet_decide.GIVEN, given=given)

    def policy(self, queries: int, longest: int) -> Policy:
        """What the kernels decide by."""
        given = np.array(self.given, np.bool_).reshape(-1, queries)
        if self.seed is not None:
            given = np.random.default_rng(self.seed).random((997, queries)) < 0.5
        return Policy(self.mode, load_costs(), given, longest)


#: Burst by burst, by measured costs: the `hamlet` executor.
DYNAMIC = Decisions(hamlet_decide.MEASURED)
#: Every burst is shared by all queries: `hamlet-static`.
ALWAYS = Decisions(hamlet_decide.ALWAYS)
#: No burst is shared.
NEVER = Decisions(hamlet_decide.NEVER)
#: Burst by burst, by Equation 7 with the paper's count of steps.
EQUATION = Decisions(hamlet_decide.EQUATION)
