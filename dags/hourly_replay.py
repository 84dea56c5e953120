"""The DAG `hourly_replay`: from raw event files to published trend aggregates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from elsinore.orchestration.house_rules import EVERY_HOUR, dag_rules, each_stream, hours
from elsinore.orchestration.replay_tasks import replay_tasks
from elsinore.orchestration.run_params import in_stream

DOC = """
### Hourly replay

Ingests raw event files, aggregates the event trends of every query of the workload, checks a
sample of the results against the reference, and publishes the results.

A run computes the **windows that end in its hours**. It reads earlier events as far back as the
longest `WITHIN`. It starts after its hours and a grace period (`ELSINORE_GRACE_MINUTES`, 5 by
default), so that their raw files have arrived. For example, the run with the logical date 10:05
covers 10:00 to 11:00 (UTC). It starts at 11:05, the time in its id.

Late-arriving and changed files of the last week are ingested as well. The same run recomputes
hours that become stale, and hours that were missed while no scheduler ran. If there are more than
`ELSINORE_RECOMPUTE_HOURS`, it starts `catch_up` for the others.

Only hours whose sample passed appear in `results`. Tasks and runs are idempotent: you
can kill and repeat any task, and replay any hour, and get the same tables.

- To replay many hours in one run: *Trigger*, with `start` and `end` (whole hours, UTC).
- To backfill hour by hour: `airflow backfill create --dag-id hourly_replay` with `--from-date`
  (the first hour) and `--to-date` (the end of the last hour).
- To replay another workload: use the DAG `backfill_replay`.
- To find out why a task failed: read the last lines of its log. They show the error and its fix.

Airflow retries only transient errors (a write conflict, a lost process). An invalid query or
parameter, too many invalid records, or a failed validation fail the run at once. A failed run has
a report, too.
"""


@each_stream
def dags(stream: str) -> DAG:
    """Return the DAG that replays each hour of a stream."""
    with DAG(
        dag_id=in_stream("hourly_replay", stream),
        description="Ingest events, aggregate trends, check a sample, and publish the results",
        doc_md=DOC,
        # By name: a bare cron string yields data intervals of no width.
        schedule=CronDataIntervalTimetable(EVERY_HOUR, timezone="UTC"),
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=hours(optional=True),
        tags=["elsinore", "replay", "trends", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=1), timeout=timedelta(hours=6)),
    ) as dag:
        replay_tasks(stream, timeout=timedelta(minutes=30), aggregate_timeout=timedelta(hours=1))
    return dag
