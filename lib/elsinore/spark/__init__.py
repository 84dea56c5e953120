"""Run workloads on Spark, and register a lake in a Spark session."""

from typing import TYPE_CHECKING, Any

from elsinore.errors import pipeline_packages

__all__ = ["register", "run"]

_PLACES = {"register": "elsinore.spark.lake_names", "run": "elsinore.spark.run_frame"}

if TYPE_CHECKING:
    from elsinore.spark.lake_names import register as register
    from elsinore.spark.run_frame import run as run
else:

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _PLACES:
            raise AttributeError(f"module 'elsinore.spark' has no attribute {name!r}")
        with pipeline_packages("elsinore.spark"):
            return getattr(import_module(_PLACES[name]), name)
