"""Validates the staged results of a run: a sample of them against the two-step reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from elsinore.errors import DataError, ValidationError
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from elsinore.spark.aggregate_origin import STAGED
from elsinore.spark.regions import Hours
from elsinore.spark.sample import Check, SampleSize, choose
from elsinore.spark.sample_results import Population, population, read_results
from elsinore.spark.tables import Lake
from elsinore.spark.validate_compare import COUNTED, Compared, validation_table
from elsinore.spark.validate_metrics import CHECKED_OF, RESULTS_OF
from elsinore.spark.validate_reference import check_all
from elsinore.timeline import Interval

VALIDATIONS = "validations"

#: The step's name in `run_metrics`, and the metric that publishing looks for.
VALIDATE_STEP = "validate"
STAGED_VERSION = "staged_version"


@dataclass(frozen=True)
class Validation:
    """What came of validating a run.

    Attributes:
        staged_version: the version of the staged results that was validated.
        population: the results that there were to draw from.
        covered: of these, how many were checked, by query and class of size.
        compared: every aggregate of every check once, by query, window and group.
    """

    staged_version: int
    population: Population
    covered: Mapping[tuple[str, int], int]
    compared: Sequence[Compared]

    @property
    def mismatches(self) -> tuple[Compared, ...]:
        """The aggregates in which engine and reference differ."""
        return tuple(item for item in self.compared if item.mismatch)

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; without any check, `outcome` is `not validated`.

        `results_of_sample` and those `of <query>` count results that are staged; `checked_results`
        also places where nothing is. `searched_windows` are those in which every group was looked
        for that should have a result; `skipped_windows` could not be searched, and the rows of
        `validations` say why.
        """
        windows = [item for item in self.compared if item.whole]
        results = [item for item in self.compared if not item.whole]
        return {
            "outcome": self._outcome(),
            "results": self.population.results,
            "results_beyond_enumeration": self.population.beyond,
            "checked_results": _results(item for item in results if item.checked),
            "skipped_results": _results(item for item in results if not item.checked),
            "searched_windows": sum(item.checked for item in windows),
            "skipped_windows": sum(not item.checked for item in windows),
            "results_of_sample": sum(self.covered.values()),
            "strata": len(self.population.strata),
            "strata_covered": len(self.covered),
            "counted_results": _results(item for item in results if item.method == COUNTED),
            "checked_aggregates": sum(item.checked for item in results),
            "mismatches": len(self.mismatches),
            "queries_checked": len({item.query for item in self.compared if item.checked}),
            STAGED_VERSION: str(self.staged_version),
            **self._by_query(),
        }

    def _by_query(self) -> dict[str, int]:
        """Results and checked results of each query that has any."""
        figures = {}
        for name, results in self.population.by_query().items():
            checked = sum(n for (query, _), n in self.covered.items() if query == name)
            figures[f"{RESULTS_OF}{name}"] = results
            figures[f"{CHECKED_OF}{name}"] = checked
        return figures

    def _outcome(self) -> str:
        if self.mismatches:
            return "wrong"
        # That nothing is missing says nothing of the results that there are.
        told = any(
            item.checked for item in self.compared if not (item.whole and self.population.results)
        )
        return "validated" if told else "not validated"


def validate(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    size: SampleSize,
    *,
    run: str,
    version: int | None = None,
) -> Validation:
    """Check a sample of the staged results of an interval and write every check to `validations`.

    It needs no Spark. The results are those of a version of the staged table, None: the latest.
    The same staged results, events and seed give the same rows. Mismatches raise nothing here, so
    that they can be reported first: see `require_no_mismatch`.

    Raises:
        DataError: the staged results are of other queries than the workload's.
        UnsupportedQueryError: the reference finds a query ambiguous.
        ConflictError: worth another try.
    """
    pinned = lake.version(STAGED) if version is None else version
    results = read_results(lake, Hours(interval), pinned, size.built)
    _require_same_queries(workload, results)
    checks = choose(lake, workload, interval, results, pinned, size)
    # What two checks find missing is one mismatch.
    once = {
        (_place(item), item.aggregate): item
        for item in check_all(lake, workload, checks, Budget(size.steps))
    }
    compared = sorted(once.values(), key=_place)
    rows = validation_table(compared).to_pylist()
    lake.record(VALIDATIONS, rows, where=Hours(interval), run=run)
    covered = _covered(workload, checks, compared)
    return Validation(pinned, population(results), covered, compared)


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


def _require_same_queries(workload: Workload, results: pd.DataFrame) -> None:
    known = {(query.name, query.fingerprint) for query in workload.queries}
    pairs = results[["query", "query_fingerprint"]].drop_duplicates()
    found = set(pairs.itertuples(index=False, name=None))
    if other := sorted(name for name, _ in found - known):
        raise DataError(
            f"staged results are of other queries than the workload's: {', '.join(other)}",
            hint="aggregate the interval again",
        )


def _place(item: Compared) -> tuple[str, int, str]:
    return item.query, item.window.start, item.group_key


def _covered(
    workload: Workload, checks: Iterable[Check], compared: Iterable[Compared]
) -> Counter[tuple[str, int]]:
    done = {_place(item) for item in compared if item.checked}
    covered: Counter[tuple[str, int]] = Counter()
    for check in checks:
        place = check.place
        bounds = workload.by_name[place.query].window.bounds(place.window)
        if check.stratum is not None and (place.query, bounds.start, place.group_key) in done:
            covered[place.query, check.stratum] += 1
    return covered


def _results(compared: Iterable[Compared]) -> int:
    return len({(item.query, item.group_key, item.window) for item in compared})
