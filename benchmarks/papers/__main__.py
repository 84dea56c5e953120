"""Measure the GRETA, Sharon and Hamlet papers' experiments; write `docs/benchmarks/papers.md`.

Every system of the papers on one stream, within budgets of time and memory. Systems that finish
must give the same rows, and those of the reference where that finishes. Times are CPU times of one
core, of processes that take turns; memory is by how much such a process grew.

`python -m benchmarks.papers [--quick] [--only NAME ...] [--page] [--json FILE]`: `--page` writes
the page and its pictures, without it the tables are only printed; `--json` keeps the results in a
file. `--from FILE` measures nothing and takes them from there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from benchmarks.papers.figures import EXPERIMENTS, Experiment, Point
from benchmarks.papers.measure import Found, fingerprint, measure
from benchmarks.papers.online import OPTIMIZERS, REFERENCE, Task, beginning, prepare
from benchmarks.papers.page import Budgets, Results, print_tables, write_page
from elsinore.errors import BudgetError
from elsinore.reference.two_step import two_step

#: Seconds of CPU time after which a system is given up, at this point and at all later ones.
LIMIT, QUICK_LIMIT, REFERENCE_LIMIT = 4, 2, 2
#: Events of a stream's beginning that the reference is tried on, halved until it needs fewer steps
#: a query, some microseconds each.
MOST, STEPS = 3_200, 20_000
#: Processes of a system at a point; one is enough where it takes longer than `SLOW` seconds.
ROUNDS, SLOW = 2, 0.5


def run_experiment(experiment: Experiment, *, quick: bool) -> list[Point]:
    """All values; the systems take turns."""
    values = experiment.values[::2] if quick else experiment.values
    names = [*experiment.systems]
    if not set(names) & set(OPTIMIZERS):
        names.append(REFERENCE)
    points = []
    for value in values:
        task = experiment.task(value)
        point = Point(value, len(task.events), {name: Found() for name in names})
        for number in range(1 if quick else ROUNDS):
            _measure_all(experiment, task, point, quick=quick, first=number == 0)
        names = [name for name in names if name in point.found]
        answers = {each.answer for each in point.found.values()} - {"any"}
        assert len(answers) == 1, f"{experiment.name} {value}: {point.found}"
        point.checked = point.found.pop(REFERENCE, None) is not None
        points.append(point)
        said = ", ".join(f"{name} {found.time:.3f}" for name, found in point.found.items())
        print(f"{experiment.name}: {experiment.variable} {value:g}: {said}", file=sys.stderr)
    return points


def _measure_all(
    experiment: Experiment, task: Task, point: Point, *, quick: bool, first: bool
) -> None:
    """One more process of each system; who breaks a budget is lost."""
    for name, found in list(point.found.items()):
        if found.seconds and (name == REFERENCE or max(found.seconds) > SLOW):
            continue
        limit = REFERENCE_LIMIT if name == REFERENCE else QUICK_LIMIT if quick else LIMIT
        broken = measure(name, task, found, limit, observed=experiment.counts and first)
        if broken is not None:
            del point.found[name]
            if name != REFERENCE:
                point.lost[name] = broken


def warm_up(experiments: Sequence[Experiment]) -> None:
    """Compile or load all that is measured; and hold each system against the reference.

    It does so over the beginning of each stream, as far as the reference can go; the first time
    this takes some minutes.
    """
    for experiment in experiments:
        first = experiment.checked or partial(experiment.task, experiment.values[0])
        task, events = first(), MOST
        while True:
            little = beginning(task, events)
            wanted = _answer(experiment, little)
            if wanted is not None:
                break
            events //= 2
        for name in experiment.systems:
            work, to_rows = prepare(name, little)
            answer = fingerprint(to_rows(work()))
            assert name in OPTIMIZERS or answer == wanted, f"{experiment.name}: {name}"


def _answer(experiment: Experiment, task: Task) -> str | None:
    """The reference's, of which optimizers have none; None where there are too many trends."""
    queries = () if set(experiment.systems) <= set(OPTIMIZERS) else task.workload.queries
    try:
        budget = STEPS
        rows = [row for q in queries for row in two_step(q, task.events, budget=budget)]
    except BudgetError:
        return None
    assert rows or not queries, f"{experiment.name}: nothing to hold against each other"
    return fingerprint(rows)


def kept(path: Path) -> Results:
    """Results as `--json` keeps them; experiments that are no longer measured are left out."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [
        (
            experiment,
            [
                Point(**p | {"found": {n: Found(**f) for n, f in p["found"].items()}})
                for p in found[experiment.name]
            ],
        )
        for experiment in EXPERIMENTS
        if experiment.name in found
    ]


def main() -> None:
    """Run all experiments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every other point, one process each")
    parser.add_argument("--page", action="store_true", help="write tables and pictures to the docs")
    parser.add_argument("--json", type=Path, help="where to keep the results")
    parser.add_argument("--only", nargs="+", choices=[each.name for each in EXPERIMENTS])
    parser.add_argument("--from", dest="source", type=Path, help="results that were kept")
    given = parser.parse_args()
    if given.source is not None:
        results = kept(given.source)
    else:
        chosen = [each for each in EXPERIMENTS if not given.only or each.name in given.only]
        warm_up(chosen)
        results = []
        for each in chosen:
            results.append((each, run_experiment(each, quick=given.quick)))
            if given.json is not None:
                found = {e.name: [asdict(point) for point in points] for e, points in results}
                given.json.write_text(json.dumps(found), encoding="utf-8")
    limit = QUICK_LIMIT if given.quick else LIMIT
    print_tables(results)
    if given.page:
        write_page(results, Budgets(limit, REFERENCE_LIMIT, 1 if given.quick else ROUNDS, SLOW))


if __name__ == "__main__":
    main()
