"""The tasks of a replay, from raw files to a report: the same in every DAG that replays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import BaseOperator, chain, task

from elsinore.orchestration.assets import REPORTS, assets
from elsinore.orchestration.house_rules import LIGHT
from elsinore.orchestration.job_operator import JobOperator, list_slices


def replay_tasks(*, timeout: timedelta, aggregate_timeout: timedelta) -> BaseOperator:
    """Adds the tasks of a replay to the DAG at hand, one after another.

    Args:
        timeout: of each task that Spark works for.
        aggregate_timeout: of the aggregation of one slice.

    Returns:
        The first of them.
    """
    longer: dict[str, Any] = {"execution_timeout": timeout}
    land = JobOperator(
        task_id="land",
        job="land_events",
        outlets=assets("raw_events", "quarantine", "events", "landings"),
        doc_md="Reads the raw files of the run's hours into `raw_events`, decodes their lines into "
        "`events`, and puts what could not be an event into `quarantine`, each with its reason. "
        "Lines = accepted + duplicates + quarantined, or the task fails. Published hours whose "
        "windows hold changed events are re-opened, that is, computed anew by this run.",
        **longer,
    )
    collect_statistics, find_plan = planning_tasks(**longer)
    time_slices = _list_partitions(land.output)
    aggregate = JobOperator.partial(
        task_id="aggregate",
        job="aggregate_trends",
        execution_timeout=aggregate_timeout,
        map_index_template="{{ task.slice_label }}",
        inlets=assets("events", "plans"),
        outlets=assets("trend_aggregates_staged"),
        doc_md="One Spark job for each slice: aggregates the windows that end in it, for every "
        "query and group, into `trend_aggregates_staged`. Rows of an earlier run over the same "
        "hours are replaced.",
    ).expand(time_slice=time_slices)
    validate = JobOperator(
        task_id="validate",
        job="validate_results",
        inlets=assets("trend_aggregates_staged", "events"),
        outlets=assets("validations"),
        doc_md="Recomputes a stratified sample of the staged results by the two-step reference, "
        "which constructs every trend, and compares all aggregates; integers exactly. One mismatch "
        "fails the run before anything is published. Re-opened hours have samples of their own.",
        **longer,
    )
    publish = JobOperator(
        task_id="publish",
        job="publish_results",
        inlets=assets("trend_aggregates_staged", "validations"),
        outlets=assets("trend_aggregates", "publications", "run_metrics"),
        doc_md="Copies the validated hours from `trend_aggregates_staged` to `trend_aggregates`, "
        "re-opened ones among them, in one commit; `publications` says where each hour comes from.",
        **longer,
    )
    chain(land, collect_statistics, find_plan, time_slices, aggregate, validate, publish)
    report_tasks(publish)
    return land


def planning_tasks(**arguments: Any) -> tuple[BaseOperator, BaseOperator]:
    """Adds the tasks that count the stream and find a plan from the counts; to be chained."""
    collect_statistics = JobOperator(
        task_id="collect_statistics",
        job="collect_statistics",
        inlets=assets("events"),
        doc_md="Counts the rates of event types and segments that the planner weighs.",
        **arguments,
    )
    find_plan = JobOperator(
        task_id="find_plan",
        job="find_plan",
        outlets=assets("plans"),
        doc_md="Finds what the queries share and stores the plan under its fingerprint. The same "
        "statistics and workload give the same plan.",
        **arguments,
    )
    return collect_statistics, find_plan


def report_tasks(*last: BaseOperator, job: str = "report_quality") -> None:
    """Adds the task that writes the report whatever became of the tasks before it, and the end.

    A run is as its last tasks are. So that a report does not hide the failure that it tells of, the
    run ends in a task of no work that needs both: success before the report, and the report.

    Args:
        last: the tasks that are followed by no other.
        job: writes the report.
    """
    report = JobOperator(
        task_id="report",
        job=job,
        trigger_rule="all_done",
        outlets=assets(REPORTS),
        doc_md="Writes the data-quality report of the run, or of the day, from the tables, with a "
        "link to Data Docs; also where a task before it has failed.",
        **LIGHT,
    )
    ended = EmptyOperator(
        task_id="ended",
        doc_md="Does nothing; fails where the report or what it tells of has failed.",
        # Without callbacks the scheduler itself sets its state.
        **{**LIGHT, "on_execute_callback": None, "on_success_callback": None},
    )
    for task_before in last:
        task_before >> report
        task_before >> ended
    report >> ended


def _list_partitions(landed: Any) -> Any:
    @task(task_id="list_partitions", **LIGHT)
    def list_partitions(landed: dict[str, Any], **context: Any) -> list[dict[str, str]]:
        """Cuts the run's hours into a few slices, whole hours each (`ELSINORE_SLICES`).

        Published hours that late or corrected events have re-opened are slices of their own.
        """
        return list_slices(context, landed)

    return list_partitions(landed)
