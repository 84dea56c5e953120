"""What leaves a run: a real DAG with jobs of a few lines, whose alert a mail server receives by
Airflow's notifier and whose metrics an OTLP endpoint receives from Airflow's exporter.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import AsyncMessage
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality

from tests.airflow_home import copy_database

pytestmark = pytest.mark.dags

#: The end of an hour that was published two hours ago, in microseconds.
PUBLISHED_UNTIL = int((time.time() - 7_200) * 1e6)
INGESTED = {
    "records": 100, "accepted": 90, "repeated": 7, "bad_records": 3, "silent_hours": 0,
    "recomputed": [], "recomputed_hours": 4, "hours_left": 2, "catch_up": [],
    "provisional_hours": 5, "published_until": PUBLISHED_UNTIL, "refused_first": {},
    "emptied_first": {}, "unread_first": "", "reasons": [],
}  # fmt: skip
STEPS = {
    "ingest_events": f"return {INGESTED!r}",
    "find_plan": "return {}",
    "aggregate_trends": "return {'seconds': 1}",
    "validate_results": "raise ValidationError('<b>two</b> {{ 7*7 }}', mismatches=('a', 'b'))",
    "report_quality": "return {}",
}
JOB = "from elsinore.errors import ValidationError\ndef main(arguments, settings): {}\n"

MAIL = {
    "class": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
    "to": "on-call@example.org",
    "subject": "{{ alert.title }}",
    "html_content": "{{ alert.html }}",
}
#: There is no such provider here.
MISSING = {"class": "airflow.providers.pagerduty.notifications.pagerduty.PagerdutyNotifier"}


class Mailbox(AsyncMessage):
    """Keeps what comes."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[Message] = []

    async def handle_message(self, message: Message) -> None:
        self.mails.append(message)


@pytest.fixture(scope="module")
def mail() -> Iterator[Controller]:
    """A mail server on the loopback address; its handler keeps what it receives."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(Mailbox(), hostname="127.0.0.1", port=port)
    controller.start()
    yield controller
    controller.stop()


class Collector(ThreadingHTTPServer):
    """The endpoint `/v1/metrics` of an OpenTelemetry collector, as its protocol has it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receive)
        self.requests: list[ExportMetricsServiceRequest] = []


class Receive(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, Collector)
        self.server.requests.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


class Told(NamedTuple):
    """What a run told: its output, the alerts of its file, mails, metrics by name and tag; when."""

    began: float
    ended: float
    output: str
    alerts: list[dict[str, str]]
    mails: list[Message]
    metrics: dict[tuple[str, str], Any]


@pytest.fixture(scope="module")
def told(
    root: Path, tmp_path_factory: pytest.TempPathFactory, mail: Controller, collector: Collector
) -> Told:
    """A run of `hourly_replay` whose validation fails."""
    mine = tmp_path_factory.mktemp("told")
    (mine / "jobs").mkdir()
    (mine / "jobs" / "__init__.py").touch()
    for name, body in STEPS.items():
        (mine / "jobs" / f"{name}.py").write_text(JOB.replace("{}", body, 1))
    for name in ("dags", "schemas"):
        (mine / name).symlink_to(root / name)
    assert copy_database(mine / "airflow.db")
    smtp = {
        "conn_type": "smtp", "host": "127.0.0.1", "port": mail.port,
        "extra": {"from_email": "airflow@example.org", "disable_ssl": True, "disable_tls": True},
    }  # fmt: skip
    endpoint = f"http://127.0.0.1:{collector.server_address[1]}/v1/metrics"
    environment = os.environ | {
        "AIRFLOW_HOME": str(mine),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{mine / 'airflow.db'}",
        "AIRFLOW__METRICS__OTEL_ON": "True",
        # At its end: what is no sum would come again after each minute that a run takes.
        "AIRFLOW__METRICS__OTEL_INTERVAL_MILLISECONDS": "3600000",
        "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps(smtp),
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
        "ELSINORE_ROOT": str(mine),
        "ELSINORE_NOTIFIERS": json.dumps([MISSING, MAIL]),
    }
    hours = json.dumps({"start": "2013-02-08T07:00Z", "end": "2013-02-08T08:00Z"})
    airflow = ["-m", "airflow", "dags", "test", "hourly_replay", "--conf", hours]
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-m", "elsinore.orchestration.airflow_environment",
         sys.executable, *airflow],
        cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0, done.stdout
    alerts = (mine / "var" / "alerts.jsonl").read_text().splitlines()
    return Told(
        began,
        time.time(),
        done.stdout,
        [*map(json.loads, alerts)],
        mail.handler.mails,
        metrics(collector.requests),
    )


def metrics(requests: list[ExportMetricsServiceRequest]) -> dict[tuple[str, str], Any]:
    """The points of our metrics, by name and the tag `step`."""
    found: dict[tuple[str, str], Any] = {}
    for request in requests:
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    kind = getattr(metric, str(metric.WhichOneof("data")))
                    for point in kind.data_points:
                        tags = {tag.key: tag.value.string_value for tag in point.attributes}
                        if metric.name.startswith("airflow.elsinore."):
                            assert tags["dag_id"] == "hourly_replay"
                            assert (metric.name, tags["step"]) not in found, "sent twice"
                            found[metric.name, tags["step"]] = (kind, point, tags)
    return found


def test_a_mail_server_receives_the_alert_of_a_failed_task(told: Told) -> None:
    (alert,) = told.alerts
    assert (alert["kind"], alert["task"]) == ("task_failed", "validate")
    (mail,) = told.mails
    assert mail["To"] == "on-call@example.org"
    assert mail["From"] == "airflow@example.org"
    assert mail["Subject"] == f"task_failed: hourly_replay validate {alert['run']}"
    (page,) = [part for part in mail.walk() if not part.is_multipart()]
    text = str(page.get_payload(decode=True))
    assert "&lt;b&gt;two&lt;/b&gt; {{ 7*7 }}" in text, "no markup, no template"
    assert all(alert[name] in text for name in ("kind", "dag", "task", "run", "at"))


def test_a_notifier_that_fails_is_one_line_and_hides_nothing(told: Told) -> None:
    lines = [line for line in told.output.splitlines() if "NOT NOTIFIED" in line]
    assert len(lines) == 1
    assert MISSING["class"] in lines[0]
    assert "airflow.providers.pagerduty" in lines[0]


def test_a_collector_receives_the_figures_of_the_steps(told: Told) -> None:
    def value(name: str, step: str) -> float:
        _, point, _ = told.metrics[f"airflow.elsinore.{name}", step]
        return float(getattr(point, point.WhichOneof("value")))

    sent = {
        "records.ingested": 100, "records.repeated": 7, "records.invalid": 3, "hours.recomputed": 4,
        "hours.left": 2, "hours.provisional": 5,
    }  # fmt: skip
    assert {name: value(name, "ingest_events") for name in sent} == sent
    asked = PUBLISHED_UNTIL / 1e6 + value("published.age", "ingest_events")
    assert told.began < asked < told.ended
    assert value("mismatches", "validate_results") == 2
    records, _, _ = told.metrics["airflow.elsinore.records.ingested", "ingest_events"]
    assert records.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA


def test_a_collector_receives_how_long_each_step_took_and_how_it_ended(told: Told) -> None:
    name = "airflow.elsinore.step.duration"
    found = {step: told.metrics[name, step] for metric, step in told.metrics if metric == name}
    assert {step: tags["state"] for step, (_, _, tags) in found.items()} == {
        step: "failed" if step == "validate_results" else "success" for step in STEPS
    }
    assert all(point.count == 1 and point.sum > 0 for _, point, _ in found.values())
