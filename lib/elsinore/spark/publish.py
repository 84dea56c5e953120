"""Publishes the staged results of a run, if they are those that were validated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow.compute as pc

from elsinore.errors import ValidationError
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.aggregate_origin import STAGED, Origin, require_origins, require_unchanged
from elsinore.spark.commit_notes import commits
from elsinore.spark.publish_digest import NOTHING, combine, hour_contents
from elsinore.spark.published_origin import PUBLICATIONS, PUBLISHED
from elsinore.spark.regions import Hours
from elsinore.spark.run_metrics import find_text
from elsinore.spark.tables import Lake
from elsinore.spark.validate import STAGED_VERSION, VALIDATE_STEP, VALIDATIONS
from elsinore.spark.validate_compare import EVERY_AGGREGATE
from elsinore.timeline import EPOCH, Interval

__all__ = ["PUBLISHED", "PUBLISH_STEP", "Published", "publish"]

#: The step's name in `run_metrics`.
PUBLISH_STEP = "publish"


@dataclass(frozen=True, slots=True)
class Published:
    """What was published: rows, and the digest of their content."""

    rows: int
    digest: str


def publish(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    *,
    run: str,
    name: str = "",
    also: Sequence[Interval] = (),
) -> Published:
    """Make the staged results of some hours the published ones, in one commit.

    A second commit says in `publications` where they come from. The first one carries the same in
    its note, so that what a killed process left between the two can be told
    (`published_origin.read_publications`); publishing again mends it.

    Args:
        lake: the tables.
        workload: the queries, named in the table's history.
        interval: the hours.
        run: the run, named in the table's history.
        name: the workload's name, for people.
        also: further hours, each stretch validated by itself: those that late events re-opened.

    Raises:
        ValidationError: a stretch was not validated, its validation found a mismatch, or something
            else than an aggregation changed its staged results since. Nothing is published then.
        DataError: nothing says what a stretch's results come from.
        RestagedError: a stretch was aggregated anew since it was validated.
        ConflictError: another writer got there first; worth another try.
        LostWorkerError: worth another try.
    """
    hours = Hours(interval, tuple(also))
    version = lake.version(STAGED)
    own = workload_fingerprint(workload)
    _require_no_mismatch(lake, hours)
    origins: dict[str, Origin] = {}
    for stretch in hours.intervals:
        _require_validated(lake, stretch, version)
        origins |= _require_own(lake, stretch, version, own)
    contents = hour_contents(lake, STAGED, hours, version)
    note = {
        "run": run,
        "workload": own,
        "plans": sorted({origin.plan for origin in origins.values()}),
        "digests": {label: contents.get(label, NOTHING).digest for label in origins},
    }
    staged = lake.read(STAGED, version).where(hours.predicate(by_day=True))
    # One file a day.
    rows = staged.repartition("owned_day").drop("owned_day")
    total = sum(content.rows for content in contents.values())
    with lake.compiled(total):
        lake.replace(PUBLISHED, rows, where=hours, run=json.dumps(note), recorded=True)
    made = next(commit.version for commit in commits(lake.path(PUBLISHED)) if commit.note == note)
    checked = _agreed(lake, hours)
    now = (datetime.now(UTC) - EPOCH) // timedelta(microseconds=1)
    records = [
        {
            "owned_hour": label,
            "workload": name,
            "workload_fingerprint": own,
            "plan_fingerprint": origin.plan,
            "events_version": origin.events_version,
            "run": run,
            "digest": contents.get(label, NOTHING).digest,
            "rows": contents.get(label, NOTHING).rows,
            "validated": checked[label],
            "published_at": now,
            "published_version": made,
            "published_together": len(origins),
        }
        for label, origin in sorted(origins.items())
    ]
    lake.record(PUBLICATIONS, records, where=hours, run=run)
    return Published(total, combine(contents))


def _require_validated(lake: Lake, stretch: Interval, version: int) -> None:
    validated = find_text(lake, stretch, VALIDATE_STEP, STAGED_VERSION)
    if validated is None:
        raise ValidationError(
            f"the results of {stretch} were not validated", hint="run validate_results first"
        )
    require_unchanged(lake.root, stretch, since=int(validated), until=version)


def _require_own(lake: Lake, stretch: Interval, version: int, workload: str) -> dict[str, Origin]:
    origins = require_origins(lake.root, stretch, version=version)
    if any(origin.workload != workload for origin in origins.values()):
        raise ValidationError(
            f"staged results of {stretch} are of another workload", hint="aggregate it again"
        )
    return origins


def _require_no_mismatch(lake: Lake, hours: Hours) -> None:
    wrong = lake.rows(
        VALIDATIONS, hours.expression(by_day=False) & pc.field("mismatch"), columns=["query"]
    )
    if wrong.num_rows:
        raise ValidationError(
            f"{wrong.num_rows} aggregates of {hours.interval} differ from the reference",
            hint="see the table validations",
        )


def _agreed(lake: Lake, hours: Hours) -> Counter[str]:
    """By hour, the values that were compared with the reference."""
    compared = (pc.field("status") == "checked") & (pc.field("aggregate") != EVERY_AGGREGATE)
    where = hours.expression(by_day=False) & compared
    return Counter(lake.rows(VALIDATIONS, where, columns=["owned_hour"])["owned_hour"].to_pylist())
