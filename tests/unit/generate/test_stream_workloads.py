"""The workloads of the generated streams: they bind, every query gives rows, and the right ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from elsinore.events import EventTable
from elsinore.generate.skeleton import StreamOptions
from elsinore.generate.streams import (
    STREAMS,
    ClusterOptions,
    LinearRoadOptions,
    RidesharingOptions,
    StockOptions,
)
from elsinore.query.bound import Workload
from elsinore.query.load_workload import load_workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.template.support import greta_refusals
from tests.property.compare import assert_same_rows, greta

WORKLOADS = Path(__file__).parents[3] / "schemas" / "workloads"
#: Where every query has trends, and few enough to enumerate.
SMALL: dict[str, StreamOptions] = {
    "ridesharing": RidesharingOptions(
        seed=6,
        events=250,
        rate=200,
        burst=2,
        fixed_bursts=True,
        types=7,
        drivers=30,
        riders=60,
        districts=2,
        units=2.8,
    ),
    "stock": StockOptions(events=160, rate=120, burst=2, companies=40, sectors=3, volatility=0.05),
    "cluster": ClusterOptions(events=400, rate=400, burst=2, mappers=6, jobs=6),
    "linear-road": LinearRoadOptions(
        events=400, rate=100, burst=3, vehicles=20, segments=5, accidents=0.1
    ),
}


@cache
def small(name: str) -> tuple[Workload, EventTable]:
    path = WORKLOADS / f"{name.replace('-', '_')}.sase"
    return load_workload(path, STREAMS[name].schema), SMALL[name].make()


@pytest.mark.parametrize("name", STREAMS)
def test_every_query_gives_the_rows_of_the_reference(name: str) -> None:
    workload, events = small(name)
    assert 5 <= len(workload.queries) <= 10
    for query in workload.queries:
        assert greta_refusals(query) == ()
        rows = greta(query, events)
        assert rows, query.name
        reference = two_step(query, events, budget=Budget(300_000))
        assert_same_rows(rows, reference)
