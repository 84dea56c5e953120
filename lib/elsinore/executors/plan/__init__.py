"""The runtime plan, which assigns queries to executors, and the executors by name."""

from elsinore.choices import Executor
from elsinore.executors.plan.compile_plan import (
    REFUSALS,
    compile_plan,
    plan_for,
    require,
)
from elsinore.executors.plan.runtime_plan import RuntimePlan
from elsinore.executors.plan.units import (
    EVERYTHING,
    GRETA,
    HAMLET,
    SEGMENTS,
    SWEEP,
    TWOSTEP,
    AloneUnit,
    Choice,
    HamletUnit,
    Request,
    Unit,
)

__all__ = [
    "EVERYTHING", "GRETA", "HAMLET", "REFUSALS", "SEGMENTS", "SWEEP", "TWOSTEP", "AloneUnit",
    "Choice", "Executor", "HamletUnit", "Request", "RuntimePlan", "Unit", "compile_plan",
    "plan_for", "require",
]  # fmt: skip
