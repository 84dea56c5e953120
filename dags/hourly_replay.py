"""The DAG `hourly_replay`: from raw event files to published, validated trend aggregates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from elsinore.orchestration.house_rules import EVERY_HOUR, dag_rules, each_stream, hours
from elsinore.orchestration.replay_tasks import replay_tasks
from elsinore.orchestration.run_params import in_stream

DOC = """
### Replay of an hour, or of a stretch of hours

Lands raw event files, aggregates the event trends of every query of the workload over them, checks
a sample of the results against the reference, and publishes them.

A run owns the **windows that end in its hours** and reads back as far as the longest `WITHIN`. It
starts `ELSINORE_GRACE` minutes, 5 by default, after its hours are over, so that their raw files are
there. The run of the logical date 10:05 covers 10:00 to 11:00 (UTC), starts at 11:05, which is in
its id, and owns the windows that end after 10:00 and at 11:00 at the latest.

Files of the last week that came late or were changed land as well. Hours that this makes stale, and
hours that were missed while nothing was scheduled, are computed by the same run; more than
`ELSINORE_REOPEN_HOURS` of them are left to runs of `catch_up`, which it starts.

Nothing is visible in `trend_aggregates` that was not validated. Every task can be killed and run
again, and any hours can be run again: the tables end as after one clean run.

- To replay many hours in one run: *Trigger*, with `start` and `end` (whole hours, UTC).
- To replay them hour by hour: `airflow backfill create --dag-id hourly_replay` with `--from-date`
  and `--to-date`, the first hour and the end of the last.
- To replay another workload: the DAG `backfill_replay`.
- To find out why a task failed: the last lines of its log say what is wrong and who can mend it.

Only transient errors (a write conflict, a lost process) are tried again. A bad query, a bad
parameter, too many bad lines or a failed validation fail the run at once; it has a report all the
same.
"""


@each_stream
def dags(stream: str) -> DAG:
    """The DAG that replays each hour of a stream."""
    with DAG(
        dag_id=in_stream("hourly_replay", stream),
        description="Lands events, aggregates their trends, validates and publishes the results",
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
