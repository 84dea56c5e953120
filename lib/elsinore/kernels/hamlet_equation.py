"""Equation 7 with the paper's own count of steps (Hamlet section 4)."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_ways import ALONE, SHARED, set_all, set_run


@inlined
def plan_by_equation(graph, work, s, b, n, propagated, created, g):
    """Choose at levels 1 and 2 of Figure 7; the costs of sharing among all and among none.

    `Work.seen` has the events of the burst by class. Theorem 4.3: who brings no snapshot shares;
    Theorem 4.5: each other run is judged by itself against all the rest.
    """
    set_all(graph, work, s, SHARED)
    k, t = queries_of(graph, s)
    shared = np.float64(b * n * propagated + created * k * g * t)
    alone = np.float64(k * b * n)
    kept = k
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        missed = b - work.seen[graph.runs[r]["class"]]
        if graph.runs[r]["largest"] or missed == 0:
            continue  # Theorem 4.3
        left = np.float64(
            b * n * (propagated - missed) + (created - missed) * (k - 1) * g * t + b * n
        )
        if left < shared:  # Theorem 4.5
            set_run(graph, work, s, r, ALONE)
            kept -= graph.runs[r]["high"] - graph.runs[r]["low"]
    if (shared > alone and kept == k) or kept < 2:
        set_all(graph, work, s, ALONE)
    return shared, alone


@inlined
def queries_of(graph, s):
    """Table 2's k and t: the queries of a state, and the most event types that one of them has."""
    k, t = 0, np.int64(0)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            k += 1
            t = max(t, graph.queries[q]["types"])
    return k, t
