"""Removes what is old enough, puts small files of tables together and drops those no one needs.

Of the published hours that are not stale it says that they are of today's tables.
"""

from __future__ import annotations

from collections import Counter

from elsinore.lake.answered import answered_by, names_of
from elsinore.lake.maintain import maintain, remove_old
from elsinore.lake.run_metrics import MAINTAIN_STEP, note_metrics, record_metrics
from elsinore.lake.stale_hours import renew
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.quality.report import write_index
from elsinore.settings import Settings


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Maintain all tables, whatever the interval: from its end days are counted back to keep.

    While a workload is not valid, nothing is removed as too old.
    """
    until = arguments.interval.end
    answered = answered_by(settings)
    longest = max(one.workload.longest_window for one in answered)
    # How far back a workload looks that is not valid now, nobody knows.
    all_known = len(answered) == len(names_of(settings))
    done: Counter[str] = Counter()
    for own in settings.with_results():
        lake = Lake.open(own)
        lake.create_all()
        removed = remove_old(lake, own, longest, until, run=arguments.run) if all_known else {}
        if removed.get("reports_expired"):
            write_index(own.reports)
        kept = maintain(lake, keep_hours=own.keep_hours, run=arguments.run)
        note_metrics(lake, None, arguments.interval, MAINTAIN_STEP, removed | kept)
        record_metrics(lake, arguments.run)  # those of runs that never came to their report, too
        done.update(removed | kept)
    for one in answered:
        renew(one.lake, one.workload, run=arguments.run)
    return done
