"""What Airflow's pages show of our runs: their hours as a note, their reports, which it serves.

A plugin, found by its entry point.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from itertools import product
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin
from airflow.sdk import BaseOperatorLink
from airflow.sdk.configuration import conf
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elsinore.errors import ParameterError
from elsinore.orchestration.run_params import (
    asked_of,
    context_interval,
    in_stream,
    known_streams,
    stream_of,
)
from elsinore.settings import Settings
from elsinore.timeline import hour_label

#: The DAGs whose runs have hours; others may share this Airflow.
DAGS = {"backfill_replay", "catch_up", "hourly_replay", "nightly_replay"}
_PREFIX = "/elsinore"
_LOGINS = ("/auth/token", "/auth/token/cli")
#: Maximum number of bytes of a login, and of every other body: results of tasks can have megabytes.
_MOST_LOGIN, _MOST_BODY = 64 << 10, 4 << 20
_LOOPBACK = ("127.0.0.1", "localhost")
#: A page runs no script, so it cannot act for the signed-in user. Its CSV files can be downloaded.
_HEADERS = {
    "Content-Security-Policy": "sandbox allow-popups allow-downloads",
    "X-Content-Type-Options": "nosniff",
}


def base_url() -> str | None:
    """Return the base address of Airflow's pages without a final slash; None if it is not set."""
    found = conf.get("api", "base_url", fallback=None)
    return found.rstrip("/") if found else None


def _hours(context: Mapping[str, Any]) -> tuple[str, str]:
    interval = context_interval(context)
    return hour_label(interval.start), hour_label(interval.end)


class ReportLink(BaseOperatorLink):
    """From a task to its run's report."""

    name = "Report"

    def __init__(self, workload: str = "") -> None:
        self.workload = workload

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address of the page, recorded at the end of the task, or an empty one."""
        context = ti_key.get_template_context()
        start, end = _hours(context)
        asked = asked_of(ti_key.dag_id, context["params"], self.workload)
        if asked is None:
            return ""
        settings, stream = asked[0], stream_of(ti_key.dag_id)
        is_night = ti_key.dag_id == in_stream("nightly_replay", stream)
        name = f"night_{start[:10]}" if is_night else f"{start}_{end}"
        own = f"/streams/{stream}" * bool(stream)
        own += f"/workloads/{settings.workload}" * bool(settings.workload)
        page = f"{base_url() or ''}{_PREFIX}{own}/reports/{name}.html"
        return page if (settings.reports / f"{name}.html").is_file() else ""


async def _signed_in(request: Request) -> None:
    from airflow.api_fastapi.core_api.security import get_user

    await get_user(request, None, None)


served = FastAPI(openapi_url=None)


def serve(
    place: Literal["reports", "quality"], path: str, stream: str = "", workload: str = ""
) -> FileResponse:
    """A page of reports or Data Docs."""
    if stream not in known_streams():
        raise HTTPException(404)
    every = {own.workload: own for own in Settings.load(stream).with_results()}
    if workload not in every:
        raise HTTPException(404)
    folder = getattr(every[workload], place).resolve()
    try:
        file = (folder / path).resolve()
        is_page = file.is_relative_to(folder) and file.is_file()
    except (OSError, ValueError) as error:  # no file can have this name: too long, or with a NUL
        raise HTTPException(404) from error
    if not is_page:
        raise HTTPException(404)
    return FileResponse(file, headers=_HEADERS)


for _of in product(("", "/streams/{stream}"), ("", "/workloads/{workload}")):
    served.get(f"{''.join(_of)}/{{place}}/{{path:path}}", dependencies=[Depends(_signed_in)])(serve)


@hookimpl
def on_dag_run_running(dag_run: Any, msg: str) -> None:
    """Set the note of a run to its hours, unless it has a note."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session
    from sqlalchemy.orm import object_session

    stream = stream_of(dag_run.dag_id)
    if stream not in known_streams() or dag_run.dag_id.removeprefix(f"{stream}.") not in DAGS:
        return
    context = {
        "params": dag_run.conf or {},
        "data_interval_start": dag_run.data_interval_start,
        "data_interval_end": dag_run.data_interval_end,
    }
    # The scheduler's, which it commits; `airflow dags test` has let go of the run.
    own = object_session(dag_run)
    with suppress(ParameterError), nullcontext(own) if own else create_session() as session:
        start, end = (label.replace("T", " ") for label in _hours(context))
        run: Any = session.get(DagRun, dag_run.id)
        if not run.note:
            run.note = f"{start}:00 to {end}:00 UTC"


#: Airflow calls no listener before the end of a run of `airflow dags test`.
on_dag_run_success = on_dag_run_failed = on_dag_run_running


def trusted_hosts() -> list[str]:
    """Return the `Host` headers that the API server answers; `*` means all.

    A page in a browser can reach a server on the loopback address under its own name by DNS
    rebinding. So such a server answers only to names of this machine and names in Airflow's
    configuration. If a server listens elsewhere, only its operator knows its names.
    """
    if conf.get("api", "host", fallback="") not in _LOOPBACK:
        return ["*"]
    own = (base_url(), conf.get("core", "execution_api_server_url", fallback=None))
    names = (urlsplit(address).hostname for address in own if address)
    return sorted({*_LOOPBACK, *filter(None, names)})


class ShortBodies:
    """Reject a request with a long body, and a login whose body is not a short JSON object.

    Airflow parses the body of a request before it looks for a token: 200 MB of brackets, from any
    user of the machine, took 5 GB and blocked all other requests for two minutes. Its parser of
    logins answers an odd body with status 500, and logs a stack trace.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with status 413 or 422, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        path = request.url.path.rstrip("/")
        if scope["method"] == "POST" and path.endswith(_LOGINS):
            await self._log_in(request, send)
            return
        stated = request.headers.get("content-length", "0")
        if not stated.isdecimal() or int(stated[:20]) > _MOST_BODY:
            answer = PlainTextResponse("the body is too long", status_code=413)
            await answer(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > _MOST_BODY:  # it was sent in pieces, without its length
                raise HTTPException(413, "the body is too long")
            return message

        await self._app(scope, counted, send)

    async def _log_in(self, request: Request, send: Send) -> None:
        body = b""
        async for piece in request.stream():
            body += piece
            if len(body) > _MOST_LOGIN:
                break
        is_json = request.headers.get("content-type", "").startswith("application/json")
        if len(body) > _MOST_LOGIN or (is_json and not _is_object(body)):
            answer = PlainTextResponse("not a short JSON object", status_code=422)
            await answer(request.scope, request.receive, send)
            return

        async def again() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(request.scope, again, send)


def _is_object(body: bytes) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except (ValueError, RecursionError):
        return False


class Pages(AirflowPlugin):
    """The plugin."""

    name = "elsinore"
    fastapi_apps: ClassVar = [{"app": served, "url_prefix": _PREFIX, "name": "Elsinore's reports"}]
    fastapi_root_middlewares: ClassVar = [
        {
            "name": "Trusted hosts",
            "middleware": TrustedHostMiddleware,
            "kwargs": {"allowed_hosts": trusted_hosts(), "www_redirect": False},
        },
        {"name": "Short bodies", "middleware": ShortBodies},
    ]
    listeners: ClassVar = [sys.modules[__name__]]
