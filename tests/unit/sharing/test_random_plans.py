"""Every optimizer against exhaustive search on seeded random workloads of up to 18 queries."""

from __future__ import annotations

from functools import reduce as reduce_bits
from itertools import combinations
from math import fsum
from operator import or_

import numpy as np
import pytest

from elsinore.choices import Optimizer
from elsinore.query.bound import Workload
from elsinore.query.segments import Place
from elsinore.sharing.benefit import Savings, weigh
from elsinore.sharing.candidates import Candidate, mine_candidates, places_of
from elsinore.sharing.find_plan import Problem, find_plan
from elsinore.sharing.graph import SharonGraph, gwmin, reduce
from elsinore.sharing.replan import verify
from elsinore.sharing.search import exhaustive, search
from elsinore.sharing.statistics import Statistics
from tests.draws import draws
from tests.unit.sharing.support import bind, count_trends

#: Scores agree up to this share; HiGHS computes to 1e-6.
CLOSE = 2e-6


def random_workload(seed: int) -> tuple[Workload, Statistics]:
    """Up to 18 queries over 5 to 12 types, in two windows; on some streams sharing pays little."""
    rng = np.random.default_rng(seed)
    types = [chr(ord("A") + n) for n in range(int(rng.integers(5, 13)))]
    queries = {}
    for number in range(18 - int(rng.geometric(0.2) - 1) % 17):
        length = int(rng.integers(2, min(6, len(types)) + 1))
        parts = rng.choice(types, length, replace=bool(rng.random() < 0.1)).tolist()
        within = 10 if rng.random() < 0.7 else 5
        queries[f"q{number}"] = count_trends(parts, f"WITHIN {within}")
    middle = rng.uniform(-0.6, 0.5)
    rates = {name: float(np.round(10 ** rng.normal(middle, 0.3), 3)) for name in types}
    return bind(queries, types), Statistics.given(10, rates)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(draws(25, 500)))
def test_every_optimizer_keeps_its_promises(seed: int) -> None:
    workload, statistics = random_workload(seed)
    candidates = mine_candidates(workload)
    savings = {c.id: weigh(c, workload, statistics) for c in candidates}
    problem = Problem(candidates, savings, 60.0)
    whole = _check_graph(problem.graph)
    scores = {}
    for optimizer in Optimizer:
        if optimizer is Optimizer.EXHAUSTIVE and len(problem.expanded().graph.vertices) > 20:
            continue
        plan = find_plan(workload, statistics, optimizer=optimizer)
        verify(plan, workload)
        scores[optimizer] = plan.score
        assert plan.proven == (optimizer is not Optimizer.GWMIN)
    expansion = problem.expanded()
    paper = _check_graph(expansion.graph)
    best = best_of_all_subsets(candidates, savings)
    assert _close(scores[Optimizer.SHARON], paper)
    assert _close(scores.get(Optimizer.EXHAUSTIVE, paper), paper)
    assert _close(scores[Optimizer.OPTIMAL], best)
    assert scores[Optimizer.GWMIN] <= whole * (1 + CLOSE)
    assert whole <= paper * (1 + CLOSE)
    assert paper <= best * (1 + CLOSE)
    gains = [gain for own in savings.values() for gain in own.gains.values()]
    pays = all(benefit > 0 for benefit in problem.benefits.values())
    windows = {query.window.within for query in workload.queries}
    if min(gains, default=1) > 0 and pays and len(windows) == 1:
        assert _close(paper, best)  # what Algorithm 5 leaves out is no option that could pay


def _check_graph(graph: SharonGraph) -> float:
    """Reduction, search and exhaustive search agree on a graph; returns the best score."""
    best = best_independent_weight(graph)
    reduction = reduce(graph)
    found = search(reduction.graph)
    rest = graph.weight(reduction.conflict_free)
    assert _close(graph.weight(found.chosen) + rest, best)
    greedy = graph.weight(gwmin(graph))
    assert reduction.guaranteed * (1 - 1e-9) <= greedy <= best * (1 + 1e-9)
    if len(graph.vertices) <= 18:
        assert _close(graph.weight(exhaustive(graph)), best)
    return best


def best_independent_weight(graph: SharonGraph) -> float:
    """The largest weight of an independent set, by definition: with or without the next vertex."""
    near = [sum(1 << int(n) for n in graph.near(v)) for v in range(len(graph.vertices))]
    weights = graph.values.tolist()
    known: dict[int, float] = {0: 0.0}

    def best(left: int) -> float:
        if left not in known:
            vertex = (left & -left).bit_length() - 1
            rest = left & ~(1 << vertex)
            known[left] = max(best(rest), weights[vertex] + best(rest & ~near[vertex]))
        return known[left]

    return best((1 << len(weights)) - 1)


def best_of_all_subsets(candidates: tuple[Candidate, ...], savings: dict[str, Savings]) -> float:
    """The best score over every subset of two or more queries of every candidate.

    By definition: one option of each candidate or none, tried in turn on what is still free.
    """
    bits: dict[Place, int] = {}
    options = [_all_options(candidate, savings[candidate.id], bits) for candidate in candidates]
    ahead = [0]  # what the candidates from here on may occupy
    for own in reversed(options):
        ahead.insert(0, reduce_bits(or_, (mask for _, mask in own), ahead[0]))
    known: dict[tuple[int, int], float] = {}

    def best(number: int, taken: int) -> float:
        if number == len(options):
            return 0.0
        key = number, taken & ahead[number]
        if key not in known:
            known[key] = max(
                [best(number + 1, taken)]
                + [benefit + best(number + 1, taken | mask)
                   for benefit, mask in options[number] if not mask & taken]
            )  # fmt: skip
        return known[key]

    return best(0, 0)


def _all_options(
    candidate: Candidate, savings: Savings, bits: dict[Place, int]
) -> list[tuple[float, int]]:
    """Benefit and places of every option that pays."""
    found = []
    for size in range(2, len(candidate.queries) + 1):
        for queries in combinations(candidate.queries, size):
            benefit = fsum(savings.gains[q] for q in queries) - max(
                savings.once[q] for q in queries
            )
            places = places_of(candidate, frozenset(queries))
            mask = sum(1 << bits.setdefault(place, len(bits)) for place in places)
            if benefit > 0:
                found.append((benefit, mask))
    return found


def _close(left: float, right: float) -> bool:
    return abs(left - right) <= CLOSE * max(left, right) + 1e-9
