"""The values that Hamlet works out, from the runtime's snapshots, coefficients and decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
import yaml

from elsinore.engine.hamlet import aggregate_set, observe
from elsinore.engine.hamlet.decisions import ALWAYS, EQUATION
from elsinore.engine.hamlet.observe import Observer
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.kernels.hamlet import share_propagation
from elsinore.kernels.hamlet_work import SUM
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.sharing.sharable import sharable_set
from tests.golden_cases import event_table, stream_schema

CASES = yaml.safe_load(
    (Path(__file__).parents[2] / "golden" / "hamlet_values.yaml").read_text("utf-8")
)
SCHEMA = stream_schema({"A": {"v": "long"}, "B": {"v": "long"}, "C": {"v": "long"}})

#: The time at which a graphlet is over, and the names of snapshots in the order of a run.
GRAPHLETS, SNAPSHOTS = {"B3": 6, "B6": 15}, "xz"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_run_has_the_papers_values(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = "".join(f"QUERY q{n} {text};" for n, text in enumerate(case["queries"], start=1))
    queries = bind_workload(parse_workload(texts), SCHEMA).queries
    events = event_table(case["events"], SCHEMA)

    def run(time: int) -> tuple[list[list[int]], np.ndarray]:
        until = EventTable(SCHEMA, events.table.filter(pc.field(TIME_COLUMN) <= time))
        return _last_burst(queries, until, monkeypatch)

    for name, wanted in case.get("values", {}).items():
        graphlet, snapshot = name.split()
        assert run(GRAPHLETS[graphlet])[0][SNAPSHOTS.index(snapshot)] == wanted, name
    for events_wanted in case.get("coefficients", {}).values():
        before = np.zeros(2, np.int64)
        for event, wanted in events_wanted.items():
            sums = run(int(event[1:]))[1]
            assert _by_name(sums - before) == wanted, event
            before = sums
    for graphlet, wanted in case.get("sums", {}).items():
        assert _by_name(run(GRAPHLETS[graphlet])[1]) == wanted
    if "decisions" in case:
        observer = Observer()
        aggregate_set(queries, events, decisions=EQUATION, observer=observer)
        assert observer.complete
        _check_decisions(case, observer)


def _last_burst(
    queries: Sequence[BoundQuery], events: EventTable, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[list[int]], np.ndarray]:
    """The last burst of B: its snapshots for each query, and the coefficients of its sum."""
    seen: list[Any] = []

    def watched(*tuples: Any) -> None:
        seen.append(tuples)
        share_propagation(*tuples)

    with monkeypatch.context() as patched:
        patched.setattr(observe, "share_propagation", watched)
        aggregate_set(queries, events, decisions=ALWAYS)
    ((graph, work, lanes, *_),) = seen
    found = sharable_set(queries)
    assert found is not None
    (kleene,) = found.merged.kleene
    values = lanes.longs[work.snapshots : work.snapshots + 2, : len(queries)]
    if not graph.kinds[kleene]["plain"]:
        return values.tolist(), work.coefficients[SUM, :2].copy()
    sums = lanes.longs[work.stage, : len(queries)]  # in closed form
    coefficient = sums[0] // values[0, 0]
    assert (sums == coefficient * values[0]).all()
    return values.tolist(), np.array([coefficient, 0])


def _by_name(coefficients: np.ndarray) -> dict[str, int]:
    return {name: c for name, c in zip(SNAPSHOTS, coefficients.tolist(), strict=True) if c}


def _check_decisions(case: dict[str, Any], observer: Observer) -> None:
    made = [decision for decision in observer.decisions if decision.k == 2]
    found = [
        {
            "b": d.b, "n": d.n, "s_p": d.s_p, "s_c": d.s_c, "k": d.k, "g": d.g, "t": d.t,
            "shared": d.shared, "alone": d.alone, "benefit": d.benefit,
            "share": len(d.queries) == 2,
        }
        for d in made
    ]  # fmt: skip
    assert found == case["decisions"]
    assert observer.counts["split"] == case["split"]
    assert observer.counts["merged"] == case["merged"]
