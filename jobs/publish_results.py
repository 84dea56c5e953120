"""Publishes the validated results of an interval."""

from __future__ import annotations

from dataclasses import replace

from elsinore.errors import ConflictError
from elsinore.lake.answered import answered_by
from elsinore.lake.provenance import RestagedError, standing
from elsinore.lake.publish import publish
from elsinore.lake.run_metrics import PUBLISH_STEP, note_metrics
from elsinore.lake.stale_hours import is_lost, overtaken, require_kept, stale_hours
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.settings import Settings
from elsinore.timeline import stretches
from jobs.aggregate_trends import main as aggregate_trends
from jobs.validate_results import main as validate_results

#: How often results are computed anew because events changed while they were computed.
ROUNDS = 3


def main(arguments: Arguments, settings: Settings) -> Figures:
    """One commit for all hours, and one that says where they come from.

    Another run may have landed events of these hours after they were aggregated. It cannot know of
    results that were not published yet, so that it is for this run to compute them anew: before it
    publishes, and where an event came in that very moment, again. What another run has aggregated
    since this one validated it is validated again; where that was for another workload, it is
    aggregated anew before. Hours that another workload re-opened, and of which this one lacks
    events, are not its concern.

    Raises:
        DataError: events of the run's own hours were removed, as old as is kept.
        ConflictError: the results keep changing meanwhile.
    """
    _, lake, workload = answered_by(settings, (settings.workload,))[0]
    interval, name = arguments.interval, settings.queries.stem
    changed: set[str] = set()
    if not arguments.landed and is_lost(lake.root, workload, interval):
        return {"provisional": 0, **standing(settings.lake)}  # they stay as they are published
    require_kept(lake.root, workload, interval)
    for _ in range(ROUNDS):
        behind = overtaken(settings.lake, workload, interval)
        if not behind:
            try:
                figures = publish(lake, workload, interval, run=arguments.run, name=name)
            except RestagedError:
                validate_results(arguments, settings)
                continue
            changed.update(figures.pop("changed_hours"))
            # Whoever landed in the meantime did not find these hours published.
            behind = stretches(stale_hours(settings.lake, workload, interval).own)
            if not behind:
                break
        for part in behind:
            aggregate_trends(replace(arguments, interval=part), settings)
        validate_results(arguments, settings)
    else:
        raise ConflictError(f"{interval} changed again during its aggregation and validation")
    version = figures.pop("version")
    note_metrics(lake, workload, interval, PUBLISH_STEP, figures)
    found = {"changed_hours": sorted(changed), "published_version": version}
    return {**figures, **standing(settings.lake), **found}
