"""Run sharable sets of queries together: Hamlet, with static or dynamic sharing."""

from elsinore.engine.hamlet.aggregate_set import aggregate_set

__all__ = ["aggregate_set"]
