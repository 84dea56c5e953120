"""Parameters of runs: hours, a workload, and whether to replay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from elsinore.errors import ParameterError
from elsinore.settings import Parameter, Settings
from elsinore.timeline import (
    DAY,
    HOUR,
    Interval,
    hour_label,
    instant_of,
    parse_instant,
    require_whole_hours,
)
from elsinore.wording import shown

#: Allowed hours of runs: the longest window that ends in one begins in year 1 or later.
_RUNS = Interval.parse("1001-01-01", "9999-12-31")
#: JSON-schema pattern of an instant that a user may give to a run: a whole hour in UTC, or a date.
WHOLE_HOUR_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:00(:00(\.0{1,6})?)?(Z|[+]00:00)?)?$"

#: JSON-schema pattern of a day in UTC.
DAY_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def run_interval(
    start: str | None,
    end: str | None,
    *,
    data_start: datetime | None = None,
    data_end: datetime | None = None,
) -> Interval:
    """The hours that a run works on: those asked for, in ISO 8601, or else its data interval.

    Raises:
        ParameterError: only one of `start` and `end` is given, they are not over, the data interval
            is missing, or what results is empty, runs backwards or is not cut at whole hours.
    """
    if (start is None) != (end is None):
        raise ParameterError("only one of start and end is set", hint="set both, or neither")
    if start is not None and end is not None:
        interval = Interval.parse(start, end)
        if interval.end > (now := instant_of(datetime.now(UTC))):
            raise ParameterError(
                f"the hours before {shown(end)} are not over",
                hint=f"set end to {hour_label(now)}:00 or earlier, in UTC",
            )
    elif data_start is None or data_end is None:
        raise ParameterError("the run has no data interval", hint="set start and end")
    else:
        # A bare cron schedule yields intervals of no width: Interval refuses them. The schedule
        # starts a run some minutes after its hours: these begin with the hour before each border.
        borders = (instant_of(data_start), instant_of(data_end))
        interval = Interval(*(border - border % HOUR for border in borders))
    require_whole_hours(interval)
    return _of_our_times(interval)


def day_interval(day: object) -> Interval:
    """Return the 24 hours of a day in UTC.

    Raises:
        ParameterError: the string is not a day (`YYYY-MM-DD`), or the day is not over.

    >>> str(day_interval("2013-02-08"))
    '[2013-02-08T00:00:00.000000Z, 2013-02-09T00:00:00.000000Z)'
    """
    if not isinstance(day, str) or not re.fullmatch(DAY_PATTERN, day):
        raise ParameterError(f"not a day: {shown(day)}", hint="write it as 2013-02-08")
    try:
        start = parse_instant(day)
    except ValueError as error:
        raise ParameterError(str(error), hint="write it as 2013-02-08") from error
    if start + DAY > instant_of(datetime.now(UTC)):
        raise ParameterError(f"the day {shown(day)} is not over", hint="choose an earlier day")
    return _of_our_times(Interval(start, start + DAY))


def _of_our_times(interval: Interval) -> Interval:
    """Return the hours if events may have them, also in the longest windows."""
    if not (_RUNS.start <= interval.start and interval.end <= _RUNS.end):
        raise ParameterError(
            "runs support hours in the years 1001 to 9999",
            hint="for events of earlier years, use `elsinore run`",
        )
    return interval


def context_interval(context: Mapping[str, Any]) -> Interval:
    """The hours that the run of a task's context works on; raises as `run_interval`.

    Of one that was triggered without a date and without hours it is the last whole hour, or day.
    """
    params, data_start = context["params"], context.get("data_interval_start")
    day, start, end = (params.get(name) for name in ("day", "start", "end"))
    if day is not None and (start, end) != (None, None):
        raise ParameterError("both day and start or end are set", hint="set day, or start and end")
    if day is not None:
        return day_interval(day)
    if data_start is None and (start, end) == (None, None):
        length = DAY if "day" in params else HOUR
        now = instant_of(context["dag_run"].run_after)
        return Interval(now - now % length - length, now - now % length)
    data_end = context.get("data_interval_end")
    return run_interval(start, end, data_start=data_start, data_end=data_end)


def task_label(task: Any) -> str:
    """The slice of a run that a task is for, for people; empty for other tasks."""
    time_slice = getattr(task, "op_kwargs", {}).get("time_slice")
    if not isinstance(time_slice, Mapping):
        return ""
    own = Interval.parse(time_slice["start"], time_slice["end"])
    return f"{hour_label(own.start)} to {hour_label(own.end)}"


def known_streams() -> tuple[str, ...]:
    """Return the streams that have DAGs; an empty name is the stream of `schema_file`."""
    return ("", *Settings.load().streams)


def in_stream(name: str, stream: str) -> str:
    """The name of a DAG or a table that several streams have.

    >>> in_stream("hourly_replay", "rides"), in_stream("hourly_replay", "")
    ('rides.hourly_replay', 'hourly_replay')
    """
    return f"{stream}.{name}" if stream else name


def stream_of(dag_id: str) -> str:
    """The stream whose DAG it is.

    >>> stream_of("rides.hourly_replay"), stream_of("hourly_replay")
    ('rides', '')
    """
    return dag_id.rpartition(".")[0]


def asked_of(
    dag_id: str, params: Mapping[str, Any], task_of: str = ""
) -> tuple[Settings, tuple[str, ...]] | None:
    """Return the settings of a task's workload, and the workloads of its run.

    A run for one workload uses the tasks of the first workload; for other tasks it returns None.
    `task_of` is the workload of the task; empty for the first.

    Raises:
        ParameterError: the stream has no such workload, or values of parameters are not single
            values by workload and name.
    """
    settings, asked = Settings.load(stream_of(dag_id)), params.get("workload")
    if (values := params.get("parameters")) is not None:
        settings = settings.with_parameters(_single_values(values))
    if asked is None:
        return settings.of_workload(task_of), settings.workloads
    own = settings.of_workload(asked)
    return None if task_of else (own, (own.workload,))


def _single_values(values: object) -> Mapping[str, Mapping[str, Parameter]]:
    """Return the run's values of query parameters; Airflow checks them only in its pages."""
    inner = values.values() if isinstance(values, Mapping) else [None]
    of_workloads = [one.values() if isinstance(one, Mapping) else [None] for one in inner]
    if isinstance(values, Mapping) and all(
        isinstance(value, Parameter) for one in of_workloads for value in one
    ):
        return values
    raise ParameterError(
        f"parameters is {shown(values)}, not single values by workload and name",
        hint='as in {"flights": {"min_delay": 30}}; lists belong to ELSINORE_PARAMETERS',
    )


def is_worth_replaying(found: Mapping[str, Any], *, force: bool) -> bool:
    """Return whether to replay, from the counts of the job `check_published`, or if forced.

    Raises:
        ParameterError: results of other queries would be replaced, without `force`.

    >>> is_worth_replaying({"hours": 2, "published_hours": 2, "other_queries": []}, force=False)
    False
    >>> is_worth_replaying({"hours": 2, "published_hours": 1, "other_queries": []}, force=False)
    True
    """
    if force:
        return True
    if others := found["other_queries"]:
        raise ParameterError(
            f"these hours have results of other queries: {', '.join(others)}",
            hint="set force to replace them, or choose their workload",
        )
    return bool(found["published_hours"] < found["hours"])
