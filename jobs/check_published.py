"""Looks up which hours of an interval are published, and for which queries."""

from __future__ import annotations

from elsinore.catalog.load_schema import load_schema
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.lake import published_hours
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Figures that `orchestration.run_params` decides by; without a lake, nothing is there."""
    workload = load_workload(settings.workload_file, load_schema(settings.schema_file))
    return published_hours(settings.lake, workload, arguments.interval)
