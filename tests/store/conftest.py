"""Fixtures of the tests of tables."""

from tests.homes import new_home, settings, spark

__all__ = ["new_home", "settings", "spark"]
