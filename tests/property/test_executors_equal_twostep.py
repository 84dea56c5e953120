"""All executors against the two-step reference on random queries and streams.

`python -m tests.property --pairs 20000` compares more of the same.
"""

from __future__ import annotations

import pytest

from elsinore.executors.plan import Executor
from tests.draws import draws
from tests.property.compare import EveryWay
from tests.property.pairs import Tally, judge_pair, run_pairs
from tests.property.random_cases import random_case

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

PAIRS = draws(800, 3_800)
#: How many of them `make check` compares.
FEW = 40
#: How many of the pairs must hold each construct and have a result.
ENOUGH = draws(7, 25)

#: Cases that once differed; a name is drawn again by `random_case`. What the smallest stream
#: shows belongs into the golden cases too, since a name means another case once drawing changes.
REGRESSIONS: tuple[str, ...] = (
    # next-match, where an edge predicate makes one of two ways to begin end in no key
    "next-match with edge predicate:475",
    "next-match with edge predicate:803",
    "next-match with edge predicate:2481",
)


def test_every_executor_equals_twostep_on_a_few_pairs() -> None:
    assert run_pairs(FEW, EveryWay()).answered > FEW // 2


@pytest.mark.slow
def test_every_executor_equals_twostep_on_random_pairs() -> None:
    everyone = EveryWay()
    tally = run_pairs(PAIRS, everyone)
    print(tally)
    print(everyone)
    assert tally.answered > PAIRS // 2
    assert not tally.lacking(ENOUGH), tally
    assert not tally.refused_too_often(), tally
    assert {*Executor} - {Executor.TWOSTEP} <= everyone.ran.keys(), everyone
    assert min(everyone.ran.values()) > PAIRS // 40, everyone


@pytest.mark.parametrize("name", REGRESSIONS)
def test_executors_equal_twostep_where_they_once_did_not(name: str) -> None:
    judge_pair(random_case(name), EveryWay(), Tally())
