"""Random workloads by all ways to run them against the two-step reference.

`python -m tests.property --workloads 1000` compares more of the same.
"""

from __future__ import annotations

from collections import Counter

import pytest

from elsinore.query.load_workload import read_workload
from elsinore.timeline import Interval
from tests.draws import draws
from tests.property.calendar_workloads import some_days
from tests.property.compare import CONSTRUCT, judge_workload
from tests.property.random_cases import SCHEMA, RandomCase
from tests.property.random_workloads import random_workload

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

#: How many workloads of each kind, and by way how many queries must at least have rows; by
#: `way: thing` how many things must have been shared.
KINDS: dict[str, tuple[int, dict[str, float]]] = {
    "fixed": (draws(14, 60), {
        "aseq": 1, "sharon": 1, "sharon at random": 4, "sharon at random: segments": 4,
        "sweep": 1, "sweep with little room": 1, "against the reference": 2,
    }),
    "thresholds": (draws(8, 40), {"sweep": 1, "greta": 1, "against the reference": 3}),
    "short": (draws(20, 90), {
        "greta in 128 bits": 1, "hamlet, dynamic": 1, "hamlet, always": 1, "hamlet, never": 1,
        "hamlet, random": 1, "hamlet, side by side": 1, "hamlet": 1,
        "hamlet-static": 1, "hamlet without room": 1, "sweep": 1, "against the reference": 3,
    }),
    "long": (draws(10, 45), {
        "greta": 1, "hamlet, dynamic": 1, "hamlet, random": 1, "sweep by panes": 1,
        "sweep without panes, in threads": 1,
    }),
    "ordered": (draws(24, 1_500), {
        "greta by order": 0.5, "greta by order, sorted": 0.5, "greta, shared trees": 0.5,
        "greta, shared trees: orders": 0.5,
        "greta, shared trees: comparing": 0.5, "greta, shared trees: returning several": 0.5,
        "against the reference": 1,
    }),
    "long ordered": (draws(20, 1_500), {
        "greta by order in 128 bits": 0.5, "greta by order, wide as it goes": 0.5,
        "greta, shared trees: orders": 0.5,
        "greta, shared trees": 0.5, "greta, shared trees: comparing": 0.5,
    }),
    "mixed": (draws(8, 40), {
        "auto": 3, "auto at random": 12, "auto at random: sets": 1, "auto at random: segments": 1,
        "auto at random: sweeps": 1, "auto at random: orders": 0.5,
    }),
    "repeated": (draws(6, 30), {"auto": 3, "auto at random": 12}),
    "every": (draws(16, 200), {
        "auto": 3, "auto at random": 12, "greta": 2, "hamlet": 1, "sweep": 0.5,
        "against the reference": 3, **dict.fromkeys(map(CONSTRUCT.__add__, (
            "NOT between", "grouping", "ANY", "quantifier", "span", "edge predicate", "MAX",
        )), 0.1),
    }),
    "calendar": (draws(10, 100), {
        "auto": 3, "auto at random": 12, "hamlet": 1, "aseq": 0.3, "sweep": 1,
        "against the reference": 2,
    }),
    "returning": (draws(8, 100), {
        "auto": 3, "auto at random": 12, "auto at random: sweeps": 1, "hamlet": 2, "aseq": 0.5,
        "sweep": 2, "against the reference": 3, **dict.fromkeys(map(CONSTRUCT.__add__, (
            "EACH", "DISTINCT", "LENGTH", "FIRST", "TOTAL", "extreme of a measure", "STDDEV",
            "dispersion of a measure", "dispersion with EACH", "PERCENTILE",
        )), 0.1),
    }),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_gives_the_rows_of_the_reference(kind: str) -> None:
    number, least = KINDS[kind]
    tally: Counter[str] = Counter()
    for n in range(number):
        case = random_workload(f"{kind}:{n}")
        first = min(time for _, time, _ in case.rows)
        part = some_days(case) if kind == "calendar" else Interval(first + 5, first + 30)
        owned = part if n % 4 == 3 else None
        judge_workload(case, tally, owned)
    print(dict(tally))
    assert {name for name, share in least.items() if tally[name] < share * number} == set(), tally


#: Workloads that put together at one state what random ones seldom do.
TOGETHER = {
    "loops under a condition, without one, and none": (
        "COUNT(*), SUM(B.x) PATTERN SEQ(A+, B+) WHERE B.x <= NEXT(B).x WITHIN 40",
        "COUNT(*), COUNT(B) PATTERN SEQ(A+, B) WITHIN 40",
        "COUNT(*) PATTERN SEQ(A+, B+) WITHIN 40 SLIDE 20",
    ),
    "events that none of those that share takes": (
        "COUNT(*), SUM(A.x) PATTERN SEQ(B, A+) WHERE A.x > 1 AND A.x <= NEXT(A).x WITHIN 40",
        "COUNT(*) PATTERN SEQ(C, A+) WHERE A.x > 1 AND A.x <= NEXT(A).x WITHIN 40",
        "COUNT(*) PATTERN A+ WHERE A.x <= NEXT(A).x WITHIN 40",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TOGETHER)
def test_what_seldom_stands_together(name: str) -> None:
    texts = (f"QUERY q{n} RETURN {text};" for n, text in enumerate(TOGETHER[name]))
    workload, tally = read_workload("".join(texts), SCHEMA), Counter[str]()
    for n in range(draws(50, 200)):
        case = RandomCase(f"{name}:{n}", workload, random_workload(f"short:{n}").rows)
        judge_workload(case, tally)
    assert tally["hamlet, always: sets"] > 0
    assert min(tally["against the reference"], tally["hamlet, always"]) > 20, tally


#: Cases of long runs that found a fault: queries that share trees are run with what others like
#: them return.
FOUND = ("long:1043",)


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_found_once_stays_mended(seed: str) -> None:
    judge_workload(random_workload(seed), Counter())
