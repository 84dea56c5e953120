"""The DAG `catch_up`: hours that are stale, or were missed, and are too many for an hourly run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from elsinore.orchestration.house_rules import dag_rules, each_stream, hours, workload
from elsinore.orchestration.replay_tasks import (
    CATCH_UP,
    needs_replay_task,
    reopen_task,
    replay_tasks,
)
from elsinore.orchestration.run_params import in_stream

DOC = """
### What others had to leave

A run of `hourly_replay` starts it where more published hours are stale, or more hours were missed,
than it takes on beside its own (`ELSINORE_REOPEN_HOURS`), also if it failed: after a file of
corrections, a change of `events` by hand, or days without a scheduler. Each run computes as many
hours, the oldest first, and starts the next one, until none is left or one fails; hours that have
failed come last. It lands nothing: raw files may be gone by then. Where another run has computed
its hours meanwhile it is over at once.

Fresh hours do not wait for it. It can be stopped at any time; what it leaves is found again.
"""


@each_stream
def dags(stream: str) -> DAG:
    """The DAG that catches up of a stream."""
    with DAG(
        dag_id=in_stream(CATCH_UP, stream),
        description="Computes hours that are stale or were missed, oldest first, in batches",
        doc_md=DOC,
        schedule=None,
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=hours(optional=False) | workload(stream),
        tags=["elsinore", "replay", "catch-up", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=4), timeout=timedelta(hours=6)),
    ) as dag:
        needs_replay_task(stream) >> replay_tasks(
            stream,
            first=reopen_task,
            timeout=timedelta(minutes=30),
            aggregate_timeout=timedelta(hours=1),
        )
    return dag
