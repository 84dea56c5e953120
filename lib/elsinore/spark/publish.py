"""Publishes the staged results of a run, if they are those that were validated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.errors import ValidationError
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.spark.aggregate_origin import STAGED, Origin, require_origins
from elsinore.spark.failures import spark_failures
from elsinore.spark.publish_digest import NOTHING, HourContent, combine, hour_contents
from elsinore.spark.published_origin import PUBLICATIONS, PUBLISHED
from elsinore.spark.regions import Hours, run_key
from elsinore.spark.run_metrics import text_metrics
from elsinore.spark.tables import Lake
from elsinore.spark.validate import DIGEST, VALIDATE_STEP, VALIDATIONS
from elsinore.spark.validate_compare import EVERY_AGGREGATE
from elsinore.timeline import Interval, hour_label, hours_of

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
        ValidationError: a stretch was not validated, its validation found a mismatch, or its staged
            results have changed since. Nothing is published then.
        DataError: nothing says what a stretch's results come from.
        ConflictError, LostWorkerError: worth another try.
    """
    hours = Hours(interval, tuple(also))
    version = lake.version(STAGED)
    own = workload_fingerprint(workload)
    with spark_failures():
        _require_no_mismatch(lake, hours)
        contents = hour_contents(lake, STAGED, hours, version)
        origins: dict[str, Origin] = {}
        for stretch in hours.intervals:
            _require_validated(lake, stretch, contents)
            origins |= _require_own(lake, stretch, version, own)
        note = {
            "run": run,
            "workload": own,
            "plans": sorted({origin.plan for origin in origins.values()}),
            "digests": {label: contents.get(label, NOTHING).digest for label in origins},
        }
        staged = lake.read(STAGED, version).where(hours.predicate())
        rows_of_hours = staged.repartition("owned_hour")
        lake.replace(PUBLISHED, rows_of_hours, where=hours, run=json.dumps(note), recorded=True)
        rows = _count(lake, PUBLISHED, hours.expression())
        agreed = (pc.field("status") == "checked") & (pc.field("aggregate") != EVERY_AGGREGATE)
        checked = _count(lake, VALIDATIONS, hours.expression() & agreed)
        records = [
            {
                "owned_hour": label,
                "workload": name,
                "workload_fingerprint": own,
                "plan_fingerprint": origin.plan,
                "events_version": origin.events_version,
                "run": run,
                "digest": contents.get(label, NOTHING).digest,
                "rows": rows[label],
                "validated": checked[label],
                # The epoch until the commit, whose clock is Spark's.
                "published_at": 0,
            }
            for label, origin in sorted(origins.items())
        ]
        found = lake.frame(PUBLICATIONS, records).withColumn("published_at", F.current_timestamp())
        lake.replace(PUBLICATIONS, found, where=hours, run=run)
    return Published(sum(rows.values()), combine(contents))


def _require_validated(lake: Lake, stretch: Interval, contents: Mapping[str, HourContent]) -> None:
    validated = text_metrics(lake, VALIDATE_STEP, DIGEST).get(run_key(stretch))
    if validated is None:
        raise ValidationError(
            f"the results of {stretch} were not validated", hint="run validate_results first"
        )
    labels = {hour_label(hour) for hour in hours_of(stretch)}
    if combine({label: c for label, c in contents.items() if label in labels}) != validated:
        raise ValidationError(
            f"the staged results of {stretch} have changed since they were validated",
            hint="run validate_results again",
        )


def _require_own(lake: Lake, stretch: Interval, version: int, workload: str) -> dict[str, Origin]:
    origins = require_origins(lake.root, stretch, version=version)
    if any(origin.workload != workload for origin in origins.values()):
        raise ValidationError(
            f"staged results of {stretch} are of another workload", hint="aggregate it again"
        )
    return origins


def _require_no_mismatch(lake: Lake, hours: Hours) -> None:
    wrong = lake.rows(VALIDATIONS, hours.expression() & pc.field("mismatch"), columns=["query"])
    if wrong.num_rows:
        raise ValidationError(
            f"{wrong.num_rows} aggregates of {hours.interval} differ from the reference",
            hint="see the table validations",
        )


def _count(lake: Lake, table: str, where: pc.Expression) -> Counter[str]:
    """Rows of a table by the hour that they belong to."""
    return Counter(lake.rows(table, where, columns=["owned_hour"])["owned_hour"].to_pylist())
