"""Looks up which hours of an interval are published, and for which queries."""

from __future__ import annotations

from elsinore.lake.answered import answered_by
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.lake import published_hours
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Figures that `orchestration.run_params` decides by; without a lake, nothing is there."""
    asked, hours = answered_by(settings, arguments.workloads), arguments.interval
    states = [state_of(settings.of_workload(one.name)) for one in asked]
    found = [
        published_hours(one.lake.root, state, one.workload, hours)
        for one, state in zip(asked, states, strict=True)
    ]
    return {
        "hours": sum(one["hours"] for one in found),
        "published_hours": sum(one["published_hours"] for one in found),
        "other_queries": [name for one in found for name in one["other_queries"]],
    }
