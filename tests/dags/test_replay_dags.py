"""The DAGs one by one: their tasks, their intervals, and what they take as parameters."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.run_params import context_interval
from elsinore.timeline import HOUR, Interval

pytestmark = pytest.mark.dags

Load = Callable[[str], Any]
REPLAY = {
    "ingest": {"find_plan", "aggregate", "validate", "publish"},
    "find_plan": {"aggregate"},
    "aggregate": {"validate"},
    "validate": {"publish"},
    "publish": {"report", "ended", "start_catch_up"},
    "report": set(),
    "ended": set(),
    "start_catch_up": set(),
}
TASKS = {
    "hourly_replay": REPLAY,
    # What is published is looked up before anything is replayed.
    "backfill_replay": {"needs_replay": {"ingest"}, **REPLAY},
    # Nothing lands.
    "catch_up": {
        "needs_replay": {"recompute"},
        "recompute": REPLAY["ingest"],
        **{name: after for name, after in REPLAY.items() if name != "ingest"},
    },
    "nightly_replay": {
        "wait_for_last_hours": {"find_plan", "check_day"},
        "find_plan": {"maintain_tables"},
        "check_day": {"report", "ended"},
        "maintain_tables": {"report", "ended"},
        "report": {"ended"},
        "ended": set(),
    },
}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_follow_each_other(load_dag: Load, name: str) -> None:
    found = {task.task_id: task.downstream_task_ids for task in load_dag(name).tasks}
    assert found == TASKS[name]


@pytest.mark.parametrize(
    ("name", "first", "last", "length", "number"),
    [
        # Also over the night in which clocks in New York went forward.
        ("hourly_replay", 10, 11, timedelta(hours=1), 24),
        ("nightly_replay", 9, 12, timedelta(days=1), 4),
    ],
)
def test_scheduled_intervals_touch(
    load_dag: Load, intervals: Callable[..., list[Any]], name: str, first: int, last: int,
    length: timedelta, number: int,
) -> None:  # fmt: skip
    borders = (datetime(2013, 3, day, tzinfo=UTC) for day in (first, last))
    found = intervals(load_dag(name), *borders)
    assert len(found) == number
    assert (found[0].start.day, found[0].start.hour) == (first, 0)
    assert all(interval.end - interval.start == length for interval in found)
    assert all(one.end == following.start for one, following in itertools.pairwise(found))


# ---- parameters
NO_HOURS = (
    "x; drop", "{{ ds }}", "$(reboot)", "2013-02-08T00:00:00Z; rm", "2013-02-08T00:30:00Z",
    "2013-02-08T00:00:00+05:00", "2013-02-08T00", "' OR 1=1 --", "", 20130208, ["2013-02-08"],
)  # fmt: skip
HOURS = ("2013-02-08", "2013-02-08T07:00Z", "2013-02-08T07:00:00+00:00", "2013-02-08T07:00:00")
NO_DAYS = (
    "2013-02-30", "2013-02-08T00:00:00Z", "08.02.2013", "{{ ds }}", "", "x; ls", 20130208,
)  # fmt: skip
NO_WORKLOADS = (
    "", "rides", "../workloads/flights", "schemas/workloads/flights.sase", "flights.sase",
    "flights; ls", "file:///etc/passwd", "FLIGHTS", 1, ["flights"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("dag", "names", "taken", "refused"),
    [
        ("hourly_replay", ("start", "end"), (None, *HOURS), NO_HOURS),
        ("backfill_replay", ("start", "end"), HOURS, (None, *NO_HOURS)),
        ("nightly_replay", ("day",), (None, "2013-02-08"), NO_DAYS),
        (
            "backfill_replay",
            ("workload",),
            (None, "flights", "flights_cancellations"),
            NO_WORKLOADS,
        ),
        (
            "backfill_replay",
            ("parameters",),
            (None, {"flights": {"n": 1, "s": "x", "b": True}}),
            ({"flights": {"n": [1]}}, {"flights": 1}, [1]),
        ),
        ("backfill_replay", ("force",), (True, False), ("yes", 1)),
        ("backfill_replay", ("batch_hours",), (None, 1, 24), (0, -1, 1.5, "24", [24])),
    ],
)
def test_parameters_are_taken_or_refused(
    load_dag: Load, dag: str, names: tuple[str, ...], taken: Any, refused: Any
) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    for name in names:
        param = copy.copy(load_dag(dag).params.get_param(name))  # it keeps what it has taken
        assert [param.resolve(value) for value in taken] == list(taken)
        for value in refused:
            with pytest.raises(ParamValidationError):
                param.resolve(value)


def test_defaults(load_dag: Load) -> None:
    from elsinore.orchestration.house_rules import hours

    params = load_dag("backfill_replay").params
    assert [param.has_value for param in hours(optional=False).values()] == [False, False]
    assert params.get_param("workload").resolve() is None
    assert params.get_param("force").resolve() is False
    hourly = load_dag("hourly_replay").params
    assert hourly.get_param("start") is not hourly.get_param("end")


# ---- each by itself
def test_what_landing_gives_is_computed_slice_by_slice(load_dag: Load) -> None:
    tasks = load_dag("hourly_replay").task_dict
    for name in ("aggregate", "validate", "publish"):
        assert tasks[name].get_closest_mapped_task_group().group_id == "slices"
        assert "['time_slice']" in tasks[name].map_index_template
        assert tasks[name].weight_rule == "upstream", name
    assert not {"ingest", "find_plan", "report"} & {
        task.task_id for task in tasks.values() if task.get_closest_mapped_task_group()
    }


def test_recomputed_hours_are_slices_like_the_run_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from elsinore.orchestration.replay_tasks import run_slices

    def hours(start: int, end: int, **told: Any) -> dict[str, Any]:
        return {
            "start": f"2013-02-08T{start:02}:00:00.000000Z",
            "end": f"2013-02-08T{end:02}:00:00.000000Z",
            **told,
        }

    def slices(*own: tuple[int, int], recomputed: Any = ()) -> list[dict[str, Any]]:
        length = sum(end - start for start, end in own)
        return [
            *(hours(*part, ingested=True, share=(part[1] - part[0]) / length) for part in own),
            *(hours(start, end, ingested=False, share=share) for start, end, share in recomputed),
        ]

    context: Any = {"params": hours(10, 14)}
    assert run_slices(context, (), ingested=True) == slices((10, 14))
    assert run_slices(context, (), ingested=False) == slices(recomputed=[(10, 14, 1.0)])
    for batch_hours in (2, 2.0):  # JSON schema takes either for an integer
        batches: Any = {"params": hours(10, 15) | {"batch_hours": batch_hours}}
        assert run_slices(batches, (), ingested=True) == slices((10, 12), (12, 14), (14, 15))
    year = {"start": "2013-01-01", "end": "2014-01-01", "batch_hours": 1}
    with pytest.raises(ParameterError, match=r"8,760 slices; Airflow supports 1,024.*larger"):
        run_slices({"params": year}, (), ingested=True)
    monkeypatch.setenv("ELSINORE_SLICES", "3")
    assert run_slices(context, (), ingested=True) == slices((10, 12), (12, 14))
    borders = [("2013-02-08T03:00", "2013-02-08T04:00"), ("2013-02-08T05:00", "2013-02-08T07:00")]
    recomputed = [Interval.parse(*border) for border in borders]
    assert run_slices(context, recomputed, ingested=True) == slices(
        (10, 12), (12, 14), recomputed=[(3, 4, 1.0), (5, 6, 0.5), (6, 7, 0.5)]
    )
    monkeypatch.setenv("AIRFLOW__CORE__MAX_MAP_LENGTH", "4")
    as_many = slices((10, 12), (12, 14), recomputed=[(3, 4, 1.0)])
    assert run_slices(context, recomputed, ingested=True) == as_many, (
        "the next run finds the others"
    )


def test_outlets(load_dag: Load, root: Path) -> None:
    def outlets(name: str) -> set[str]:
        return {asset.name for task in load_dag(name).tasks for asset in task.outlets}

    tables = {path.stem for path in (root / "schemas/tables").glob("*.yaml")}
    published = {"results_by_hour", "quality_reports"}
    assert outlets("hourly_replay") == tables | published
    # Nothing is ingested, aggregated or published.
    assert outlets("nightly_replay") == {"plans", "run_metrics", "hours", "quality_reports"}


@pytest.mark.parametrize(
    ("published", "others", "force", "goes_on"),
    [(1, [], False, False), (0, [], False, True), (1, ["a"], True, True), (1, ["a"], False, None)],
)
def test_a_backfill_goes_on_where_there_is_something_to_replay(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch, published: int, others: list[str],
    force: bool, goes_on: bool | None,
) -> None:  # fmt: skip
    dag = load_dag("backfill_replay")
    assert dag.timetable.can_be_scheduled is False, "it runs when asked only"
    found = {"hours": 1, "published_hours": published, "other_queries": others}
    task = dag.task_dict["needs_replay"]
    assert task.ignore_downstream_trigger_rules, "it ends the run: there is no report either"
    replay = task.python_callable
    monkeypatch.setitem(replay.__globals__, "call_step", lambda job, context: found)
    hours = {"start": "2013-02-08", "end": "2013-02-09"}
    context = {"params": {**hours, "force": force}}
    if goes_on is None:
        with pytest.raises(ParameterError, match="set force"):
            replay(**context)
        return
    assert replay(**context) is goes_on


def test_catching_up_replaces_results_of_earlier_queries_as_an_hourly_run_does(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = load_dag("catch_up").task_dict["needs_replay"].python_callable
    found = {"hours": 2, "published_hours": 1, "other_queries": ["a"]}
    monkeypatch.setitem(replay.__globals__, "call_step", lambda job, context: found)
    assert replay(params={"start": "2013-02-08", "end": "2013-02-09"}) is True


@pytest.mark.parametrize("figures", [None, {"catch_up": []}])
def test_nothing_is_caught_up_with_where_nothing_is_left_or_landing_failed(
    load_dag: Load, figures: dict[str, Any] | None
) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    start = load_dag("hourly_replay").task_dict["start_catch_up"]
    with pytest.raises(AirflowSkipException):
        start.execute({"ti": SimpleNamespace(xcom_pull=lambda **_: figures)})


@pytest.mark.parametrize(
    ("params", "hours"),
    [
        ({"start": None, "end": None}, ("2013-02-08T09:00", "2013-02-08T10:00")),
        ({"day": None}, ("2013-02-07", "2013-02-08")),
    ],
)
def test_triggered_without_a_date_a_run_is_of_the_last_hour_or_day(
    params: dict[str, Any], hours: tuple[str, str]
) -> None:
    now = datetime(2013, 2, 8, 10, 30, tzinfo=UTC)
    context = {"params": params, "dag_run": SimpleNamespace(run_after=now)}
    assert context_interval(context) == Interval.parse(*hours)


def test_a_run_is_of_hours_or_of_a_day() -> None:
    params = {"start": "2013-02-08", "end": "2013-02-09", "day": "2013-02-10"}
    with pytest.raises(ParameterError, match="both day and start or end are set"):
        context_interval({"params": params})
    with pytest.raises(ParameterError, match="not a day: 20130208"):
        context_interval({"params": {"day": 20130208}})


def test_a_backfill_lands_its_own_hours_alone(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def call_step(job: str, context: Any, **changed: Any) -> dict[str, Any]:
        told.append(changed)
        return figures()

    hours = {"start": "2013-02-08", "end": "2013-02-09"}
    context = context_of(hours)
    for name in ("backfill_replay", "hourly_replay"):
        ingest = load_dag(name).task_dict["ingest"].python_callable
        monkeypatch.setitem(ingest.__globals__, "call_step", call_step)
        assert len(ingest(**context)) == 1
    assert told == [{"late_arrival_days": 0}, {}]


def test_all_refused_hours_of_a_run_are_one_alert(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = {f"2013-02-01T{hour:02}": "no gzip" for hour in range(24)}
    told = alerts_of(load_dag, monkeypatch, DAY, refused_first=refused)
    ((kind, reason),) = told
    assert kind == "ingest_refused"
    assert reason.startswith("2013-02-01T00: no gzip, 2013-02-01T01: no gzip, ")
    assert reason.endswith(" and 19 more")


def test_fields_that_lost_their_values_are_one_alert(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied = {"2013-02-08T01": ["Buy.price", "Buy.tip"], "2013-02-08T00": ["Buy.price"]}
    told = alerts_of(load_dag, monkeypatch, DAY, emptied_first=emptied)
    assert told == [
        (
            "emptied",
            "fields with values in the week before have no values in "
            "2013-02-08T00: Buy.price, 2013-02-08T01: Buy.price, Buy.tip",
        )
    ]


@pytest.mark.parametrize(
    ("end", "silent", "told"),
    [
        ("2013-02-08T01:00Z", 23, False),
        ("2013-02-08T01:00Z", 24, True),
        ("2013-02-08T01:00Z", 25, False),
        ("2013-02-08T06:00Z", 26, True),  # the scheduler is back, and runs six hours at once
        ("2013-02-08T06:00Z", 30, False),
        ("2013-02-09", 5, False),
    ],
)
def test_each_day_without_a_file_is_told_once(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch, end: str, silent: int, told: bool
) -> None:
    hours = {"start": "2013-02-08", "end": end}
    alerts = alerts_of(load_dag, monkeypatch, hours, silent_hours=silent)
    assert alerts == [("source_stale", f"no file arrived for {silent} hours")] * told


@pytest.mark.parametrize(
    ("limit", "kind", "age", "told"),
    [
        (None, "scheduled", 9, False),
        (3, "scheduled", 3, False),
        (3, "scheduled", 4, True),
        (3, "scheduled", 5, False),  # once per three hours
        (3, "scheduled", 7, True),
        (3, "manual", 4, False),  # a replay of old hours
    ],
)
def test_old_results_are_reported_in_scheduled_runs(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch, limit: int | None, kind: str, age: int,
    told: bool,
) -> None:  # fmt: skip
    if limit is not None:
        monkeypatch.setenv("ELSINORE_FRESHNESS_HOURS", str(limit))
    hours = {"start": "2013-02-08T10:00", "end": "2013-02-08T11:00"}
    until = Interval.parse(*hours.values()).end - age * HOUR
    alerts = alerts_of(load_dag, monkeypatch, hours, kind=kind, published_until=until)
    assert [name for name, _ in alerts] == ["results_stale"] * told


def test_more_slices_than_airflow_maps_are_refused_before_they_are_ingested(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = load_dag("backfill_replay").task_dict["ingest"].python_callable
    monkeypatch.setitem(ingest.__globals__, "call_step", lambda *_, **__: pytest.fail("it ingests"))
    year = {"start": "2013-01-01", "end": "2014-01-01", "batch_hours": 1}
    with pytest.raises(ParameterError, match="8,760 slices; Airflow supports 1,024 per run"):
        ingest(params=year)


def test_a_nightly_report_is_made_after_failures_and_does_not_hide_them(load_dag: Load) -> None:
    """The state of a run is that of its leaves: the only one needs every task's success."""
    dag = load_dag("nightly_replay")
    report, ended = dag.task_dict["report"], dag.task_dict["ended"]
    assert report.trigger_rule == "all_done"
    assert [task.task_id for task in dag.leaves] == ["ended"]
    assert ended.upstream_task_ids == report.upstream_task_ids | {"report"}
    others = [task for task in dag.tasks if task not in (report, ended)]
    assert {task.trigger_rule for task in others} == {"all_success"}
    assert ended.trigger_rule == "none_failed"


@pytest.mark.parametrize(
    ("day", "minutes_ago", "over"),
    [("2013-02-08", 0, True), (None, 61, True), (None, 59, False), (None, -60, False)],
)
def test_a_night_waits_for_the_day_that_it_is_for_without_a_slot_and_not_for_ever(
    load_dag: Load, day: str | None, minutes_ago: int, over: bool
) -> None:
    end = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    midnight = end.replace(minute=0, second=0, microsecond=0)
    drift = end - midnight  # hours are whole
    wait = load_dag("nightly_replay").task_dict["wait_for_last_hours"]
    assert wait.mode == "reschedule"
    assert wait.delta.total_seconds() < wait.timeout <= wait.execution_timeout.total_seconds()
    context = {
        "params": {"day": day},
        "data_interval_start": midnight - timedelta(days=1),
        "data_interval_end": midnight,
    }
    mine = type(wait)(task_id="wait", delta=wait.delta + drift)
    assert wait.delta == timedelta(hours=1)
    assert mine.poke(context) is over


#: A day as parameters of a run.
DAY = {"start": "2013-02-08", "end": "2013-02-09"}


def figures(**changed: Any) -> dict[str, Any]:
    """Return figures of the first job, of a run about which nothing has to be reported."""
    nothing: dict[str, Any] = {
        "refused_first": {}, "emptied_first": {}, "unread_first": "", "silent_hours": 0,
        "recomputed": [], "reasons": [],
    }  # fmt: skip
    return nothing | changed


def context_of(hours: dict[str, str], kind: str = "manual") -> dict[str, Any]:
    """Return a context of Airflow for a task of a run over some hours."""
    run = SimpleNamespace(run_type=kind)
    return {"params": hours, "ti": SimpleNamespace(xcom_push=lambda *_: None), "dag_run": run}


def alerts_of(
    load_dag: Load, monkeypatch: pytest.MonkeyPatch, hours: dict[str, str], *,
    kind: str = "manual", **changed: Any,
) -> list[Any]:  # fmt: skip
    """Return the alerts of the task `ingest` over some hours whose job returns some figures."""
    alerts: list[Any] = []
    ingest = load_dag("hourly_replay").task_dict["ingest"].python_callable
    monkeypatch.setitem(ingest.__globals__, "call_step", lambda *_, **__: figures(**changed))
    monkeypatch.setitem(ingest.__globals__, "warn", lambda _, *alert: alerts.append(alert))
    ingest(**context_of(hours, kind))
    return alerts
