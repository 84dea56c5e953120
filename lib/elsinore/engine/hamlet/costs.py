"""The costs that decisions are made by, measured with `python -m benchmarks.hamlet --calibrate`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

import numpy as np

#: Names of the costs in the order of `kernels.hamlet_decide`.
NAMES = (
    *("burst", "coefficient", "product", "step"),
    *("addition", "pair", "pair_lane", "arrival"),
    *("arrival_lane", "hit", "expression", "term", "value", "snapshot"),
)

#: Costs that a lane has for each limb, where counts are wide.
WIDE_NAMES = ("product", "addition")


@cache
def load_costs() -> np.ndarray:
    """float64[14], nanoseconds with counts of 64 bits, from `costs.json` beside this module."""
    found = _load()["nanoseconds"]
    return np.array([found[name] for name in NAMES], np.float64)


@cache
def load_wide_costs(limbs: int) -> np.ndarray:
    """The same for bursts without edge predicates on the rung of so many limbs, above one."""
    costs, found = load_costs().copy(), _load()["wide"]
    costs[NAMES.index("burst")] = found["burst"]
    costs[NAMES.index("coefficient")] = found["coefficient"]
    costs[NAMES.index("step")] = found["step"]
    for name in WIDE_NAMES:
        costs[NAMES.index(name)] = found[name] + limbs * found[f"{name}_limb"]
    return costs


@cache
def _load() -> dict[str, dict[str, float]]:
    text = (resources.files(__package__) / "costs.json").read_text("utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found
