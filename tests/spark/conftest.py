"""Fixtures of the tests that need Spark."""

from tests.homes import events, flights, laid_home, lake, new_home, new_spark_home, settings, spark

__all__ = [
    "events",
    "flights",
    "laid_home",
    "lake",
    "new_home",
    "new_spark_home",
    "settings",
    "spark",
]
