"""What was shared, as figures and back."""

from __future__ import annotations

from elsinore.engine.plan import GRETA, HAMLET, Choice, RuntimePlan
from elsinore.lake.run_metrics import Ran, is_of_sharing, run_time_sharing, sharing_metrics
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.sharing.sharable import sharable_sets
from elsinore.spark.aggregate_worker import add_up
from tests.property.random_cases import SCHEMA

CHOICES = (Choice("a", HAMLET, "pays: by half"), Choice("b", HAMLET, "pays: by half"),
           Choice("c", GRETA, "shares with no other"))  # fmt: skip
QUERIES = bind_workload(
    parse_workload("""
QUERY a RETURN COUNT(*) PATTERN SEQ(A, B+) WITHIN 10;
QUERY b RETURN COUNT(*) PATTERN SEQ(C, B+) WITHIN 10;
QUERY c RETURN COUNT(*) PATTERN D+ WITHIN 10;"""),
    SCHEMA,
).queries
PLAN = RuntimePlan.of(
    QUERIES, sets=sharable_sets(QUERIES).sets, choices=CHOICES, alone=4e9, together=2e9
)


def test_figures_of_several_slices_are_put_together() -> None:
    slices = [sharing_metrics(PLAN, {"bursts": n, "shared": 1}) for n in (3, 4)]
    assert all(is_of_sharing(metric) for metric in slices[0])
    assert not is_of_sharing("events")
    rows = [
        (metric, None, value) if isinstance(value, str) else (metric, float(value), None)
        for figures in slices
        for metric, value in figures.items()
    ]
    found = run_time_sharing([*rows, ("events", 5.0, None)])
    assert found.ran == (
        Ran("hamlet", "pays: by half", ("a", "b")),
        Ran("greta", "shares with no other", ("c",)),
    )
    assert found.sets == (("a", "b"),)
    assert found.counts == {"bursts": 7, "shared": 2}
    assert (found.alone, found.together, found.saved) == (4.0, 2.0, 2.0)


def test_nothing_shared_has_no_figures() -> None:
    assert sharing_metrics(RuntimePlan.of(QUERIES), {}) == {}
    assert run_time_sharing([]).ran == ()


def test_counts_of_tasks_are_added_and_sizes_compared() -> None:
    found = add_up([{"bursts": 2, "bytes": 10}, {"bursts": 3, "bytes": 7}, {}])
    assert found == {"bursts": 5, "bytes": 10}
