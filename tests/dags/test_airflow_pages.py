"""What Airflow's pages show of our runs: a note with the hours, links to reports, and these."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.dags

ROWS = {"start": "2013-02-08T00:00:00Z", "end": "2013-02-10T00:00:00Z"}


@pytest.fixture
def session() -> Iterator[Any]:
    """A database of Airflow's with its tables, and nothing else."""
    from airflow.models import import_all_models
    from airflow.models.base import Base
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session

    import_all_models()
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        yield session


@pytest.mark.parametrize(
    ("dag", "conf", "note"),
    [
        ("backfill_replay", ROWS, "2013-02-08 00:00 to 2013-02-10 00:00 UTC"),
        ("nightly_replay", {"day": "2013-02-08"}, "2013-02-08 00:00 to 2013-02-09 00:00 UTC"),
        # A scheduled run, five minutes after its hour.
        ("hourly_replay", None, "2013-02-08 07:00 to 2013-02-08 08:00 UTC"),
        ("hourly_replay", {"start": "no hour", "end": "x"}, None),
        ("of_others", ROWS, None),
    ],
)
def test_a_run_is_noted_with_its_hours(session: Any, dag: str, conf: Any, note: str | None) -> None:
    from airflow.models.dagrun import DagRun

    from elsinore.orchestration.airflow_pages import on_dag_run_running

    start = datetime(2013, 2, 8, 7, 5, tzinfo=UTC)
    run = DagRun(
        dag_id=dag, run_id="r", run_type="manual", conf=conf, run_after=start, logical_date=start,
        data_interval=(start, start + timedelta(hours=1)),
    )  # fmt: skip
    session.add(run)
    session.flush()
    on_dag_run_running(run, "started")
    session.commit()
    session.expire_all()
    assert session.get(DagRun, run.id).note == note


def test_what_somebody_has_noted_stays(session: Any) -> None:
    from airflow.models.dagrun import DagRun

    from elsinore.orchestration.airflow_pages import on_dag_run_success

    run = DagRun(dag_id="backfill_replay", run_id="r", run_type="manual", conf=ROWS, note="mine")
    session.add(run)
    session.flush()
    on_dag_run_success(run, "success")
    assert run.note == "mine"


def test_the_plugin_is_found_and_knows_every_dag(root: Path) -> None:
    from airflow.plugins_manager import get_fastapi_plugins

    from elsinore.orchestration.airflow_pages import DAGS, served

    assert [app["url_prefix"] for app in get_fastapi_plugins()[0] if app["app"] is served] == [
        "/elsinore"
    ]
    assert {file.stem for file in root.glob("dags/*.py")} == DAGS


@pytest.mark.parametrize("dag", ["hourly_replay", "nightly_replay"])
@pytest.mark.parametrize("base", [None, "https://air.example.org/flow/"])
def test_tasks_link_to_the_report(
    load_dag: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dag: str, base: str | None
) -> None:
    if base:
        monkeypatch.setenv("AIRFLOW__API__BASE_URL", base)
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path))
    (link,) = load_dag(dag).task_dict["report"].operator_extra_links
    params = {"day": "2013-02-08"} if dag == "nightly_replay" else ROWS
    told = SimpleNamespace(dag_id=dag, get_template_context=lambda: {"params": params})
    assert link.get_link(None, ti_key=told) == "", "no report has been written"
    name = "night_2013-02-08" if dag == "nightly_replay" else "2013-02-08T00_2013-02-10T00"
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / f"{name}.html").touch()
    found = link.get_link(None, ti_key=told)
    assert found == f"{(base or '').rstrip('/')}/elsinore/reports/{name}.html"


def test_a_step_is_told_the_address_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from elsinore.orchestration import replay_tasks

    pages = []

    def run(job: str, arguments: Any, settings: Any) -> dict[str, Any]:
        pages.append(arguments.page)
        return {}

    monkeypatch.setattr(replay_tasks, "run_step", run)
    context = {
        "dag": SimpleNamespace(dag_id="d"), "run_id": "m__2013+00:00", "params": ROWS,
        "task": SimpleNamespace(inlets=[], outlets=[]),
    }  # fmt: skip
    replay_tasks.call_step("report_quality", context)
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://a:1/")
    replay_tasks.call_step("report_quality", context)
    assert pages == [None, "http://a:1/dags/d/runs/m__2013%2B00%3A00"]


def test_pages_are_served_to_who_has_signed_in_and_nothing_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastapi.testclient import TestClient

    from elsinore.orchestration.airflow_pages import _signed_in, served

    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "index.html").write_text("all reports")
    (tmp_path / "alerts.jsonl").write_text("secret")
    (tmp_path / "reports" / "link.html").symlink_to(tmp_path / "alerts.jsonl")
    client = TestClient(served)
    assert client.get("/reports/index.html").status_code == 401
    monkeypatch.setitem(served.dependency_overrides, _signed_in, lambda: None)
    page = client.get("/reports/index.html")
    assert (page.status_code, page.text) == (200, "all reports")
    assert "allow-scripts" not in page.headers["Content-Security-Policy"]
    assert "allow-downloads" in page.headers["Content-Security-Policy"].split()
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    files = tmp_path / "reports" / "2013-02-08T00_2013-02-10T00"
    files.mkdir()
    (files / "delays.csv").write_text("carrier,COUNT(*)\n")
    results = client.get(f"/reports/{files.name}/delays.csv")
    assert (results.status_code, results.text) == (200, "carrier,COUNT(*)\n")
    assert results.headers["Content-Type"].startswith("text/csv")
    for path in ("reports/../alerts.jsonl", "reports/%2e%2e/alerts.jsonl", "reports/link.html",
                 "reports/", "reports/none.html", "quality/x", "lake/x", "reports/%2Fetc%2Fpasswd",
                 ):  # fmt: skip
        found = client.get(f"/{path}")
        assert found.status_code in (404, 422), path
        assert "secret" not in found.text
