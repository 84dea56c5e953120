"""Settings shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

# Derandomized: the same examples on every machine, so that a failure is everybody's failure.
# `ELSINORE_EXPLORE=1` draws new ones, and their number can be raised.
EXPLORE = os.environ.get("ELSINORE_EXPLORE")
settings.register_profile(
    "committed",
    derandomize=not EXPLORE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("committed")

# Bare pytest must not make an Airflow home in the user's own.
os.environ.setdefault("AIRFLOW_HOME", str(Path(__file__).parents[1] / ".airflow"))
