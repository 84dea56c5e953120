"""Choices and defaults that the command line offers.

This module imports no other module of the package, so that help and shell completion stay fast.
"""

from __future__ import annotations

from enum import StrEnum

#: Maximum number of steps that `twostep` takes for a query: about a minute.
BUDGET = 10_000_000
#: Maximum number of seconds for finding a static plan.
TIME_LIMIT = 60.0


class Executor(StrEnum):
    """The engines that can evaluate queries."""

    AUTO = "auto"
    HAMLET = "hamlet"
    HAMLET_STATIC = "hamlet-static"
    SHARON = "sharon"
    SWEEP = "sweep"
    GRETA = "greta"
    ASEQ = "aseq"
    TWOSTEP = "twostep"


class InputFormat(StrEnum):
    """The formats in which events can be read."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class Format(StrEnum):
    """The formats in which results can be written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"


class Optimizer(StrEnum):
    """The algorithms that choose a static plan.

    The Sharon paper compares the first three (section 8.3). The last one scales to more queries.
    """

    #: Algorithm 8 on the graph of whole candidates.
    GWMIN = "gwmin"
    #: Expansion, reduction, and all valid plans level by level (Algorithms 5, 6, 2, 4).
    SHARON = "sharon"
    #: Expansion, and all plans, valid or not.
    EXHAUSTIVE = "exhaustive"
    #: A solver over all subsets of queries at once.
    OPTIMAL = "optimal"


class Engine(StrEnum):
    """The SQL engines for which views can be written."""

    DUCKDB = "duckdb"
    SPARK = "spark"
    TRINO = "trino"
