"""The tasks of a replay, from raw files to a report: the same in every DAG that replays.

A task calls a step with the hours, the workload and the name of its run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import BaseSensorOperator, Context, chain, task
from airflow.sdk.exceptions import AirflowSkipException

from elsinore.orchestration.airflow_environment import SPARK_POOL
from elsinore.orchestration.airflow_pages import ReportLink, base_url
from elsinore.orchestration.callbacks import warn
from elsinore.orchestration.house_rules import LIGHT, REPORTS, assets, is_tested
from elsinore.orchestration.metrics import send_metrics
from elsinore.orchestration.run_params import (
    batches,
    context_interval,
    is_worth_replaying,
    run_interval,
    slices,
    workload_path,
)
from elsinore.orchestration.run_step import Arguments, StepProcess, collect_seldom, run_step
from elsinore.settings import Settings
from elsinore.timeline import SECOND, Interval

#: The DAG of runs that catch up.
CATCH_UP = "catch_up"


def replay_tasks(
    *, timeout: timedelta, aggregate_timeout: timedelta, first: Callable[..., Any] | None = None
) -> Any:
    """Adds the tasks of a replay to the DAG at hand, one after another.

    Args:
        timeout: of each task that may take long.
        aggregate_timeout: of the aggregation of one slice.
        first: adds the task that says what is to be computed; by default that of landing.

    Returns:
        The first of them.
    """
    longer: dict[str, Any] = {"execution_timeout": timeout}
    landed = (first or _land)(**longer)
    find_plan = find_plan_task(**longer)
    aggregate = step_task(
        "aggregate_trends",
        task_id="aggregate",
        pool=SPARK_POOL,
        execution_timeout=aggregate_timeout,
        map_index_template="{{ task.op_kwargs['time_slice']['start'][:13] }} to "
        "{{ task.op_kwargs['time_slice']['end'][:13] }}",
        inlets=assets("events", "plans"),
        outlets=assets("trend_aggregates_staged"),
        doc_md="One Spark job for each slice: aggregates the windows that end in it, for every "
        "query and group, into `trend_aggregates_staged`. Rows of an earlier run over the same "
        "hours are replaced.",
    ).expand(time_slice=landed)
    validate = step_task(
        "validate_results",
        task_id="validate",
        inlets=assets("trend_aggregates_staged", "events"),
        outlets=assets("validations"),
        doc_md="Recomputes a stratified sample of the staged results by the two-step reference, "
        "which constructs every trend, and compares all aggregates; integers exactly. One mismatch "
        "fails the run before anything is published. Re-opened hours have samples of their own.",
        **longer,
    )()
    report = step_task(
        "report_quality",
        task_id="report",
        trigger_rule="one_failed",
        outlets=assets(REPORTS),
        doc_md="Writes the report of a run that publishes nothing, since a task has failed.",
        **LIGHT,
    )()
    publish = _publish(**longer)
    for page in (publish, report):
        page.operator.operator_extra_links = (ReportLink(),)
    chain(landed, find_plan, aggregate, validate, [publish, report])
    if not is_tested():  # there is no scheduler then
        publish >> CatchUp(after=landed.operator.task_id)
    return landed


def needs_replay_task() -> Any:
    """Adds the task that ends a run at once where there is nothing to do, or others do it."""

    @task.short_circuit(inlets=assets("trend_aggregates", "run_metrics"), **LIGHT)
    def needs_replay(**context: Any) -> bool:
        """Goes on if `force` is on or an hour is stale or not published, and no batches are asked.

        Refuses to replace results of other queries by accident.
        """
        if run_batches(context):
            return False
        found = call_step("check_published", context)
        return is_worth_replaying(found, force=context["params"].get("force", False))

    return needs_replay()


def batch_tasks() -> None:
    """Adds the tasks that start a run of this DAG for each batch, where batches are asked for."""

    @task(**LIGHT)
    def split(**context: Any) -> list[dict[str, Any]]:
        """Gives the batches of the run's hours: none, unless `batch_hours` cuts them."""
        return run_batches(context)

    parts = split()
    TriggerDagRunOperator.partial(
        task_id="start_batch",
        trigger_dag_id=parts.operator.dag_id,
        reset_dag_run=True,
        map_index_template="{{ task.conf['start'][:13] }}",
        doc_md="Starts a run of its own for each batch of hours; skipped where there are none.",
        **LIGHT,
    ).expand_kwargs(parts)


def run_batches(context: Any) -> list[dict[str, Any]]:
    """For each batch of a run's hours, the parameters and the id of its own run."""
    params, run = context["params"], context["run_id"]
    return [
        {
            "conf": {**params, **part, "batch_hours": None},
            "trigger_run_id": f"{run}__{part['start'][:13]}",
        }
        for part in batches(context_interval(context), params.get("batch_hours"))
    ]


def find_plan_task(**arguments: Any) -> Any:
    """Adds the task that counts the stream and finds a plan from the counts."""
    return step_task(
        "find_plan",
        task_id="find_plan",
        inlets=assets("events"),
        outlets=assets("plans"),
        doc_md="Counts the rates of event types and segments that the planner weighs, finds what "
        "the queries share, and stores the plan under its fingerprint. The same statistics and "
        "workload give the same plan.",
        **arguments,
    )()


def run_slices(context: Any, landed: dict[str, Any]) -> list[dict[str, str]]:
    """What is aggregated as tasks of their own: the run's hours and those that it has re-opened."""
    reopened = [run_interval(**part) for part in landed["reopened"]]
    return slices([context_interval(context), *reopened], Settings.load().slices)


def _land(**arguments: Any) -> Any:
    @task(
        outlets=assets("raw_events", "quarantine", "events", "landings"),
        doc_md="Reads the raw files of the run's hours into `raw_events`, decodes their lines into "
        "`events`, and puts what could not be an event into `quarantine`, each with its reason. "
        "Lines = accepted + duplicates + quarantined, or the task fails. Published hours whose "
        "windows hold changed events are re-opened, that is, computed anew by this run. Gives the "
        "slices of all these hours to aggregate (`ELSINORE_SLICES`), and its counts as `figures`.",
        **arguments,
    )
    def land(**context: Any) -> list[dict[str, str]]:
        figures = call_step("land_events", context)
        for label, reason in figures["refused_first"].items():
            warn(context, "landing_refused", f"{label}: {reason}")
        if figures["unread_first"]:
            warn(context, "unread", figures["unread_first"])
        silent = figures["silent_hours"]
        if silent and silent % 24 == 0:  # once a day
            warn(context, "silent", f"no file has come for {silent} hours")
        return _slices_of(context, figures)

    return land()


def reopen_task(**arguments: Any) -> Any:
    """Adds the task with which a run begins that catches up: nothing lands."""

    @task(
        doc_md="Looks which published hours are stale by now and which were missed, for the run "
        "after this one. Gives the slices of its own hours to aggregate.",
        **arguments,
    )
    def reopen(**context: Any) -> list[dict[str, str]]:
        return _slices_of(context, call_step("reopen_hours", context))

    return reopen()


def _slices_of(context: Any, figures: dict[str, Any]) -> list[dict[str, str]]:
    context["ti"].xcom_push("figures", figures)
    return run_slices(context, figures)


def _publish(**arguments: Any) -> Any:
    @task(
        multiple_outputs=False,
        inlets=assets("trend_aggregates_staged", "validations"),
        outlets=assets("trend_aggregates", "publications", "run_metrics", REPORTS),
        doc_md="Copies the validated hours from `trend_aggregates_staged` to `trend_aggregates`, "
        "re-opened ones among them, in one commit; `publications` says where each hour comes from. "
        "Then writes the run's data-quality report, with a link to Data Docs; also if it fails.",
        **arguments,
    )
    def publish(**context: Any) -> dict[str, Any]:
        try:
            figures = call_step("publish_results", context)
        finally:
            call_step("report_quality", context)
        if hours := figures["provisional"]:
            warn(context, "provisional", f"{hours} published hours wait for raw files")
        return figures

    return publish()


#: `airflow dags test` runs all tasks in one process; the steps have another one, that gets ready
#: while Airflow starts.
_BESIDE = StepProcess() if is_tested() else None


def step_task(job: str, **arguments: Any) -> Any:
    """A task that runs a job and has its figures as XCom, to be called or mapped over slices."""

    # Figures are one value: each by itself would be a request to Airflow's API.
    @task(multiple_outputs=False, **arguments)
    def step(time_slice: dict[str, str] | None = None, **context: Any) -> dict[str, Any]:
        part = run_interval(time_slice["start"], time_slice["end"]) if time_slice else None
        return call_step(job, context, part)

    return step


def call_step(job: str, context: Mapping[str, Any], part: Interval | None = None) -> dict[str, Any]:
    """Runs a job for a task over all hours of the run, or a part; sends its figures as metrics.

    Raises:
        ElsinoreError: what the job raises; `transient` says whether another try may help.
    """
    settings = context_settings(context)
    dag, run_id, pages = context["dag"].dag_id, context["run_id"], base_url()
    page = f"{pages}/dags/{dag}/runs/{quote(run_id)}" if pages else None
    arguments = Arguments(part or context_interval(context), run_id, page)
    if _BESIDE is None:
        collect_seldom()
    run = run_step if _BESIDE is None else _BESIDE.run_step
    began = time.monotonic()
    try:
        figures = run(job, arguments, settings)
    except Exception as error:
        found = getattr(error, "fields", {})
        send_metrics(dag, job, found, seconds=time.monotonic() - began, failed=True)
        raise
    send_metrics(dag, job, figures, seconds=time.monotonic() - began, failed=False)
    return figures


def context_settings(context: Mapping[str, Any]) -> Settings:
    """The settings, with the workload that the run was asked for, looked up by its name."""
    settings = Settings.load()
    name = context["params"].get("workload")
    if name is None:
        return settings
    return settings.model_copy(update={"workload_file": workload_path(settings, name)})


class CatchUp(TriggerDagRunOperator):
    """Starts a run of `catch_up` over the first of the hours that this run had to leave, if any.

    The figures of the task `after` name them.
    """

    def __init__(self, *, after: str, **arguments: Any) -> None:
        about = {
            "task_id": "start_catch_up",
            "trigger_dag_id": CATCH_UP,
            "doc_md": "Starts `catch_up` where more hours are stale, or were missed, than a run "
            "takes on (`ELSINORE_REOPEN_HOURS`); skipped where there are none.",
        }
        super().__init__(**LIGHT | about | arguments)
        self.after = after

    def execute(self, context: Context) -> Any:
        """Triggers the run.

        Raises:
            AirflowSkipException: nothing is left.
        """
        figures = context["ti"].xcom_pull(task_ids=self.after, key="figures")
        if not figures["catch_up"]:
            raise AirflowSkipException("no hour is left to catch up with")
        workload = context["params"].get("workload")
        self.conf = figures["catch_up"][0] | ({"workload": workload} if workload else {})
        super().execute(context)


class HoursSensor(BaseSensorOperator):
    """Waits until some time after the hours that the run works on.

    Airflow's own sensors know the data interval alone, and would let a run that somebody asked for
    wait although the day that it is for is long over.
    """

    def __init__(self, *, delta: timedelta, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Whether the time has come.

        Raises:
            ParameterError: the run has no valid hours.
        """
        end = context_interval(context).end / SECOND
        return time.time() >= end + self.delta.total_seconds()
