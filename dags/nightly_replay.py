"""The DAG `nightly_replay`: daily planning, maintenance and report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, chain, cross_downstream

from elsinore.orchestration.house_rules import (
    LIGHT,
    assets,
    dag_rules,
    each_stream,
    optional_day,
)
from elsinore.orchestration.replay_tasks import (
    HoursSensor,
    ended_task,
    find_plan_task,
    report_tasks,
    step_task,
    workload_tasks,
)
from elsinore.orchestration.run_params import in_stream

DOC = """
### Daily planning, maintenance and report

For the day of the run (UTC), this DAG

- counts the events of the whole day and finds the plan for these statistics;
- checks the day's rows against every expectation;
- applies retention, compacts the tables, and removes files that no version needs (VACUUM);
- writes the data-quality report of the day, with all its runs and hours, next to the two weeks
  before it.

It **publishes nothing**: only `hourly_replay` publishes results. So it can run at the same time,
be repeated, and run for any day (*Trigger*, with `day`). It waits for an hour after midnight,
until the last hours of the day are published.

VACUUM keeps files younger than `ELSINORE_VACUUM_RETENTION_HOURS`, at least a week. During this
time, versions of tables that a running task reads, or that a result names, stay readable.
"""


@each_stream
def dags(stream: str) -> DAG:
    """Return the DAG that maintains a day of a stream."""
    with DAG(
        dag_id=in_stream("nightly_replay", stream),
        description="Daily planning, maintenance and report",
        doc_md=DOC,
        schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=optional_day(),
        tags=["elsinore", "maintenance", "quality", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=4), timeout=timedelta(hours=8)),
    ) as dag:
        wait_for_last_hours = HoursSensor(
            task_id="wait_for_last_hours",
            delta=timedelta(hours=1),
            mode="reschedule",
            poke_interval=60,
            timeout=2 * 3600,
            doc_md="Waits until an hour after the day's end.",
            **{**LIGHT, "execution_timeout": timedelta(hours=2)},
        )
        check_day = workload_tasks(
            stream,
            "check_expectations",
            "check_day",
            reads=("hours", "quarantine", "events", "plans", "validations"),
            doc_md="Checks the day's rows against the suites in `expectations/` and builds Data "
            "Docs. A failed critical expectation fails the run; the report names it.",
            **{**LIGHT, "execution_timeout": timedelta(minutes=30)},
        )
        maintain_tables = step_task(
            "maintain_tables",
            task_id="maintain_tables",
            execution_timeout=timedelta(hours=2),
            outlets=assets(stream, "run_metrics", "hours"),
            doc_md="Removes rows older than `ELSINORE_RETENTION_DAYS`, compacts partitions with "
            "several small files (OPTIMIZE), and runs VACUUM.",
        )()
        reports = report_tasks(
            stream,
            "report_night",
            "Writes the data-quality report of the day from the tables, even if a task failed. "
            "Links to Data Docs.",
        )
        ended = ended_task()
        chain(wait_for_last_hours, find_plan_task(stream), maintain_tables, [*reports, ended])
        wait_for_last_hours >> [*check_day.values()]
        cross_downstream([*check_day.values()], [*reports, ended])
        reports >> ended
    return dag
