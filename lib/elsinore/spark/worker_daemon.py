"""The daemon of Spark's Python workers. It loads the engine and its kernels once for all workers.

A worker would need 2 to 3 s to load them, and Spark ends workers that were idle for a minute.
Workers also inherit the memory limit, because they read raw files of other producers.
"""

from pyspark.daemon import manager

import elsinore.spark.aggregate_worker  # noqa: F401
from elsinore.memory_limit import limit_memory
from elsinore.numbers.compiled import load_kernels

if __name__ == "__main__":
    load_kernels()
    limit_memory()
    manager()
