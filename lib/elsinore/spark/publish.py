"""Publishes the staged results of a run, if they are those that were validated."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.errors import ValidationError
from elsinore.query.bound import Workload
from elsinore.spark.aggregate import STAGED
from elsinore.spark.aggregate_origin import origin
from elsinore.spark.failures import spark_failures
from elsinore.spark.publish_digest import digest
from elsinore.spark.regions import Hours, run_key
from elsinore.spark.run_metrics import text_metrics
from elsinore.spark.tables import Lake
from elsinore.spark.validate import DIGEST, VALIDATE_STEP, VALIDATIONS
from elsinore.timeline import Interval

PUBLISHED = "trend_aggregates"

#: The step's name in `run_metrics`.
PUBLISH_STEP = "publish"


@dataclass(frozen=True, slots=True)
class Published:
    """What was published: rows, and the digest of their content."""

    rows: int
    digest: str


def publish(lake: Lake, workload: Workload, interval: Interval, *, run: str) -> Published:
    """Make the staged results of an interval's hours the published ones, in one commit.

    Args:
        lake: the tables.
        workload: the queries, named in the table's history.
        interval: the hours.
        run: the run, named in the table's history.

    Raises:
        ValidationError: the run was not validated, its validation found a mismatch, or its staged
            results have changed since. Nothing is published then.
        ConflictError, LostWorkerError: worth another try.
    """
    hours = Hours(interval)
    validated = text_metrics(lake, VALIDATE_STEP, DIGEST).get(run_key(interval))
    if validated is None:
        raise ValidationError(
            f"the results of {interval} were not validated", hint="run validate_results first"
        )
    version = lake.version(STAGED)
    with spark_failures():
        _require_no_mismatch(lake, hours)
        staged = lake.read(STAGED, version).where(hours.predicate())
        if digest(staged) != validated:
            raise ValidationError(
                f"the staged results of {interval} have changed since they were validated",
                hint="run validate_results again",
            )
        plans = [row[0] for row in staged.select("plan_fingerprint").distinct().collect()]
        lake.replace(
            PUBLISHED,
            staged.repartition("owned_hour"),
            where=hours,
            run=origin(run, workload, plans),
        )
        published = lake.read(PUBLISHED).where(hours.predicate())
        return Published(published.count(), validated)


def _require_no_mismatch(lake: Lake, hours: Hours) -> None:
    checks = lake.read(VALIDATIONS).where(hours.predicate())
    wrong = checks.where("mismatch").agg(F.count("*").alias("wrong")).first()
    assert wrong is not None
    if wrong["wrong"]:
        raise ValidationError(
            f"{wrong['wrong']} aggregates of {hours.interval} differ from the reference",
            hint="see the table validations",
        )
