"""Fixtures of the tests of validation."""

from tests.homes import flights, new_home

__all__ = ["flights", "new_home"]
