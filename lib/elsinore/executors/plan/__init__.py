"""The runtime plan, which assigns queries to executors, and the executors by name.

| stage | module | result |
|---|---|---|
| queries with equal trends | `alike` | classes; one query of a class runs for all |
| panes that are cached between runs | `choose_cached` | queries of `CachedPanesUnit` |
| executor of each query | `compile_plan` | `RuntimePlan`, by rules and predicted costs |
| segments that queries share | `choose_segments` | segments of `SegmentsUnit` |
| lowered queries | `units` | a `Unit` per executor call, with its tables |
| execution | `RuntimePlan.run` | partial rows (`output.wire`) of all queries |

`compile_plan.REFUSALS` has the function of each executor that returns why it cannot run a query.
Queries that only twostep can run are in `RuntimePlan.left`. If an executor cannot finish (a sum of
segments overflows a double, or a Hamlet set needs too much memory), its unit calls greta. Without
a cache of panes, or if panes are larger than their events, their unit sweeps. Besides
`compile_kernels`, this is the only package that imports several executors.

A new executor needs a folder, a `Unit`, an entry in `REFUSALS`, and a rule in `compile_plan`.
A new kind of accumulator changes only the limits of `compile_plan._is_quicker`. A new window policy
changes what predicts the events and open windows: `compile_plan`, `choose_segments`, `units`.
"""

from elsinore.choices import Executor
from elsinore.executors.plan.compile_plan import (
    REFUSALS,
    compile_plan,
    plan_for,
    require,
)
from elsinore.executors.plan.runtime_plan import RuntimePlan, measure_units
from elsinore.executors.plan.units import (
    EVERYTHING,
    GRETA,
    HAMLET,
    SEGMENTS,
    SWEEP,
    TWOSTEP,
    AloneUnit,
    CachedPanesUnit,
    Choice,
    HamletUnit,
    Request,
    Unit,
    pass_of,
)

__all__ = [
    "EVERYTHING", "GRETA", "HAMLET", "REFUSALS", "SEGMENTS", "SWEEP", "TWOSTEP", "AloneUnit",
    "CachedPanesUnit", "Choice", "Executor", "HamletUnit", "Request", "RuntimePlan", "Unit",
    "compile_plan", "measure_units", "pass_of", "plan_for", "require",
]  # fmt: skip
