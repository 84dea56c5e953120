"""Solve binary programs with packing-like rows by HiGHS through SciPy, with a bound.

The linear relaxation is solved first. For sharing plans, most of its values are integers, and its
gap is tiny. Variables that its reduced costs decide are fixed. The remaining program splits into
components, and only these use branch and bound.

For 10,000 queries of length 10, HiGHS' branch and bound on the whole program takes minutes in its
presolve, longer than its time limit. The relaxation takes 4 to 14 s by the dual simplex method.
Interior points take longer, and so do flow rows for the positions.
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

#: A score is proven optimal if its relative distance from the bound is at most this: the tolerance
#: of HiGHS.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class BinaryProgram:
    """Maximize `gains @ x` with `rows @ x <= upper`, x in {0, 1}; x = 0 is feasible."""

    gains: NDArray[np.float64]  #: float64 [n]
    rows: Any  #: sparse [m, n], small integers
    upper: NDArray[np.float64]  #: float64 [m], not negative

    def holds(self, x: NDArray[np.float64]) -> bool:
        """Return whether a vector of zeros and ones is feasible."""
        return bool((self.rows @ x <= self.upper + 0.5).all())


@dataclass(frozen=True)
class BinarySolution:
    """The best vector found (0 and 1, float64 [n]), its value, and an upper bound of all values."""

    x: NDArray[np.float64]
    value: float
    bound: float

    @property
    def proven(self) -> bool:
        """Return whether the value reaches the bound."""
        return self.bound - self.value <= TOLERANCE * abs(self.bound)


#: Components with fewer variables are solved together, because a call of the solver costs more.
_SMALL = 500

#: For the first good vector, variables are free if they are at most this many rows from a fraction.
_ROWS_AWAY = 2


def solve(
    program: BinaryProgram, *, start: NDArray[np.float64], bound: float, time_limit: float
) -> BinarySolution:
    """Return the best vector that is found in time.

    Args:
        program: the program.
        start: a feasible vector, float64 [n]; the result is at least as good.
        bound: a known upper bound of all values.
        time_limit: in seconds; the relaxation may exceed it slightly.
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
    # Rounding leaves about 1e-18 of the largest gain if gains cancel out; this counts as 0.
    best = -relaxed.fun if abs(relaxed.fun) > TOLERANCE else 0.0
    bound = min(bound, best * scale)
    for fixed in (np.rint(relaxed.x), _near_fractions(program, relaxed.x)):
        x, _ = _completed(program, fixed, ends)
        incumbent = _better(program, incumbent, x, bound)
        if incumbent.proven:
            return incumbent
    x, best = _completed(program, _fix(relaxed, (bound - incumbent.value) / scale), ends)
    # The best vector is the incumbent, or one of the vectors of this search.
    return _better(program, incumbent, x, min(bound, max(best, incumbent.value)))


def _better(
    program: BinaryProgram, incumbent: BinarySolution, x: NDArray[np.float64], bound: float
) -> BinarySolution:
    value = float(program.gains @ x)
    if program.holds(x) and value > incumbent.value:
        return BinarySolution(x, value, max(bound, value))
    return BinarySolution(incumbent.x, incumbent.value, max(bound, incumbent.value))


def _near_fractions(program: BinaryProgram, relaxed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rounded values of the relaxation; NaN for fractions and variables near them.

    A variable is near if it is at most `_ROWS_AWAY` rows away.
    """
    free = np.abs(relaxed - np.rint(relaxed)) > TOLERANCE
    for _ in range(_ROWS_AWAY):
        free = free | (program.rows.T @ (program.rows @ free.astype(np.float64) != 0) > 0)
    return np.where(free, np.nan, np.rint(relaxed))


def _fix(relaxed: Any, gap: float) -> NDArray[np.float64]:
    """Return the values that every better vector has, by reduced costs; NaN if unknown.

    If a variable leaves its bound in the relaxation, the value falls by at least its reduced cost.
    """
    slack = gap * (1 + TOLERANCE) + TOLERANCE
    fixed = np.full(len(relaxed.x), np.nan)
    fixed[(relaxed.x < TOLERANCE) & (relaxed.lower.marginals > slack)] = 0
    fixed[(relaxed.x > 1 - TOLERANCE) & (-relaxed.upper.marginals > slack)] = 1
    return fixed


def _completed(
    program: BinaryProgram, fixed: NDArray[np.float64], ends: float
) -> tuple[NDArray[np.float64], float]:
    """Return the best vector with the fixed values, and an upper bound of such vectors.

    Each component is solved by branch and bound. If a component has no vector, or no time is left
    for it, the bound is infinite.

    Args:
        program: the program.
        fixed: float64 [n]: fixed values, NaN for free variables.
        ends: the time limit, as a value of `monotonic()`.
    """
    free = np.flatnonzero(np.isnan(fixed))
    x = np.where(np.isnan(fixed), 0.0, fixed)
    bound = float(program.gains @ x)
    upper = program.upper - program.rows @ x
    rows = csr_array(program.rows)[:, free]
    for part in _components(rows):
        gains = program.gains[free[part]]
        x[free[part]], best = _solve_part(gains, rows[:, part], upper, ends - monotonic())
        if best is None:
            return x, np.inf
        bound += best
    return x, bound


def _components(rows: Any) -> list[NDArray[np.int64]]:
    """Return the columns as groups without common rows; small groups are joined to one."""
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
    """Return the best values found for one component, and their bound; None without a vector."""
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
