"""Binary programs with packing-like rows, solved by HiGHS through SciPy, with a bound.

The linear relaxation comes first: for sharing plans it is mostly integral, and where it is not its
gap is tiny. What its reduced costs rule out is fixed, what is left falls apart into components, and
only these are branched on. (Measured with 10,000 queries of length 10: HiGHS' own branch and bound
on the whole program spends minutes in its presolve, past its time limit; the relaxation takes 4 to
14 s by the dual simplex, more by interior points, and more with flow rows for the positions.)
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

#: A score is proven to be the best when the bound is no further away than this share of it: the
#: tolerance that HiGHS computes with.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class BinaryProgram:
    """Maximise `gains @ x` with `rows @ x <= upper`, x in {0, 1}; x = 0 is feasible."""

    gains: NDArray[np.float64]  #: float64 [n]
    rows: Any  #: sparse [m, n], small integers
    upper: NDArray[np.float64]  #: float64 [m], not negative

    def holds(self, x: NDArray[np.float64]) -> bool:
        """Whether a vector of zeros and ones is feasible."""
        return bool((self.rows @ x <= self.upper + 0.5).all())


@dataclass(frozen=True)
class BinarySolution:
    """The best vector found (0 and 1, float64 [n]), its value, and a bound on every value."""

    x: NDArray[np.float64]
    value: float
    bound: float

    @property
    def proven(self) -> bool:
        """Whether the value reaches the bound."""
        return self.bound - self.value <= TOLERANCE * abs(self.bound)


#: Components of fewer variables are branched on together: a call of the solver costs more.
_SMALL = 500

#: How many rows away from a fraction variables are free when a first good vector is looked for.
_ROWS_AWAY = 2


def solve(
    program: BinaryProgram, *, start: NDArray[np.float64], bound: float, time_limit: float
) -> BinarySolution:
    """The best vector that can be found in time; never worse than `start`, which is feasible.

    `bound` is known already. The relaxation may overrun the time limit, in seconds, a little.
    """
    ends = monotonic() + time_limit
    incumbent = BinarySolution(start, float(program.gains @ start), bound)
    if incumbent.proven or not len(start):
        return incumbent
    scale = float(np.abs(program.gains).max())
    relaxed = linprog(
        -program.gains / scale, A_ub=program.rows, b_ub=program.upper, bounds=(0, 1),
        method="highs-ds", options={"time_limit": time_limit},
    )  # fmt: skip
    if relaxed.status != 0:
        return incumbent
    # Gains that cancel out leave some 1e-18 of the largest, which is nothing.
    best = -relaxed.fun if abs(relaxed.fun) > TOLERANCE else 0.0
    bound = min(bound, best * scale)
    for attempt in (np.rint, lambda x: _near_relaxed(program, x, ends)):
        incumbent = _better(program, incumbent, attempt(relaxed.x), bound)
        if incumbent.proven:
            return incumbent
    fixed = _fix(relaxed, (bound - incumbent.value) / scale)
    return _branch(program, incumbent, fixed, ends)


def _better(
    program: BinaryProgram, incumbent: BinarySolution, x: NDArray[np.float64], bound: float
) -> BinarySolution:
    value = float(program.gains @ x)
    if program.holds(x) and value > incumbent.value:
        return BinarySolution(x, value, max(bound, value))
    return BinarySolution(incumbent.x, incumbent.value, max(bound, incumbent.value))


def _near_relaxed(
    program: BinaryProgram, relaxed: NDArray[np.float64], ends: float
) -> NDArray[np.float64]:
    """The best vector that differs from the relaxed one only around its fractions, if it has any.

    Free are the variables between 0 and 1 and what is a few rows away from them.
    """
    rows = csr_array(program.rows)
    free = np.abs(relaxed - np.rint(relaxed)) > TOLERANCE
    for _ in range(_ROWS_AWAY):
        free = free | (rows.T @ (rows @ free.astype(np.float64) != 0) > 0)
    x = np.where(free, 0.0, np.rint(relaxed))
    chosen = np.flatnonzero(free)
    if not len(chosen):
        return x
    upper = program.upper - rows @ x
    x[chosen], _ = _solve_part(program.gains[chosen], rows[:, chosen], upper, ends - monotonic())
    return x


def _fix(relaxed: Any, gap: float) -> NDArray[np.float64]:
    """The values that any better vector must have, by reduced costs; NaN where both are possible.

    A variable at its bound in the relaxation costs at least its reduced cost when it leaves.
    """
    slack = gap * (1 + TOLERANCE) + TOLERANCE
    fixed = np.full(len(relaxed.x), np.nan)
    fixed[(relaxed.x < TOLERANCE) & (relaxed.lower.marginals > slack)] = 0
    fixed[(relaxed.x > 1 - TOLERANCE) & (-relaxed.upper.marginals > slack)] = 1
    return fixed


def _branch(
    program: BinaryProgram, incumbent: BinarySolution, fixed: NDArray[np.float64], ends: float
) -> BinarySolution:
    """Branch and bound over what is not fixed, component by component."""
    free = np.flatnonzero(np.isnan(fixed))
    x = np.where(np.isnan(fixed), 0.0, fixed)
    bound = float(program.gains @ x)
    upper = program.upper - program.rows @ x
    rows = csr_array(program.rows)[:, free]
    for part in _components(rows):
        gains = program.gains[free[part]]
        values, best = _solve_part(gains, rows[:, part], upper, ends - monotonic())
        if best is None:  # nothing better than the incumbent, or no time
            return BinarySolution(incumbent.x, incumbent.value, incumbent.bound)
        bound += best
        x[free[part]] = values
    # Either the best vector is the incumbent, or it is among those that were searched.
    bound = min(incumbent.bound, max(bound, incumbent.value))
    return _better(program, incumbent, x, bound)


def _components(rows: Any) -> list[NDArray[np.int64]]:
    """Columns that meet in rows, as groups; small groups are put together."""
    height, width = rows.shape
    meeting = rows.tocoo()
    both = csr_array(
        (np.ones(len(meeting.row), np.int8), (meeting.row, height + meeting.col)),
        shape=(height + width,) * 2,
    )
    _, labels = connected_components(both, directed=False)
    groups: list[NDArray[np.int64]] = []
    small: list[NDArray[np.int64]] = []
    order = np.argsort(labels[height:], kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(labels[height:][order])) + 1):
        (small if len(group) < _SMALL else groups).append(group)
    return [*groups, np.concatenate(small)] if small and width else groups


def _solve_part(
    gains: NDArray[np.float64], rows: Any, upper: NDArray[np.float64], time_limit: float
) -> tuple[NDArray[np.float64], float | None]:
    """One component: its best values found and their bound; no bound if there is no vector."""
    touched = np.diff(rows.indptr) > 0
    scale = float(np.abs(gains).max()) or 1.0
    found = milp(
        -gains / scale,
        constraints=LinearConstraint(rows[touched], -np.inf, upper[touched]),
        bounds=Bounds(0, 1),
        integrality=np.ones(len(gains)),
        options={"time_limit": max(0.1, time_limit), "mip_rel_gap": 0.0},
    )
    if found.x is None:
        return np.zeros(len(gains)), None
    bound = found.mip_dual_bound if found.mip_dual_bound is not None else found.fun
    return np.rint(found.x), -float(bound) * scale
