"""Removes rows after their retention period, compacts small files, and removes unused files."""

from __future__ import annotations

from collections import Counter

from elsinore.lake.answered import answered_by, names_of
from elsinore.ledger.run_metrics import MAINTAIN_STEP, note_metrics, record_metrics
from elsinore.maintain.optimize import maintain
from elsinore.maintain.retention import remove_old
from elsinore.maintain.tables import OwnTables
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.report import write_index
from elsinore.settings import Settings
from elsinore.spark.session import open_session


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Maintain all tables of the stream; retention periods end with the interval.

    While a workload is not valid, nothing is removed as too old.
    """
    until, run = arguments.interval.end, arguments.run
    answered = answered_by(settings)
    longest = max(one.workload.longest_window for one in answered)
    # It is not known how far back an invalid workload looks.
    all_known = len(answered) == len(names_of(settings))
    done: Counter[str] = Counter()
    with open_session(settings, f"maintain_tables {arguments.interval} {run}") as spark:
        for own in settings.with_results():
            tables = OwnTables.open(spark, own)
            removed = remove_old(tables, longest=longest, until=until, run=run) if all_known else {}
            if removed.get("reports_expired"):
                write_index(own.reports)
            unused = maintain(tables, keep_hours=own.vacuum_retention_hours, run=run)
            note_metrics(tables.lake, "", arguments.interval, MAINTAIN_STEP, removed | unused)
            # Metrics of runs that did not reach their report, too.
            record_metrics(tables.lake, run)
            done.update(removed | unused)
    return done
