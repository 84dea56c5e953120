"""What a Spark task of the stream's profile does, as functions from Arrow batches to tallies.

Nothing here knows Spark: the functions are made on the driver and called in Python workers.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from elsinore.engine.columns import EventColumns
from elsinore.engine.profile.edge_sample import edge_tally
from elsinore.engine.profile.measure import tally_bursts, tally_local
from elsinore.engine.profile.subjects import Subjects
from elsinore.spark.aggregate_worker import Batches, Task, WorkloadText, event_table


def tallying_local(workload: WorkloadText) -> Task:
    """A task that counts what passes the predicates on single events, a batch at a time."""

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        bound = workload.bind()
        subjects = Subjects.of(bound)
        for batch in batches:
            events = event_table(bound.schema, pa.Table.from_batches([batch]))
            for tally in tally_local(EventColumns(events), subjects):
                yield from tally.to_batches()

    return task


def tallying_groups(
    workload: WorkloadText, bursts: tuple[int, ...], edges: tuple[int, ...]
) -> Task:
    """A task that measures some bursts and pairs in whole groups of events, and holds them all.

    Args:
        workload: the queries.
        bursts: places in its `Subjects`.
        edges: likewise.
    """

    def task(batches: Batches) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if not held:
            return
        bound = workload.bind()
        subjects = Subjects.of(bound)
        columns = EventColumns(event_table(bound.schema, pa.Table.from_batches(held)))
        for number in bursts:
            for tally in tally_bursts(columns, subjects, number):
                yield from tally.to_batches()
        for number in edges:
            for tally in edge_tally(columns, number, subjects.edges[number]):
                yield from tally.to_batches()

    return task
