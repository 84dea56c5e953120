"""Measures what sweeping collapsed queries costs.

`python -m benchmarks.sweep_costs` prints the costs for `engine/sweep/predicted.json`, fitted to end
to end times of cases drawn at random with a fixed seed. `python -m benchmarks.auto` compares what
is predicted and picked with what is quicker.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.auto import LOCAL, Case, best, fitted
from elsinore.engine.hamlet.traffic import Stream
from elsinore.engine.plan import sample_profiles
from elsinore.engine.sweep import aggregate_sweep, sweep_sets
from elsinore.engine.sweep.amounts import sweep_amounts
from elsinore.engine.sweep.predict import sweep_costs
from elsinore.sharing.observe import observe


def calibrated() -> dict[str, float]:
    """Nanoseconds for a unit of each kind of a sweep's work."""
    lines: list[Mapping[tuple[str, str], float]] = []
    times: list[float] = []
    for case in random_cases(72):
        workload, events = case.workload(), case.stream()
        (members,) = sweep_sets(workload.queries).sets
        stream = Stream(observe(workload, events), sample_profiles(workload, events))
        run = partial(aggregate_sweep, members, events)
        run()
        times.append(best({"sweep": run})["sweep"])
        amounts = sweep_amounts(members, stream)
        lines.append({("sweep", kind): amount for kind, amount in amounts.items()})
        print(json.dumps([case.name, times[-1]]), file=sys.stderr)
    guesses = {("sweep", kind): cost for kind, cost in sweep_costs().items()}
    return {kind: round(cost, 6) for (_, kind), cost in fitted(lines, times, guesses).items()}


def random_cases(number: int) -> list[Case]:
    """Cases of all kinds of collapsed queries, the same ones each time."""
    dice = np.random.default_rng(13)
    found = []
    for each in range(number):
        events = int(dice.choice([1_000, 30_000, 200_000, 1_000_000]))
        case = Case(
            f"random {each}",
            int(dice.choice([1, 2, 5, 20, 50, 100])),
            int(dice.choice([1, 3, 10, 30, 100])),
            events,
            int(dice.choice([20, 60, 60, 200, 1_000])),
            LOCAL if each % 6 == 5 else "",
            int(dice.choice([1, 1, 1, 4, 20])),
            int(dice.choice([1, 1, 1, 30, 1_000])),
            starts=int(dice.choice([-1, -1, 1])),
            returns=str(dice.choice(["COUNT(*)", "COUNT(*)", "COUNT(*), SUM(B.x), MIN(B.y)"])),
        )
        if case.starts == 1:
            case = replace(case, pattern="SEQ(S0, B+)")
        if case.overlap > 1 or case.where:
            case = replace(case, events=min(case.events, 60_000))
        if case.where:
            case = replace(case, queries=min(case.queries, 10))
        if case.window > 200:  # wide counts
            case = replace(case, events=min(case.events, 30_000 // case.overlap))
        found.append(case)
    return found


if __name__ == "__main__":
    print(json.dumps({"sweep": calibrated()}, indent=2))
