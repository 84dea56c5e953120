"""The values that Hamlet works out, from the runtime's snapshots, coefficients and decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.executors.hamlet.decisions import ALWAYS, Decisions
from elsinore.executors.hamlet.observe import Observer
from elsinore.query.load_workload import read_workload
from tests.golden_cases import event_table, stream_schema

CASES = yaml.safe_load(
    (Path(__file__).parents[3] / "golden" / "hamlet_values.yaml").read_text("utf-8")
)
SCHEMA = stream_schema({"A": {"v": "long"}, "B": {"v": "long"}, "C": {"v": "long"}})

#: Names of graphlets and of snapshots in the order in which a run makes them.
GRAPHLETS, SNAPSHOTS = ("B3", "B6"), "xz"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_run_has_the_papers_values(case: dict[str, Any]) -> None:
    texts = "".join(f"QUERY q{n} {text};" for n, text in enumerate(case["queries"], start=1))
    queries = read_workload(texts, SCHEMA).queries
    events = event_table(case["events"], SCHEMA)
    observer = Observer()
    aggregate_set(queries, events, decisions=ALWAYS, observer=observer)
    assert observer.complete
    shared = _shared_bursts(observer)
    for name, wanted in case.get("values", {}).items():
        graphlet, snapshot = name.split()
        burst = shared[GRAPHLETS.index(graphlet)]
        found = [
            observer.values[burst, SNAPSHOTS.index(snapshot), query, 0]
            for query in range(len(queries))
        ]
        assert found == wanted, name
    for graphlet, events_wanted in case.get("coefficients", {}).items():
        burst = shared[GRAPHLETS.index(graphlet)]
        assert _coefficients(observer, burst) == list(events_wanted.values())
    for graphlet, sums in case.get("sums", {}).items():
        burst = shared[GRAPHLETS.index(graphlet)]
        found_sums = {SNAPSHOTS[s]: c for (b, s), c in observer.sums.items() if b == burst}
        assert found_sums == sums
    if "decisions" in case:
        share = {n: d["share"] for n, d in zip(shared, case["decisions"], strict=True)}
        given = ((share.get(n, False),) * len(queries) for n in range(max(share) + 1))
        observer, by = Observer(), Decisions.of(tuple(given))
        aggregate_set(queries, events, decisions=by, observer=observer)
        _check_decisions(case, observer)


def _shared_bursts(observer: Observer) -> list[int]:
    """Bursts of B, in order."""
    kleene = max(decision.k for decision in observer.decisions)
    return [d.burst for d in observer.decisions if d.k == kleene]


def _coefficients(observer: Observer, burst: int) -> list[dict[str, int]]:
    """For each event of a burst its coefficients that are not 0."""
    events: dict[int, dict[str, int]] = {}
    for (found, entry, snapshot), value in sorted(observer.coefficients.items()):
        if found == burst and value:
            events.setdefault(entry, {})[SNAPSHOTS[snapshot]] = value
    return [events[entry] for entry in sorted(events)]


def _check_decisions(case: dict[str, Any], observer: Observer) -> None:
    """Decisions by Equation 7 with the paper's own count of steps, from what the run logs."""
    found = []
    for d in (decision for decision in observer.decisions if decision.k == 2):
        shared, alone = d.b * d.n * d.s_p + d.s_c * d.k * d.g * d.t, d.k * d.b * d.n
        assert (len(d.queries) == 2) == (shared <= alone)
        found.append(
            {
                "b": d.b, "n": d.n, "s_p": d.s_p, "s_c": d.s_c, "k": d.k, "g": d.g, "t": d.t,
                "shared": shared, "alone": alone, "benefit": alone - shared,
                "share": shared <= alone,
            }
        )  # fmt: skip
    assert found == case["decisions"]
    assert observer.counts["split"] == case["split"]
    assert observer.counts["merged"] == case["merged"]
