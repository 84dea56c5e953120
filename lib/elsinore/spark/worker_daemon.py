"""Spark's daemon of Python workers, with the engine and its kernels, which workers inherit.

A worker that gets them itself takes 2 to 3 s, and Spark ends workers that were idle for a minute.
Workers also inherit the memory limit: they read raw files, which others write.
"""

from pyspark.daemon import manager

import elsinore.spark.aggregate_worker  # noqa: F401
from elsinore.kernels.compiled import load_kernels
from elsinore.memory_limit import limit_memory

if __name__ == "__main__":
    load_kernels()
    limit_memory()
    manager()
