"""The DAG `hourly_replay`: from raw event files to published, validated trend aggregates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, Param, chain, task

from elsinore.orchestration.airflow_environment import SPARK_POOL
from elsinore.orchestration.job_operator import RETRY_TRANSIENT, JobOperator, list_slices
from elsinore.orchestration.run_interval import WHOLE_HOUR_PATTERN
from elsinore.orchestration.task_progress import note_progress

DOC = """
### Replay of an hour, or of a stretch of hours

Lands raw event files, aggregates the event trends of every query of the workload over them, checks
a sample of the results against the reference, and publishes them.

A run owns the **windows that end in its data interval** and reads back as far as the longest
`WITHIN`. Nothing is visible in `trend_aggregates` that was not validated. Every task can be killed
and run again, and any hours can be run again: the tables end as after one clean run.

- To replay many hours in one run: *Trigger*, with `start` and `end` (whole hours, UTC).
- To replay them hour by hour: `airflow backfill create --dag-id hourly_replay` with `--from-date`
  and `--to-date`; both hours belong to it.
- To find out why a task failed: the last lines of its log say what is wrong and who can mend it.

Only transient errors (a write conflict, a lost process) are tried again. A bad query, a bad
parameter, too many bad lines or a failed validation fail the run at once.
"""


def border(meaning: str) -> Param:
    """A parameter of its own: one that two names share would hold one value for both."""
    return Param(
        None,
        type=["null", "string"],
        pattern=WHOLE_HOUR_PATTERN,
        description=f"{meaning}: a whole hour in UTC, such as 2013-02-08T00:00:00Z. "
        "Both or none of the two; none means the data interval of the run.",
    )


DEFAULTS: dict[str, Any] = {
    "owner": "elsinore",
    "pool": SPARK_POOL,
    "retries": 2,
    "retry_policy": RETRY_TRANSIENT,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=5),
    "execution_timeout": timedelta(minutes=30),
    "on_execute_callback": note_progress("started"),
    "on_success_callback": note_progress("done"),
    "on_retry_callback": note_progress("retried"),
    "on_failure_callback": note_progress("failed"),
}

with DAG(
    dag_id="hourly_replay",
    description="Lands events, aggregates their trends, validates and publishes the results",
    doc_md=DOC,
    # By name: a bare cron string yields data intervals of no width.
    schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    params={"start": border("The first hour"), "end": border("The end of the last hour")},
    default_args=DEFAULTS,
    tags=["elsinore", "replay", "trends"],
) as dag:
    land = JobOperator(
        task_id="land",
        job="land_events",
        outlets=[Asset("raw_events"), Asset("quarantine"), Asset("events"), Asset("landings")],
        doc_md="Reads the raw files of the run's hours into `raw_events`, decodes their lines into "
        "`events`, and puts what could not be an event into `quarantine`, each with its reason. "
        "Lines = accepted + duplicates + quarantined, or the task fails.",
    )
    collect_statistics = JobOperator(
        task_id="collect_statistics",
        job="collect_statistics",
        doc_md="Counts the rates of event types and segments that the planner weighs.",
    )
    find_plan = JobOperator(
        task_id="find_plan",
        job="find_plan",
        outlets=[Asset("plans")],
        doc_md="Finds which segments the queries share (GWMIN over the conflict graph) and stores "
        "the plan under its fingerprint. The same statistics and workload give the same plan.",
    )

    @task(pool="default_pool", retries=0, execution_timeout=timedelta(minutes=1))
    def list_partitions(**context: Any) -> list[dict[str, str]]:
        """Cuts the run's hours into a few slices, whole hours each (`ELSINORE_SLICES`)."""
        return list_slices(context)

    time_slices = list_partitions()
    aggregate = JobOperator.partial(
        task_id="aggregate",
        job="aggregate_trends",
        execution_timeout=timedelta(hours=1),
        map_index_template="{{ task.slice_label }}",
        outlets=[Asset("trend_aggregates_staged")],
        doc_md="One Spark job for each slice: aggregates the windows that end in it, for every "
        "query and group, into `trend_aggregates_staged`. Rows of an earlier run over the same "
        "hours are replaced.",
    ).expand(time_slice=time_slices)
    validate = JobOperator(
        task_id="validate",
        job="validate_results",
        outlets=[Asset("validations")],
        doc_md="Recomputes a stratified sample of the staged results by the two-step reference, "
        "which constructs every trend, and compares all aggregates; integers exactly. One mismatch "
        "fails the run before anything is published.",
    )
    publish = JobOperator(
        task_id="publish",
        job="publish_results",
        outlets=[Asset("trend_aggregates"), Asset("run_metrics")],
        doc_md="Copies the validated hours from `trend_aggregates_staged` to `trend_aggregates`, "
        "in one commit.",
    )
    report = JobOperator(
        task_id="report",
        job="report_quality",
        doc_md="Writes the run's data-quality report from the tables, with a link to Data Docs.",
    )
    chain(land, collect_statistics, find_plan, time_slices, aggregate, validate, publish, report)
