"""What the DAGs take as parameters, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

pytestmark = pytest.mark.dags

NO_HOURS: list[object] = [
    "x; drop", "{{ ds }}", "$(reboot)", "2013-02-08T00:00:00Z; rm", "2013-02-08T00:30:00Z",
    "2013-02-08T00:00:00+05:00", "2013-02-08T00", "' OR 1=1 --", "", 20130208, ["2013-02-08"],
]  # fmt: skip
HOURS = ["2013-02-08", "2013-02-08T07:00Z", "2013-02-08T07:00:00+00:00", "2013-02-08T07:00:00"]
NO_WORKLOADS: list[object] = [
    None, "", "rides", "../workloads/flights", "schemas/workloads/flights.sase",
    "flights.sase", "flights; ls", "file:///etc/passwd", "FLIGHTS", 1, ["flights"],
]  # fmt: skip
NO_DAYS: list[object] = [
    "2013-02-30", "2013-02-08T00:00:00Z", "08.02.2013", "{{ ds }}", "", "x; ls", 20130208,
]  # fmt: skip


@pytest.mark.parametrize(
    ("dag", "name", "taken", "refused"),
    [
        ("hourly_replay", "start", [None, *HOURS], NO_HOURS),
        ("hourly_replay", "end", [None, *HOURS], NO_HOURS),
        ("backfill_replay", "start", ["2013-02-08T07:00:00Z"], [None, *NO_HOURS]),
        ("backfill_replay", "end", ["2013-02-08T07:00:00Z"], [None, *NO_HOURS]),
        ("backfill_replay", "workload", ["flights", "flights_cancellations"], NO_WORKLOADS),
        ("backfill_replay", "force", [True, False], ["yes", 1]),
        ("nightly_replay", "day", [None, "2013-02-08"], NO_DAYS),
    ],
)
def test_values_are_taken_or_refused(
    load_dag: Callable[[str], Any], dag: str, name: str, taken: list[object], refused: list[object]
) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    param = deepcopy(load_dag(dag).params.get_param(name))  # it keeps what it has resolved
    assert [param.resolve(value) for value in taken] == taken
    for value in refused:
        with pytest.raises(ParamValidationError):
            param.resolve(value)


def test_what_is_not_given(load_dag: Callable[[str], Any]) -> None:
    from elsinore.orchestration.dag_params import required_hours

    assert [param.has_value for param in required_hours().values()] == [False, False]
    backfill, hourly = load_dag("backfill_replay").params, load_dag("hourly_replay").params
    workload = backfill.get_param("workload")
    assert workload.resolve() == "flights"
    assert workload.schema["enum"] == ["flights", "flights_cancellations"]
    assert backfill.get_param("force").resolve() is False
    assert hourly.get_param("start") is not hourly.get_param("end")
