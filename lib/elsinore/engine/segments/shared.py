"""The segments of a static plan, as the executor sharon takes them."""

from __future__ import annotations

from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan


def shared_segments(plan: StaticPlan) -> list[list[Segment]]:
    """What a plan shares: for each chosen candidate its place in each query that shares it."""
    return [
        [
            Segment(place.query, place.start, plan.by_id[name].pattern)
            for place in plan.by_id[name].shared_occurrences
        ]
        for name in plan.chosen
    ]
