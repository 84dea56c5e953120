"""Validates the staged results of an interval: samples against the reference, and the suites."""

from __future__ import annotations

from elsinore.lake.provenance import STAGED, staged_origins
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import LAND_STEP, VALIDATE_STEP, find_text, note_metrics
from elsinore.lake.sample import SampleSize
from elsinore.lake.stale_hours import NOTHING_LANDED, reopened_hours
from elsinore.lake.tables import Lake
from elsinore.lake.validate import require_no_mismatch, validate
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.judge import judge, require_accepted
from elsinore.quality.run_tables import read_run_tables
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import DAY, parse_hour, stretches
from jobs.aggregate_trends import main as aggregate_trends


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Check, judge, and only then record what publishing asks for; re-opened hours likewise."""
    lake = Lake.open(settings)
    workload = load_workload(settings.workload_file, lake.stream)
    interval, own = arguments.interval, workload_fingerprint(workload)
    reopened = reopened_hours(lake, workload, interval)
    landed = find_text(lake, workload, interval, LAND_STEP, NOTHING_LANDED) is None
    size = SampleSize(settings.sample_windows, settings.sample_budget, settings.sample_seed)
    for part in (interval, *reopened):
        # What a run of another workload has staged over these hours since.
        staged = staged_origins(lake.root, part)
        others = (hour for hour in staged if staged[hour].workload != own)
        for taken in stretches(map(parse_hour, others)):
            aggregate_trends(Arguments(taken, arguments.run), settings)
    # Each stretch has a sample of its own: a few re-opened hours are not lost in a long run.
    version = lake.version(STAGED)
    validations = {
        part: validate(lake, workload, part, size, run=arguments.run, version=version)
        for part in (interval, *reopened)
    }
    judgement = judge(
        read_run_tables(
            settings.lake,
            interval,
            reopened,
            landed=landed,
            version=version,
            has_ids=lake.stream.id_field is not None,
        ),
        settings.quality,
        run_key(interval),
        expectations_dir=settings.expectations_dir,
        docs=interval.length >= DAY,
    )
    for validation in validations.values():
        require_no_mismatch(validation)
    require_accepted(judgement)
    for part, validation in validations.items():
        note_metrics(lake, workload, part, VALIDATE_STEP, validation.figures())
    figures = validations[interval].figures()
    return {
        **figures,
        "reopened": len(reopened),
        "warnings": len(judgement.warnings),
        "data_docs": judgement.docs_index,
    }
