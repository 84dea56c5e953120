"""The DAG `catch_up`: the backlog of stale and missed hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from elsinore.orchestration.house_rules import dag_rules, each_stream, hours, workload
from elsinore.orchestration.replay_tasks import (
    CATCH_UP,
    needs_replay_task,
    recompute_task,
    replay_tasks,
)
from elsinore.orchestration.run_params import in_stream

DOC = """
### Recompute the backlog of stale and missed hours

`hourly_replay` starts this DAG if more published hours are stale, or more hours were missed, than
it recomputes itself (`ELSINORE_RECOMPUTE_HOURS`). Typical causes are a file of corrections, a
manual change of `events`, or days without a scheduler. A failed run of `hourly_replay` starts it,
too.

Each run recomputes as many hours, oldest first, and starts the next run until no hour is left or
a run fails. Hours that failed before come last. The DAG ingests no files: raw files may be
archived by then. If another run has already recomputed its hours, it ends at once.

New hours do not wait for this DAG. You can stop it at any time: the next run finds the remaining
hours again.
"""


@each_stream
def dags(stream: str) -> DAG:
    """Return the DAG that recomputes the backlog of a stream."""
    with DAG(
        dag_id=in_stream(CATCH_UP, stream),
        description="Recompute the backlog of stale and missed hours",
        doc_md=DOC,
        schedule=None,
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=hours(optional=False) | workload(stream),
        tags=["elsinore", "replay", "catch-up", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=4), timeout=timedelta(hours=6)),
    ) as dag:
        needs_replay_task(stream) >> replay_tasks(
            stream,
            first=recompute_task,
            timeout=timedelta(minutes=30),
            aggregate_timeout=timedelta(hours=1),
        )
    return dag
