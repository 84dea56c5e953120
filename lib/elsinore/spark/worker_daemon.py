"""Spark's daemon of Python workers, with the engine imported: a worker forked from it has it.

A worker that imports it itself takes 2 s, and Spark ends workers that were idle for a minute.
"""

from pyspark.daemon import manager

import elsinore.spark.aggregate_worker  # noqa: F401

if __name__ == "__main__":
    manager()
