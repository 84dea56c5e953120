"""Publishes the validated results of some hours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyspark.sql import SparkSession

from elsinore.errors import ConflictError
from elsinore.lake.answered import Answered, answered_by
from elsinore.ledger.fold import Fold
from elsinore.ledger.inputs import missing_inputs
from elsinore.ledger.of_run import RunLedger
from elsinore.ledger.results import lost, require_kept, stale, standing
from elsinore.ledger.rows import State, hours_in, labels
from elsinore.ledger.run_metrics import PUBLISH_STEP as STEP
from elsinore.ledger.run_metrics import note_metrics
from elsinore.ledger.staged import Staged, checked_rows, is_validated, staged
from elsinore.orchestration.run_step import Arguments, Figures
from elsinore.publish.publish_hours import Published, publish
from elsinore.publish.tables import ResultTables
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.timeline import Interval
from jobs.aggregate_trends import main as aggregate_trends
from jobs.validate_results import main as validate_results

#: How often results are computed anew because events changed while they were computed.
ROUNDS = 3


def main(arguments: Arguments, settings: Settings) -> Figures:
    """Bring `results` to the validated state, in one commit, and record where the hours come from.

    Another run may have ingested events of these hours after they were aggregated. It cannot know
    of results that were not published yet, so this run computes them again: before it publishes,
    and afterwards if events came in that moment. Results that another run has staged since the
    validation are validated again.

    Raises:
        DataError: events of the run's own hours were removed after their retention period.
        ConflictError: the results keep changing.
    """
    one = answered_by(settings, (settings.workload,))[0]
    hours, wanted = arguments.interval, hours_in(arguments.interval)
    ledger = RunLedger.open(settings, one.lake.stream.name, STEP, arguments.run)
    state = ledger.state(one.title)
    if not arguments.ingested and len(lost(state, wanted, one.reach)) == len(wanted):
        return {"provisional": 0, **standing(state)}  # they stay as they are published
    require_kept(state, wanted, one.reach)
    changed: set[str] = set()
    figures: dict[str, int] = {}
    for _ in range(ROUNDS):
        what = staged(state, hours)
        if what is None or _is_stale(state, one, hours, State.AGGREGATED):
            aggregate_trends(arguments, settings)
            validate_results(arguments, settings)
        elif what.workload_fingerprint != one.fingerprint or not is_validated(state, hours, what):
            validate_results(arguments, settings)
        else:
            with (
                ledger.failures(hours, {one.title: what.columns()}),
                open_session(settings, f"publish_results {hours} {arguments.run}") as spark,
            ):
                figures = _publish(spark, settings, one, hours, ledger, state, what, changed)
        state = ledger.state(one.title)
        if figures and not _is_stale(state, one, hours, State.PUBLISHED):
            break
    else:
        raise ConflictError(
            f"{hours} changed again during its aggregation and validation",
            hint="run the step again",
        )
    version = figures.pop("version")
    note_metrics(one.lake, one.fingerprint, hours, STEP, figures)
    found = {"changed_hours": sorted(changed), "published_version": version}
    return {**figures, **standing(state), **found}


def _is_stale(state: Fold, one: Answered, hours: Interval, of: State) -> bool:
    """Return whether events of the windows of some of the hours changed after they were read."""
    return any(map(hours.contains, stale(state, one.reach, of=of).tolist()))


def _publish(
    spark: SparkSession, settings: Settings, one: Answered, hours: Interval, ledger: RunLedger,
    state: Fold, what: Staged, changed: set[str],
) -> dict[str, int]:  # fmt: skip
    """Publish, record it, and return figures; add the changed hours."""
    tables = ResultTables.open(spark, settings.of_workload(one.name))
    done = publish(tables, hours, staged_version=what.version, note={"run": ledger.run})
    changed.update(done.hours)
    wanted = hours_in(hours)
    inputs = missing_inputs(state, wanted, one.reach)
    columns = {
        **what.columns(), "results_version": done.version, "missing_inputs": inputs,
        "rows": _per_hour(done.rows, hours), "checked_rows": checked_rows(state, hours),
        "changed_rows": _per_hour(dict.fromkeys(done.changed_hours, done.changed), hours),
    }  # fmt: skip
    ledger.append(State.PUBLISHED, hours, one.title, columns)
    return _figures(done, sum(map(bool, inputs.to_pylist())))


def _per_hour(rows: Mapping[str, int], hours: Interval) -> list[int]:
    counts = Counter(rows)
    return [counts[label] for label in labels(hours_in(hours)).to_pylist()]


def _figures(done: Published, provisional: int) -> dict[str, int]:
    return {
        "rows": sum(done.rows.values()), "changed_rows": done.changed,
        "provisional": provisional, "version": done.version,
    }  # fmt: skip
