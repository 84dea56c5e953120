"""DAGs of a stream with several workloads: tasks for each where results lie apart."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.dags.conftest import load_bag

pytestmark = pytest.mark.dags

HOURS = {"start": "2013-02-08T00:00:00Z", "end": "2013-02-08T06:00:00Z"}


@pytest.fixture
def home(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose stream of flights has the workload `ops` beside its own."""
    main = tmp_path / "flights.sase"
    main.write_text((root / "schemas/workloads/flights.sase").read_text())
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights/ops.sase").write_text(
        "QUERY delays RETURN COUNT(*) PATTERN Departure D WITHIN 1 hour;"
    )
    monkeypatch.setenv("ELSINORE_WORKLOAD_FILE", str(main))
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.usefixtures("home")
def test_queries_are_aggregated_together_and_results_checked_apart() -> None:
    bag = load_bag()
    for name in ("hourly_replay", "backfill_replay", "catch_up"):
        tasks = bag.dags[name].task_dict
        assert {key for key in tasks if key.startswith("aggregate")} == {"aggregate"}
        for suffix in ("", "_ops"):
            assert "aggregate" in tasks[f"validate{suffix}"].upstream_task_ids
            assert f"validate{suffix}" in tasks[f"publish{suffix}"].upstream_task_ids
            assert tasks[f"report{suffix}"].upstream_task_ids == {"publish", "publish_ops"}
        assert {a.name for a in tasks["aggregate"].outlets} == {
            "results_staged", "ops/results_staged"
        }  # fmt: skip
        assert {a.name for a in tasks["publish_ops"].outlets} == {
            "hours", "ops/results", "ops/results_by_hour"
        }  # fmt: skip
    night = bag.dags["nightly_replay"].task_dict
    assert {"check_day_ops", "report_ops"} <= night.keys()
    assert {"check_day", "check_day_ops", "maintain_tables"} <= night["ended"].upstream_task_ids
    choice = bag.dags["backfill_replay"].params.get_param("workload")
    assert choice.schema["enum"] == [None, "flights", "ops", "flights_cancellations"]


@pytest.mark.parametrize(
    ("asked", "of_first", "of_ops"),
    [
        (None, ("", ("", "ops")), ("ops", ("", "ops"))),
        ("flights", ("", ("",)), None),
        ("ops", ("ops", ("ops",)), None),
        ("flights_cancellations", ("flights_cancellations", ("flights_cancellations",)), None),
    ],
)
def test_a_run_of_one_workload_answers_it_in_the_tasks_of_the_first(
    home: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None, of_first: Any, of_ops: Any
) -> None:
    from airflow.sdk.exceptions import AirflowSkipException

    from elsinore.orchestration import replay_tasks

    told = []

    def run(job: str, arguments: Any, settings: Any) -> dict[str, Any]:
        told.append((settings.workload, arguments.workloads))
        return {}

    monkeypatch.setattr(replay_tasks, "run_step", run)
    context = {
        "dag": SimpleNamespace(dag_id="backfill_replay"),
        "task": SimpleNamespace(inlets=[], outlets=[]),
        "run_id": "r",
        "params": HOURS | {"workload": asked},
    }
    replay_tasks.call_step("validate_results", context)
    if of_ops is None:
        with pytest.raises(AirflowSkipException):
            replay_tasks.call_step("validate_results", context, task_of="ops")
    else:
        replay_tasks.call_step("validate_results", context, task_of="ops")
    assert told == [one for one in (of_first, of_ops) if one]


@pytest.mark.parametrize(
    ("dag", "workload", "folder", "address"),
    [
        ("cluster.hourly_replay", "", "cluster", {"stream": "cluster"}),
        ("hourly_replay", "ops", "workloads/ops", {"workload": "ops"}),
    ],
)
def test_reports_of_another_stream_or_workload_have_their_own_place(
    home: Path, monkeypatch: pytest.MonkeyPatch, dag: str, workload: str, folder: str,
    address: dict[str, str],
) -> None:  # fmt: skip
    from fastapi import HTTPException

    from elsinore.orchestration.airflow_pages import ReportLink, serve

    monkeypatch.setenv("ELSINORE_STREAMS", '["cluster"]')
    page = home / folder / "reports/2013-02-08T00_2013-02-08T06.html"
    page.parent.mkdir(parents=True)
    page.touch()
    (home / folder / "lake").mkdir()
    told = SimpleNamespace(dag_id=dag, get_template_context=lambda: {"params": HOURS})
    found = ReportLink(workload).get_link(None, ti_key=told)
    assert ReportLink().get_link(None, ti_key=told) == ("" if workload else found)
    ((kind, name),) = address.items()
    assert found == f"/elsinore/{kind}s/{name}/reports/{page.name}"
    assert serve("reports", page.name, **address).path == page
    with pytest.raises(HTTPException):
        serve("reports", page.name, **{kind: "other"})
