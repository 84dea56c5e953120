"""Open sessions of the Spark Connect server of the settings, one per try of a task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from uuid import UUID, uuid4, uuid5

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from elsinore.settings import Settings
from elsinore.spark.options import session_options
from elsinore.spark.server import server_url, stop_server, with_parameters
from elsinore.store.session_options import set_options
from elsinore.store.task_failures import BrokenServerError, spark_failures

#: The namespace of session ids, an arbitrary constant. The ids are derived from session names.
_NAMES = UUID("6f1d8f4e-5a0b-4b5e-9f0e-3d1f6b8f2c11")

#: Tries to reach a server again, after 0.05, 0.2, 0.8 and 3.2 s; by default PySpark has 10 minutes.
_TRIES = 4


@contextmanager
def open_session(settings: Settings, name: str = "") -> Iterator[SparkSession]:
    """Open a session of the server with the options of steps, which ends with the block.

    Args:
        settings: The server; the embedded one is started if it does not run.
        name: Purpose of the session, such as a job over an interval in a run. Work of an earlier
            session with this name, stream and workload is stopped first, as its client is gone.
            Without a name, no work is stopped.

    Raises:
        ParameterError: the user's options of Spark are invalid.
        SetupError: the server cannot be started or reached, or refuses access.
        ElsinoreError: the error that Spark reports inside the block, see `spark_failures`.
    """
    try:
        with spark_failures():
            url = server_url(settings)
            # Scheduled runs of all streams have the same name.
            own = f"{settings.home} {settings.stream} {settings.queries.stem} {name}"
            options = session_options(settings)
            session = _named(url, own) if name else connect(url)
            try:
                set_options(session, options)
                yield session
            finally:
                session.stop()
    except BrokenServerError:
        # The embedded server is stopped; the next try starts a new one.
        if not settings.spark_master.startswith("sc://"):
            stop_server(settings)
        raise


def connect(url: str, session: UUID | None = None) -> Any:
    """Return a client of the server at an address, without sending a request yet."""
    # Not with getOrCreate, because a process may have nested sessions.
    own = f"user_id=elsinore;session_id={session or uuid4()}"
    spark: Any = SparkSession.builder.remote(f"{with_parameters(url)};{own}").create()
    from pyspark.sql.connect.client.retries import DefaultPolicy

    spark.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])
    return spark


def _named(url: str, name: str) -> Any:
    """Return a new session of a name; earlier sessions of the name are interrupted and stopped."""
    for number in count():
        session = connect(url, uuid5(_NAMES, f"{name} {number}"))
        try:
            session.client._get_operation_statuses()  # this request does not create the session
            session.interruptAll()
        except PySparkException as error:
            if error.getCondition() == "INVALID_HANDLE.SESSION_NOT_FOUND":
                return session
            if error.getCondition() != "INVALID_HANDLE.SESSION_CLOSED":
                raise
        session.stop()
    raise AssertionError("numbers do not end")
