"""Validates the staged results of a run: a sample of them against the two-step reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from elsinore.errors import DataError, ValidationError
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from elsinore.spark.aggregate import EVENTS_VERSION, STAGED, STEP
from elsinore.spark.failures import spark_failures
from elsinore.spark.publish_digest import digest
from elsinore.spark.regions import Hours
from elsinore.spark.run_metrics import text_metrics
from elsinore.spark.sample import SampleSize, choose
from elsinore.spark.sample_results import Population, population
from elsinore.spark.tables import Lake
from elsinore.spark.validate_compare import Compared, validation_table
from elsinore.spark.validate_reference import check_all
from elsinore.timeline import Interval, hour_label, hours_of, parse_instant

VALIDATIONS = "validations"

#: The step's name in `run_metrics`, and the metric that publishing looks for.
VALIDATE_STEP = "validate"
DIGEST = "staged_digest"


@dataclass(frozen=True)
class Validation:
    """What came of validating a run.

    Attributes:
        staged_digest: names the staged results that were validated.
        population: the results that there were to draw from.
        compared: every aggregate of every check, in the order of the checks.
    """

    staged_digest: str
    population: Population
    compared: Sequence[Compared]

    @property
    def mismatches(self) -> tuple[Compared, ...]:
        """The aggregates in which engine and reference differ."""
        return tuple(item for item in self.compared if item.mismatch)

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; without any check, `outcome` is `not validated`."""
        checked = _results(item for item in self.compared if item.checked)
        return {
            "outcome": self._outcome(checked),
            "results": self.population.results,
            "results_beyond_enumeration": self.population.beyond,
            "checked_results": checked,
            "skipped_results": _results(item for item in self.compared if not item.checked),
            "checked_aggregates": sum(item.checked for item in self.compared),
            "mismatches": len(self.mismatches),
            "queries_checked": len({item.query for item in self.compared if item.checked}),
            DIGEST: self.staged_digest,
        }

    def _outcome(self, checked: int) -> str:
        if self.mismatches:
            return "wrong"
        return "validated" if checked else "not validated"


def validate(
    lake: Lake, workload: Workload, interval: Interval, size: SampleSize, *, run: str
) -> Validation:
    """Check a sample of the staged results of an interval and write every check to `validations`.

    The same staged results, events and seed give the same rows. Mismatches raise nothing here, so
    that they can be reported first: see `require_no_mismatch`.

    Raises:
        DataError: the staged results are of other queries than the workload's.
        UnsupportedQueryError: the reference finds a query ambiguous.
        ConflictError, LostWorkerError: worth another try.
    """
    version = lake.version(STAGED)
    with spark_failures():
        # Read once: the digest, the sample and what it is drawn from are of the same rows.
        staged = lake.read(STAGED, version).where(Hours(interval).predicate()).persist()
        try:
            _require_same_queries(workload, staged)
            named, drawn_from = digest(staged), population(staged, size.steps)
            checks = choose(lake, workload, interval, staged, _versions(lake, interval), size)
        finally:
            staged.unpersist()
        compared = list(check_all(lake, workload, checks, Budget(size.steps)))
        declared = lake.schema(VALIDATIONS).spark()
        rows = validation_table(compared).select(declared.names)
        table = lake.spark.createDataFrame(rows, schema=declared).coalesce(1)
        lake.replace(VALIDATIONS, table, where=Hours(interval), run=run)
    return Validation(named, drawn_from, compared)


def require_no_mismatch(validation: Validation) -> None:
    """Stop here if the engine and the reference differ anywhere.

    Raises:
        ValidationError: naming the first mismatch; all of them in `mismatches`.
    """
    mismatches = validation.mismatches
    if not mismatches:
        return
    more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
    raise ValidationError(
        f"results differ from the reference: {mismatches[0]}{more}",
        hint="see the table validations",
        mismatches=tuple(str(item) for item in mismatches[:100]),
    )


def _versions(lake: Lake, interval: Interval) -> dict[str, int]:
    """By hour, the version of `events` that its aggregation read.

    An hour that several slices covered in the course of time was last aggregated by the one that
    read the latest version.
    """
    versions: dict[str, int] = {}
    owned = {hour_label(hour) for hour in hours_of(interval)}
    for key, version in text_metrics(lake, STEP, EVENTS_VERSION).items():
        start, end = (parse_instant(f"{label}:00") for label in key.split("_"))
        for label in owned & {hour_label(hour) for hour in hours_of(Interval(start, end))}:
            versions[label] = max(versions.get(label, 0), int(version))
    return versions


def _require_same_queries(workload: Workload, staged: DataFrame) -> None:
    known = {(query.name, query.fingerprint) for query in workload.queries}
    found = {tuple(row) for row in staged.select("query", "query_fingerprint").distinct().collect()}
    if other := sorted(name for name, _ in found - known):
        raise DataError(
            f"staged results are of other queries than the workload's: {', '.join(other)}",
            hint="aggregate the interval again",
        )


def _results(compared: Iterable[Compared]) -> int:
    return len({(item.query, item.group_key, item.window) for item in compared})
