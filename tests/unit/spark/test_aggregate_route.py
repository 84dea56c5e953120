"""Which route an aggregation takes."""

from __future__ import annotations

from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.spark.aggregate_route import Route, compared_in_few_windows
from elsinore.timeline import HOUR, Interval
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"k": "long", "x": "long"}}, "us")


def test_pairs_in_few_long_windows_are_better_spread_by_key() -> None:
    texts = {
        "long_pairs": "A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 1 day",
        "long_plain": "A+ WHERE [k] WITHIN 1 day",
        "short_pairs": "A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 1 hour",
        "slid_pairs": "A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 1 day SLIDE 1 hour",
        "no_key": "A+ WHERE A.x < NEXT(A).x WITHIN 1 day",
    }
    text = "".join(f"QUERY {n} RETURN COUNT(*) PATTERN {t};" for n, t in texts.items())
    workload = bind_workload(parse_workload(text), SCHEMA)
    owned = Interval(0, 24 * HOUR)
    # One window of a day ends in the day, 24 of an hour do, or of a day that slide by an hour.
    assert compared_in_few_windows(workload, owned, cores=1) == []
    assert compared_in_few_windows(workload, owned, cores=2) == ["long_pairs"]
    assert compared_in_few_windows(workload, owned, cores=25) == [
        "long_pairs", "short_pairs", "slid_pairs"
    ]  # fmt: skip


def test_a_route_says_what_it_is() -> None:
    assert Route(()).direct
    assert Route((), "of a feature").in_words() == "shuffled: of a feature"
