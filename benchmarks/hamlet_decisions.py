"""What decisions take: those of a run made once more, without the bursts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from elsinore.events import EventTable
from elsinore.executors.hamlet.aggregate_set import Prepared, aggregate_set, prepare
from elsinore.executors.hamlet.decisions import DYNAMIC
from elsinore.executors.hamlet.kernels.decide import decide
from elsinore.executors.hamlet.kernels.extent import measure
from elsinore.executors.hamlet.kernels.log import make_log
from elsinore.executors.hamlet.kernels.propagate import addresses_for, prepare_work
from elsinore.executors.hamlet.kernels.work import Output
from elsinore.executors.hamlet.observe import Observer
from elsinore.executors.hamlet.tables import make_tables
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import at_states, make_entries
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import kernel
from elsinore.numbers.rows import make_rows
from elsinore.sharing.sharable import SharableSet

ROUNDS = 5

#: Decisions of one measurement at least.
ENOUGH = 100_000


@kernel
def _decide_again(  # type: ignore[no-untyped-def]
    in_graph, in_work, in_policy, in_log, address, bursts, rounds
):
    graph, work, policy, log = borrow(in_graph), borrow(in_work), borrow(in_policy), borrow(in_log)
    for _ in range(rounds):
        for i in range(bursts.shape[0]):
            decide(
                address, graph, work, policy, log,
                bursts[i, 0], bursts[i, 1], bursts[i, 2], bursts[i, 3],
            )  # fmt: skip


def decision_seconds(found: SharableSet, events: EventTable) -> float:
    """Processor time of all decisions of a dynamic run on the first rung, least of some rounds.

    A set whose queries partition the events by no key.
    """
    observer = Observer(room=len(events))
    aggregate_set(found, events, decisions=DYNAMIC, observer=observer)
    bursts = np.array(
        [(d.partition, d.state, d.entry, d.entry + d.b) for d in observer.decisions], np.int64
    )
    graph = _prepared(found, events).graph
    reach, states = int(graph.queries["within"].max()), graph.kinds.size - 1
    extent = measure(graph.offsets, graph.times, graph.states, states, reach)
    parts: tuple[Any, ...] = (
        graph,
        prepare_work(graph, extent, 1),
        Output(make_rows(1, 1, 1, 1, 1), np.zeros(1, np.bool_)),
        DYNAMIC.policy(graph, 1),
        make_log(len(found.queries), 0, 0),
    )
    address = addresses_for(*parts).plan_burst
    rounds = max(ENOUGH // len(bursts), 1)
    graph_, work, _, policy, log = parts
    least = np.inf
    for _ in range(ROUNDS):
        began = time.thread_time()
        _decide_again(graph_, work, policy, log, address, bursts, rounds)
        least = min(least, (time.thread_time() - began) / rounds)
    return float(least)


def _prepared(found: SharableSet, events: EventTable) -> Prepared:
    columns, tables = EventColumns(events), make_tables(found)
    entries = make_entries(
        found.merged.placements, {}, columns, found.queries[0].window
    )  # no query has a key
    placed = at_states(entries, found.merged.placements, found.merged.merged_places)
    return prepare(tables, columns, placed, None)
