"""The only package that knows Spark; `run` is for everybody's DataFrames."""

from typing import TYPE_CHECKING, Any

from elsinore.errors import pipeline_packages

if TYPE_CHECKING:
    from elsinore.spark.run_frame import run as run
else:

    def __getattr__(name: str) -> Any:
        if name != "run":
            raise AttributeError(f"module 'elsinore.spark' has no attribute {name!r}")
        with pipeline_packages("elsinore.spark"):
            from elsinore.spark.run_frame import run
        return run
