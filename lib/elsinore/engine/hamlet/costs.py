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
)


@cache
def load_costs() -> np.ndarray:
    """float64[8], nanoseconds, from `costs.json` beside this module."""
    text = (resources.files(__package__) / "costs.json").read_text("utf-8")
    found = json.loads(text)["nanoseconds"]
    return np.array([found[name] for name in NAMES], np.float64)
