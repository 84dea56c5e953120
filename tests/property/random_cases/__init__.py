"""Random queries over the whole language, with streams that aim at its traps."""

from tests.property.random_cases.case import RandomCase, random_case
from tests.property.random_cases.constructs import CONSTRUCTS, constructs_of
from tests.property.random_cases.shape import CONTIGUOUS_KEYS
from tests.property.random_cases.streams import CALENDAR, SCHEMA

__all__ = [
    "CALENDAR", "CONSTRUCTS", "CONTIGUOUS_KEYS", "SCHEMA", "RandomCase", "constructs_of",
    "random_case",
]  # fmt: skip
