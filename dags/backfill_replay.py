"""The DAG `backfill_replay`: a selected time range in one run, for a selected workload."""

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
    parameters,
    workload,
)
from elsinore.orchestration.replay_tasks import ingest_task, needs_replay_task, replay_tasks
from elsinore.orchestration.run_params import in_stream

DOC = """
### Backfill of a selected time range

Replays a time range in one run, for example after you add a query or a workload, or for missed
hours. *Trigger* asks for these parameters:

- `start` and `end`: whole hours in UTC. The run computes the windows that end after `start`, and
  at `end` at the latest. It reads earlier events as far back as the longest `WITHIN`.
- `batch_hours`: hours per batch, for example 24 for a year day by day. All hours are ingested
  first. Each batch is then aggregated, validated and published separately. If a batch fails,
  clear only this batch.
- `workload`: the name of one workload. Default: every workload of an hourly run. Results of other
  workloads do not change.
- `parameters`: single values of query parameters by workload and name, as in
  `{"flights": {"min_delay": 30}}`. Default: the values of `ELSINORE_PARAMETERS`. Views show the
  results for the values of `ELSINORE_PARAMETERS` only.
- `force`: if off, the run skips hours that are published for exactly these queries. It refuses
  hours with results of earlier queries of the workload. If on, it replays all hours.

The run ingests only files of its own hours. It recomputes published hours that become stale. Runs
are idempotent: the tables equal the tables after the same hours of `hourly_replay`. To backfill
hour by hour, use `airflow backfill create` with `hourly_replay`.
"""


@each_stream
def dags(stream: str) -> DAG:
    """Return the DAG that replays a time range of a stream."""
    with DAG(
        dag_id=in_stream("backfill_replay", stream),
        description="Replay a selected time range for a selected workload",
        doc_md=DOC,
        schedule=None,
        start_date=datetime(2013, 1, 1, tzinfo=UTC),
        params=hours(optional=False) | batch_hours() | workload(stream) | parameters() | force(),
        tags=["elsinore", "replay", "backfill", *filter(None, [stream])],
        **dag_rules(due=timedelta(hours=12), timeout=timedelta(hours=24)),
    ) as dag:
        needs_replay_task(stream) >> replay_tasks(
            stream,
            first=partial(ingest_task, late=False),
            timeout=timedelta(hours=2),
            aggregate_timeout=timedelta(hours=8),
        )
    return dag
