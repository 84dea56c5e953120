"""The tasks of a replay, from raw files to a report: the same in every DAG that replays.

A task calls a step with the hours, the workload and the name of its run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Asset, BaseSensorOperator, Context, chain, task, task_group
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowSkipException
from airflow.sdk.lineage import get_hook_lineage_collector

from elsinore.errors import ParameterError
from elsinore.orchestration.airflow_environment import SPARK_POOL
from elsinore.orchestration.airflow_pages import ReportLink, base_url
from elsinore.orchestration.callbacks import warn
from elsinore.orchestration.house_rules import (
    LIGHT,
    REPORTS,
    RESULTS,
    RESULTS_BY_HOUR,
    assets,
    folder_of,
    is_tested,
    settings_of,
)
from elsinore.orchestration.metrics import send_metrics
from elsinore.orchestration.run_params import (
    asked_of,
    context_interval,
    in_stream,
    is_worth_replaying,
)
from elsinore.orchestration.run_step import Arguments, StepProcess, collect_seldom, run_step
from elsinore.settings import Settings
from elsinore.timeline import HOUR, SECOND, Interval, format_instant
from elsinore.wording import some_of

_LOG = logging.getLogger(__name__)

#: The DAG of runs that catch up.
CATCH_UP = "catch_up"


def replay_tasks(
    stream: str,
    *,
    timeout: timedelta,
    aggregate_timeout: timedelta,
    first: Callable[..., Any] | None = None,
) -> Any:
    """Add the tasks of a replay to the current DAG, and return the first one.

    After the plan, each slice of the run's hours is aggregated, validated and published
    independently: a failed slice does not stop the others. The same holds for each workload of a
    slice, except that the queries of all workloads are aggregated together.

    Args:
        stream: the stream of the DAG, see `known_streams`.
        timeout: of each task that may take long.
        aggregate_timeout: of the aggregation of one slice.
        first: adds the task that returns the slices; by default the ingest task.
    """
    longer: dict[str, Any] = {"execution_timeout": timeout}
    slices = (first or ingest_task)(stream, **longer)
    find_plan = find_plan_task(stream, **longer)
    published = slice_tasks(stream, slices, longer, aggregate_timeout)
    reports = report_tasks(
        stream,
        "report_quality",
        "Writes the data-quality report of the run, even if a task failed. Links to Data Docs.",
    )
    chain(slices, find_plan, published, reports)
    published >> ended_task()
    if not is_tested():  # a test run has no scheduler
        # Also after a failure, which does not concern other hours. But failed runs of `catch_up`
        # would start each other endlessly.
        rule = "none_failed" if first is recompute_task else "all_done"
        task_id = slices.operator.task_id
        published >> CatchUp(stream=stream, after=task_id, trigger_rule=rule)
    return slices


def each_workload(stream: str) -> dict[str, str]:
    """By name, what ends the ids of the tasks that each workload of a stream has for itself."""
    return {name: f"_{name}" if name else "" for name in settings_of(stream).workloads}


def report_tasks(stream: str, job: str, about: str) -> list[Any]:
    """Adds the tasks that write the report of each workload, also where a task has failed."""
    writes = ("run_metrics", REPORTS)
    how: dict[str, Any] = {"trigger_rule": "all_done", "doc_md": about, **LIGHT}
    reports = workload_tasks(stream, job, "report", writes=writes, **how)
    for name, report in reports.items():
        report.operator.operator_extra_links = (ReportLink(name),)
    return list(reports.values())


def workload_tasks(
    stream: str, job: str, task_id: str, *, reads: Sequence[str] = (), writes: Sequence[str] = (),
    **arguments: Any,
) -> dict[str, Any]:  # fmt: skip
    """Adds a task for each workload that runs a job for it over all hours; by workload.

    `reads` and `writes` are names of tables.
    """
    return {
        name: step_task(
            job,
            name,
            task_id=f"{task_id}{suffix}",
            inlets=assets(stream, *reads, workload=name),
            outlets=assets(stream, *writes, workload=name),
            **arguments,
        )()
        for name, suffix in each_workload(stream).items()
    }


def slice_tasks(
    stream: str, found: Any, longer: dict[str, Any], aggregate_timeout: timedelta
) -> Any:
    """Add the tasks of each slice, a mapped group; see `replay_tasks`.

    Args:
        stream: the stream of the DAG.
        found: the task that returns the slices.
        longer: arguments of each task.
        aggregate_timeout: of the aggregation of one slice.
    """
    of_slice: dict[str, Any] = {
        **longer,
        "map_index_template": "{{ task.op_kwargs['time_slice']['start'][:13] }} to "
        "{{ task.op_kwargs['time_slice']['end'][:13] }}",
        # A slice is published before the next one is aggregated.
        "weight_rule": "upstream",
    }
    aggregate = step_task(
        "aggregate_trends",
        task_id="aggregate",
        inlets=assets(stream, "events", "plans"),
        outlets=[
            asset
            for name in each_workload(stream)
            for asset in assets(stream, "results_staged", workload=name)
        ],
        doc_md="Runs one Spark job that aggregates the windows that end in the slice, per query "
        "and group, into `results_staged`. It replaces rows of an earlier run over the "
        "same hours (idempotent).",
        **of_slice | {"pool": SPARK_POOL, "execution_timeout": aggregate_timeout},
    )
    checked = [
        (_validate_task(stream, *own, **of_slice), _publish_task(stream, *own, **of_slice))
        for own in each_workload(stream).items()
    ]

    @task_group(prefix_group_id=False)
    def slices(time_slice: dict[str, Any]) -> None:
        """Aggregates, validates and publishes a slice of the run's hours."""
        own = {"time_slice": time_slice}
        aggregated = aggregate(**own)
        for validate, publish in checked:
            chain(aggregated, validate(**own), publish(**own))

    return slices.expand(time_slice=found)


def _validate_task(stream: str, name: str, suffix: str, **arguments: Any) -> Any:
    return step_task(
        "validate_results",
        name,
        task_id=f"validate{suffix}",
        inlets=assets(stream, "results_staged", "events", workload=name),
        outlets=assets(stream, "validations", workload=name),
        doc_md="Recomputes a stratified sample of the staged results with the two-step reference, "
        "which constructs every trend, and compares all aggregates (integers exactly). A mismatch "
        "fails the slice before any of it is published.",
        **arguments,
    )


def ended_task() -> Any:
    """Add a task that only carries the failure of the tasks before it.

    Airflow derives a run's state from its leaf tasks, and the report always succeeds.
    """
    return EmptyOperator(
        task_id="ended",
        trigger_rule="none_failed",  # a run of one workload skips the tasks of others
        doc_md="Fails if a task before it failed, so that the run fails. Does nothing else.",
        # Without callbacks the scheduler itself sets its state.
        **{**LIGHT, "on_execute_callback": None, "on_success_callback": None},
    )


def needs_replay_task(stream: str) -> Any:
    """Adds the task that ends a run at once where there is nothing to do."""

    @task.short_circuit(inlets=assets(stream, "results", "hours"), **LIGHT)
    def needs_replay(**context: Any) -> bool:
        """Goes on if `force` is on or an hour is stale or not published.

        Refuses to replace results of other queries by accident.
        """
        found, params = call_step("check_published", context), context["params"]
        if "force" not in params:  # DAGs without this parameter, such as `catch_up`
            found = {**found, "other_queries": []}
        return is_worth_replaying(found, force=params.get("force", False))

    return needs_replay()


def find_plan_task(stream: str, **arguments: Any) -> Any:
    """Adds the task that counts the stream and finds a plan from the counts."""
    return step_task(
        "find_plan",
        task_id="find_plan",
        inlets=assets(stream, "events"),
        outlets=assets(stream, "plans"),
        doc_md="Counts the rates of event types and segments, finds the patterns that the queries "
        "share, and stores the plan under its fingerprint. Equal statistics and queries give the "
        "same plan.",
        **arguments,
    )()


def ingest_task(stream: str, *, late: bool = True, **arguments: Any) -> Any:
    """Add the task that ingests the run's hours.

    Args:
        stream: the stream of the DAG.
        late: whether it also looks for late files, and for hours that were missed.
        arguments: of the task.
    """

    @task(
        outlets=assets(stream, "raw_events", "quarantine", "events", "hours"),
        doc_md="Writes the records of the run's raw files to `raw_events`, and rejected records "
        "with their reasons to `quarantine` (dead letter). Then brings `events` up to date, which "
        "has the winning record of each event. Published hours whose windows contain changed "
        "events become stale; this run recomputes them, and the log shows the reason for each. "
        "Returns the slices of all these hours (`ELSINORE_SLICES`), and its counts as `figures`.",
        **arguments,
    )
    def ingest(**context: Any) -> list[dict[str, Any]]:
        changed: dict[str, Any] = {} if late else {"late_arrival_days": 0}
        run_slices(context, (), ingested=True)  # refuses more than Airflow maps before any work
        figures = call_step("ingest_events", context, **changed)
        _warn_about_ingest(context, figures)
        _warn_if_stale(context, figures)
        return _slices_of(context, figures, ingested=True)

    return ingest()


def _warn_about_ingest(context: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    """Raise the alerts about files, each once."""
    if refused := figures["refused_first"].items():
        told = some_of((f"{label}: {reason}" for label, reason in sorted(refused)), 5)
        warn(context, "ingest_refused", told)
    if emptied := figures["emptied_first"]:
        names = (f"{label}: {', '.join(fields)}" for label, fields in sorted(emptied.items()))
        problem = "fields with values in the week before have no values in "
        warn(context, "emptied", problem + some_of(names, 5))
    if figures["unread_first"]:
        warn(context, "unrecognized_files", figures["unread_first"])
    silent, hours = figures["silent_hours"], context_interval(context).length // HOUR
    if silent // 24 > max(silent - hours, 0) // 24:  # once a day
        warn(context, "source_stale", f"no file arrived for {silent} hours")


def _warn_if_stale(context: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    """Raise the alert about freshness, in scheduled runs, once per multiple of the limit."""
    limit = Settings.load().freshness_hours
    if limit is None or context["dag_run"].run_type != "scheduled":
        return
    # A run without published results before it has nothing that could be old.
    if (until := figures.get("published_until")) is not None:
        interval = context_interval(context)
        age, before = interval.end - until, interval.start - until
        if (age - 1) // (limit * HOUR) > max(before - 1, 0) // (limit * HOUR):
            problem = f"the newest published hour ended {age // HOUR} hours before the run's hours"
            warn(context, "results_stale", f"{problem}; the limit is {limit}")


def recompute_task(_stream: str, **arguments: Any) -> Any:
    """Add the first task of a run that catches up, which ingests nothing."""

    @task(
        doc_md="Finds published hours that are stale, and missed hours, for the next run. Returns "
        "the slices of its own hours to aggregate.",
        **arguments,
    )
    def recompute(**context: Any) -> list[dict[str, Any]]:
        return _slices_of(context, call_step("recompute_hours", context), ingested=False)

    return recompute()


def _slices_of(context: Any, figures: dict[str, Any], *, ingested: bool) -> list[dict[str, Any]]:
    context["ti"].xcom_push("figures", figures)
    for reason in figures["reasons"]:
        _LOG.info("to recompute: %s", reason)
    recomputed = [Interval.parse(**part) for part in figures["recomputed"]]
    return run_slices(context, recomputed, ingested=ingested)


def run_slices(
    context: Any, recomputed: Sequence[Interval], *, ingested: bool
) -> list[dict[str, Any]]:
    """Return the slices of a run, as plain data: its own hours, and stale hours to recompute.

    It returns at most as many as Airflow can map; the next run finds the others again.

    Raises:
        ParameterError: the run's own slices are more.
    """
    own, number = context_interval(context), Settings.load().slices
    hours = int(context["params"].get("batch_hours") or 0)
    most, grain = (own.length // HOUR, hours * HOUR) if hours else (number, HOUR)
    cut = [(own, ingested, own.split(most, grain=grain))]
    amount, limit = len(cut[0][-1]), conf.getint("core", "max_map_length")
    if amount > limit:
        raise ParameterError(
            f"the run has {amount:,} slices; Airflow supports {limit:,} per run",
            hint="choose larger batches or fewer hours, or raise [core] max_map_length of Airflow",
        )
    for stretch in recomputed:
        pieces = stretch.split(number, grain=HOUR)
        if (amount := amount + len(pieces)) > limit:
            break
        cut.append((stretch, False, pieces))
    return [
        {
            "start": format_instant(piece.start),
            "end": format_instant(piece.end),
            "ingested": is_own,
            "share": piece.length / whole.length,
        }
        for whole, is_own, pieces in cut
        for piece in pieces
    ]


def _publish_task(stream: str, name: str, suffix: str, **arguments: Any) -> Any:
    results, by_hour = assets(stream, RESULTS, RESULTS_BY_HOUR, workload=name)
    (ledger,) = assets(stream, "hours", workload=name)

    @task(
        multiple_outputs=False,
        task_id=f"publish{suffix}",
        inlets=assets(stream, "results_staged", "validations", workload=name),
        outlets=[results, by_hour, ledger],
        # They would be in each other's way.
        max_active_tis_per_dagrun=1,
        doc_md="Brings `results` to the state of the validated results in one commit, which "
        "writes only rows that differ. `hours` records the origin of each hour. Emits the assets "
        "`results` and `results_by_hour`. Skipped if no hour has changed rows: no asset event is "
        "emitted then.",
        **arguments,
    )
    def publish(time_slice: dict[str, Any], **context: Any) -> dict[str, Any]:
        figures = call_step("publish_results", context, time_slice, task_of=name)
        _warn_if_provisional(context, figures)
        emit_results(context["outlet_events"], results, by_hour, figures)
        return figures

    return publish


def emit_results(events: Any, results: Asset, by_hour: Asset, figures: Mapping[str, Any]) -> None:
    """Describe the events of the assets of results: the changed hours, and the table's version.

    Consumers of `by_hour` run once per hour, and ordinary consumers never run on its events,
    because these have a partition key.

    Raises:
        AirflowSkipException: no hour has changed rows, so that there must be no event.
    """
    hours = figures.get("changed_hours")
    if not hours:
        raise AirflowSkipException("the published rows of all hours are unchanged")
    version = {"version": figures["published_version"]}
    events[results].extra = {"hours": hours} | version
    events[by_hour].extra = version
    events[by_hour].add_partitions(hours)


#: `airflow dags test` runs all tasks in one process; the steps have another one, that gets ready
#: while Airflow starts.
_BESIDE = StepProcess() if is_tested() else None


def step_task(job: str, workload: str = "", **arguments: Any) -> Any:
    """A task that runs a job and has its figures as XCom, to be called, for a slice or for all.

    It is of a workload of the stream or, without a name, of the first or of all.
    """

    # One value for all counts: each value is a request to Airflow's API.
    @task(multiple_outputs=False, **arguments)
    def step(time_slice: dict[str, Any] | None = None, **context: Any) -> dict[str, Any]:
        return call_step(job, context, time_slice, task_of=workload)

    return step


def _warn_if_provisional(context: Mapping[str, Any], figures: Mapping[str, Any]) -> None:
    if hours := figures.get("provisional"):
        problem = f"{hours} published hours are provisional: raw files are missing"
        warn(context, "provisional", problem)


def call_step(
    job: str, context: Mapping[str, Any], time_slice: Mapping[str, Any] | None = None, *,
    task_of: str = "", **changed: Any,
) -> dict[str, Any]:  # fmt: skip
    """Runs a job for a task over all hours of the run, or a slice; sends its figures as metrics.

    `task_of` is the workload whose task it is, empty for the first and for tasks of all; `changed`
    are settings that are others for this step.

    Raises:
        AirflowSkipException: the run was asked for another workload.
        ElsinoreError: what the job raises; `transient` says whether another try may help.
    """
    asked = asked_of(context["dag"].dag_id, context["params"], task_of)
    if asked is None:
        raise AirflowSkipException("this run is for another workload")
    settings, workloads = asked[0].model_copy(update=changed), asked[1]
    dag, run_id, pages = context["dag"].dag_id, context["run_id"], base_url()
    page = f"{pages}/dags/{dag}/runs/{quote(run_id)}" if pages else None
    if time_slice:
        own = Interval.parse(time_slice["start"], time_slice["end"])
        ingested, share = time_slice["ingested"], time_slice["share"]
        arguments = Arguments(own, run_id, page, ingested, share, workloads=workloads)
    else:
        by_hand = context["params"].get("start") or context["dag_run"].run_type == "backfill"
        own = context_interval(context)
        arguments = Arguments(own, run_id, page, workloads=workloads, by_hand=bool(by_hand))
    if _BESIDE is None:
        collect_seldom()
    run = run_step if _BESIDE is None else _BESIDE.run_step
    began, workload = time.monotonic(), settings.workload
    try:
        figures = run(job, arguments, settings)
    except Exception as error:
        found = getattr(error, "fields", {})
        seconds = time.monotonic() - began
        send_metrics(dag, job, found, workload=workload, seconds=seconds, failed=True)
        raise
    seconds = time.monotonic() - began
    send_metrics(dag, job, figures, workload=workload, seconds=seconds, failed=False)
    _tell_lineage(context["task"], settings)
    return figures


def _tell_lineage(step: Any, settings: Settings) -> None:
    """Report the locations of a task's assets to lineage collectors, such as OpenLineage."""
    # If one process runs all tasks, it would keep the assets of earlier tasks.
    get_hook_lineage_collector.cache_clear()
    collector = get_hook_lineage_collector()
    for found, add in (
        (step.inlets, collector.add_input_asset),
        (step.outlets, collector.add_output_asset),
    ):
        for uri in dict.fromkeys(folder_of(asset, settings).as_uri() for asset in found):
            add(step, uri=uri)


class CatchUp(TriggerDagRunOperator):
    """Starts a run of `catch_up` over the first of the hours that this run had to leave, if any.

    The figures of the task `after` name them.
    """

    def __init__(self, *, stream: str, after: str, **arguments: Any) -> None:
        about = {
            "task_id": "start_catch_up",
            "trigger_dag_id": in_stream(CATCH_UP, stream),
            "doc_md": "Starts `catch_up` if more hours are stale or missed than a run recomputes "
            "(`ELSINORE_RECOMPUTE_HOURS`). Skipped if there are none.",
        }
        super().__init__(**LIGHT | about | arguments)
        self.after = after

    def execute(self, context: Context) -> Any:
        """Triggers the run; AirflowSkipException: nothing is left, or nothing is known of it."""
        figures = context["ti"].xcom_pull(task_ids=self.after, key="figures")
        if not figures or not figures["catch_up"]:
            raise AirflowSkipException("no stale or missed hours are left")
        workload = context["params"].get("workload")
        self.conf = figures["catch_up"][0] | ({"workload": workload} if workload else {})
        super().execute(context)


class HoursSensor(BaseSensorOperator):
    """Sensor that waits until some time after the hours of the run.

    Airflow's sensors use the data interval, so a manual run for a past day would wait.
    """

    def __init__(self, *, delta: timedelta, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Return whether the time has come; ParameterError: the run has no valid hours."""
        end = context_interval(context).end / SECOND
        return time.time() >= end + self.delta.total_seconds()
