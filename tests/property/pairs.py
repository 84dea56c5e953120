"""Runs an executor against the reference on random pairs until each construct was met enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from tests.property.random_cases import CONSTRUCTS, CONTIGUOUS_KEYS, RandomCase, random_case

#: What the reference may spend on one case; a case that needs more is not compared.
BUDGET = 4_000

#: The largest share of cases that an executor may refuse, over all and of any one construct.
MOST_REFUSED = 0.10
MOST_REFUSED_OF_ONE = 0.40

#: Judges one case by the reference's rows (None where it finds the query ambiguous): raises
#: AssertionError, or returns why the executor refuses the query.
Judge = Callable[[RandomCase, list[ResultRow] | None], tuple[str, ...]]


@dataclass
class Tally:
    """What a run has met.

    Attributes:
        compared: pairs compared, `answered` of them with a row.
        met: pairs with a row, by construct.
        too_large: cases too large for the reference.
        undecided: cases that the reference finds ambiguous.
        refusals: cases that the executor refused, undecided ones among them.
        drawn: all cases drawn, by construct; `refused` those refused or undecided.
        reasons: refusals by reason.
    """

    compared: int = 0
    answered: int = 0
    too_large: int = 0
    undecided: int = 0
    refusals: int = 0
    met: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def refused_share(self) -> float:
        """Which share of the cases that were not too large the executor refused."""
        return self.refusals / max(1, self.compared + self.refusals)

    def behind(self) -> str:
        """The construct that was met least."""
        return min(CONSTRUCTS, key=lambda name: self.met[name])

    def refused_too_often(self) -> list[str]:
        """The constructs, and "all", of which too large a share was refused."""
        found = [n for n in CONSTRUCTS if self.refused[n] > MOST_REFUSED_OF_ONE * self.drawn[n]]
        return found + (["all"] if self.refused_share > MOST_REFUSED else [])

    def lacking(self, enough: int) -> list[str]:
        """The constructs that were met in fewer pairs."""
        return [name for name in CONSTRUCTS if self.met[name] < enough]

    def __str__(self) -> str:
        lines = [
            f"{self.compared} pairs, {self.answered} with a result; not compared: "
            f"{self.refusals} refused ({self.refused_share:.1%}), "
            f"{self.undecided} ambiguous to the reference, {self.too_large} too large for it",
            f"{'construct':36}{'with result':>12}{'drawn':>8}{'refused':>9}",
        ]
        for name in CONSTRUCTS:
            counts = f"{self.met[name]:>12}{self.drawn[name]:>8}{self.refused[name]:>9}"
            lines.append(f"{name:36}{counts}")
        lines += [f"refused {n} times: {reason}" for reason, n in self.reasons.most_common()]
        return "\n".join(lines)


def run_pairs(pairs: int, judge: Judge) -> Tally:
    """Compare as many pairs.

    Half of them are aimed at the construct that is still behind, and a quarter at contiguous trends
    with keys, where what matters is what lies between two events.

    Raises:
        AssertionError: a pair differs.
    """
    tally = Tally()
    seed = 0
    while tally.compared < pairs:
        seed += 1
        aim = ""
        if seed % 2:
            aim = f"{tally.behind()}:"
        elif seed % 4:
            aim = f"{CONTIGUOUS_KEYS[seed // 4 % len(CONTIGUOUS_KEYS)]}:"
        judge_pair(random_case(f"{aim}{seed}"), judge, tally)
    return tally


def judge_pair(case: RandomCase, judge: Judge, tally: Tally) -> None:
    """Work out what the reference says of one case, have it judged, and count it.

    Raises:
        AssertionError: the executor differs.
    """
    tally.drawn.update(case.constructs)
    expected: list[ResultRow] | None = None
    try:
        expected = two_step(case.query, case.events, budget=BUDGET)
    except BudgetError:
        tally.too_large += 1
        return
    except UnsupportedQueryError:  # two matches of one trend differ in what is asked for
        tally.undecided += 1
    reasons = judge(case, expected)
    if reasons or expected is None:
        tally.refused.update(case.constructs)
        tally.reasons.update(reasons)
        tally.refusals += bool(reasons)
        return
    tally.compared += 1
    if expected:
        tally.answered += 1
        tally.met.update(case.constructs)
