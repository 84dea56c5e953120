"""What a sweep of a set will cost.

Amounts of work (`amounts`) times what a unit of each costs on this engine, measured from end to end
by `python -m benchmarks.sweep_costs`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

from elsinore.engine.hamlet.predict import total_cost
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.sweep.amounts import sweep_amounts
from elsinore.lowering.sweep import SweepSet


def predict_sweep(found: SweepSet, stream: Stream) -> float:
    """Nanoseconds over the span of the statistics.

    Raises:
        ParameterError: the statistics lack a type of the set.
    """
    return total_cost(sweep_amounts(found, stream), sweep_costs())


@cache
def sweep_costs() -> dict[str, float]:
    """Nanoseconds for a unit of each kind of work."""
    found = json.loads((resources.files(__package__) / "predicted.json").read_text("utf-8"))
    costs: dict[str, float] = found["sweep"]
    return costs
