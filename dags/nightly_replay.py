"""The DAG `nightly_replay`: the day's plan, the tables' maintenance, the day's report."""

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
### What is done once for a day

For the day of the run (UTC): counts the whole day's stream and finds the plan that fits it, judges
the day's rows by every expectation, compacts the tables and removes files that no version needs
any more, and writes the day's data-quality report: all its runs and hours, beside the two weeks
before it.

It **publishes nothing**: results are what `hourly_replay` published. So it can run beside it, be
repeated, and be run for any day (*Trigger*, with `day`). It waits for an hour after midnight, for
the day's last hours to be published.

VACUUM keeps what is younger than `ELSINORE_KEEP_HOURS`, a week at least: a version of a table that
a running task reads, or that a result names, stays readable that long.
"""


@each_stream
def dags(stream: str) -> DAG:
    """The DAG that looks after a day of a stream."""
    with DAG(
        dag_id=in_stream("nightly_replay", stream),
        description="Plans from a day's statistics, maintains the tables, reports on the day",
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
        judge_day = workload_tasks(
            stream,
            "judge_quality",
            "judge_day",
            reads=("landings", "quarantine", "events", "plans", "validations"),
            doc_md="Judges the day's rows by the suites of `expectations/` and builds Data Docs. A "
            "failed critical expectation fails the run; the report says which.",
            **{**LIGHT, "execution_timeout": timedelta(minutes=30)},
        )
        maintain_tables = step_task(
            "maintain_tables",
            task_id="maintain_tables",
            execution_timeout=timedelta(hours=2),
            outlets=assets(stream, "run_metrics", "history"),
            doc_md="Removes what is older than `ELSINORE_KEEP_DAYS`, then OPTIMIZE where a "
            "partition has several small files, then VACUUM; copies what the tables' logs say of "
            "commits, before Delta cleans them.",
        )()
        reports = report_tasks(
            stream,
            "report_night",
            "Writes the data-quality report of the day from the tables, with a link to Data Docs; "
            "also where a task before it has failed.",
        )
        ended = ended_task()
        chain(wait_for_last_hours, find_plan_task(stream), maintain_tables, [*reports, ended])
        wait_for_last_hours >> [*judge_day.values()]
        cross_downstream([*judge_day.values()], [*reports, ended])
        reports >> ended
    return dag
