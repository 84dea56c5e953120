"""The executor `auto`: which queries run together, what they share, and which run alone."""

from elsinore.engine.auto.aggregate import aggregate_auto
from elsinore.engine.auto.choose import (
    executors_by_plan,
    fixed_length,
    share_by_plan,
    share_freely,
)
from elsinore.engine.auto.glimpse import glimpse
from elsinore.engine.auto.sets import SetChoice, choose_sets, sets_of
from elsinore.engine.auto.sharing import (
    GRETA,
    HAMLET,
    NOTHING_SHARED,
    SEGMENTS,
    SWEEP,
    TWOSTEP,
    Choice,
    Shared,
    Sharing,
)

__all__ = [
    "GRETA",
    "HAMLET",
    "NOTHING_SHARED",
    "SEGMENTS",
    "SWEEP",
    "TWOSTEP",
    "Choice",
    "SetChoice",
    "Shared",
    "Sharing",
    "aggregate_auto",
    "choose_sets",
    "executors_by_plan",
    "fixed_length",
    "glimpse",
    "sets_of",
    "share_by_plan",
    "share_freely",
]
