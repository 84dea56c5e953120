"""Validates the staged results of an interval: samples against the reference, and the suites."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from elsinore.lake.answered import answered_by
from elsinore.lake.provenance import STAGED, require_origins
from elsinore.lake.regions import run_key
from elsinore.lake.run_metrics import VALIDATE_STEP, note_metrics
from elsinore.lake.sample import SampleSize
from elsinore.lake.stale_hours import is_lost
from elsinore.lake.validate import require_no_mismatch, validate
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.judge import judge, require_accepted
from elsinore.quality.run_tables import read_run_tables
from elsinore.settings import Settings
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import DAY, parse_hour, stretches
from jobs.aggregate_trends import main as aggregate_trends

#: Results that are checked of a slice of a run at least, however small its share of the run.
LEAST = 20


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Check, judge, and only then record what publishing asks for."""
    _, lake, workload = answered_by(settings, (settings.workload,))[0]
    interval, own = arguments.interval, workload_fingerprint(workload)
    if not arguments.landed and is_lost(lake.root, workload, interval):
        return {}  # they were re-opened for another workload
    # What a run of another workload has staged over these hours since.
    staged = require_origins(lake.root, interval)
    others = (hour for hour in staged if staged[hour].workload != own)
    for taken in stretches(map(parse_hour, others)):
        aggregate_trends(replace(arguments, interval=taken), settings)
    version = lake.version(STAGED)
    most = settings.sample_windows
    windows = min(most, max(LEAST, ceil(most * arguments.share)))
    size = SampleSize(windows, settings.sample_budget, settings.sample_seed)
    validation = validate(lake, workload, interval, size, run=arguments.run, version=version)
    judgement = judge(
        read_run_tables(
            settings.lake, interval, lake.stream, landed=arguments.landed, version=version
        ),
        settings.quality,
        run_key(interval),
        expectations_dir=settings.expectations_dir,
        docs=interval.length >= DAY and arguments.share == 1.0,
    )
    require_no_mismatch(validation)
    require_accepted(judgement)
    figures = validation.figures()
    note_metrics(lake, workload, interval, VALIDATE_STEP, figures)
    warnings, docs = len(judgement.failed("warning")), judgement.docs_index
    return {**figures, "warnings": warnings, "data_docs": docs}
