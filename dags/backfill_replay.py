"""The DAG `backfill_replay`: hours of choice in one run, with a workload of choice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial

from airflow.sdk import DAG

from elsinore.orchestration.house_rules import (
    batch_hours,
    dag_rules,
    each_stream,
    force,
    hours,
    workload,
)
from elsinore.orchestration.replay_tasks import land_task, needs_replay_task, replay_tasks
from elsinore.orchestration.run_params import in_stream

DOC = """
### Replay of history in one run

For a query that is new, a workload that was not run before, or hours that were missed. *Trigger*
asks for

- `start` and `end`: whole hours in UTC; the run owns the windows that end after `start` and at
  `end` at the latest, and reads back as far as the longest `WITHIN`;
- `batch_hours`: a year is computed day by day with 24, after all of it has landed: each day is
  aggregated, validated and published by itself, and a day that fails is cleared by itself;
- `workload`: one of the stream's, by name; without it all that an hourly run answers. Results of
  others stay as they are, for each workload has its own;
- `force`: off, hours that are published for exactly these queries are left alone and the run is
  over in a moment; hours that hold results of other queries, which the workload had before, are
  refused. On, the hours are replayed whatever they hold.

It looks for no other files than those of its hours, and for no hours that were missed elsewhere;
what its hours make stale it computes anew. The tables end as after the same hours in
`hourly_replay`, which can run hour by hour, too (`airflow backfill create`).
"""


@each_stream
def dags(stream: str) -> DAG:
    """The DAG that replays hours of choice of a stream."""
    with DAG(
        dag_id=in_stream("backfill_replay", stream),
        description="Replays hours of choice in one run, for a workload of choice",
        doc_md=DOC,
        schedule=None,
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=hours(optional=False) | batch_hours() | workload(stream) | force(),
        tags=["elsinore", "replay", "backfill", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=12), timeout=timedelta(hours=24)),
    ) as dag:
        needs_replay_task(stream) >> replay_tasks(
            stream,
            first=partial(land_task, late=False),
            timeout=timedelta(hours=2),
            aggregate_timeout=timedelta(hours=8),
        )
    return dag
