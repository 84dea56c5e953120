"""Libraries that steps need and that take long to import, for whoever has the time before."""

from __future__ import annotations

import os
from importlib import import_module

_LIBRARIES = (
    "deltalake",
    "lark",
    "numba",
    "pydantic_settings",
    "pyspark.sql.connect.session",
    "tenacity",
    "great_expectations",
    "scipy.optimize",
)


def import_libraries() -> None:
    """Imports them: 5 s of a processor."""
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    for name in _LIBRARIES:
        import_module(name)
