"""Fixtures of the tests that run jobs end to end."""

from tests.homes import checkout, new_home, new_spark_home, settings, spark

__all__ = ["checkout", "new_home", "new_spark_home", "settings", "spark"]
