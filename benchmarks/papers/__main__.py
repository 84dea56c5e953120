"""The experiments of the Hamlet paper (section 5) on generated streams; writes `docs/hamlet.md`.

Hamlet, dynamic and static, against greta, sharon on flattened queries, and two-step, over events a
window, numbers of queries, burst lengths, and numbers of snapshots. Every executor that finishes
must give the same rows. Times are CPU times of one core, of processes that take turns; memory is by
how much such a process grew.

`python -m benchmarks.hamlet_paper [--quick] [--only NAME ...] [--page] [--json FILE]`: `--page`
writes tables and pictures to the docs, without it the tables are only printed; `--json` keeps the
results in a file. `--from FILE` measures nothing and takes them from there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.hamlet_paper.experiments import (
    EXPERIMENTS,
    ONLINE,
    Experiment,
    Point,
    high_setting,
    low_setting,
    own_predicates,
)
from benchmarks.hamlet_paper.measure import EXECUTORS, Found, Task, measure, prepare
from benchmarks.hamlet_paper.page import print_tables, write_page
from benchmarks.hamlet_paper.queries import second_workload
from elsinore.generate.streams import StockOptions

#: Seconds of CPU time after which an executor is given up, at this point and at all later ones.
LIMIT, QUICK_LIMIT = 6, 2
#: Processes of an executor at a point; one is enough where it takes longer than `SLOW` seconds.
ROUNDS, SLOW = 3, 1.0


def run_experiment(experiment: Experiment, *, quick: bool) -> list[Point]:
    """All values; the executors take turns."""
    values = experiment.values[::2] if quick else experiment.values
    given_up: set[str] = set()
    points = []
    for value in values:
        task = experiment.task(value)
        found = {name: Found() for name in experiment.executors if name not in given_up}
        for number in range(1 if quick else ROUNDS):
            for name in list(found):
                if max(found[name].seconds, default=0) > SLOW:
                    continue
                observed = experiment.counts and number == 0
                limit = QUICK_LIMIT if quick else LIMIT
                if not measure(name, task, found[name], limit, observed=observed):
                    given_up.add(name)
                    del found[name]
        answers = {each.answer for each in found.values()}
        assert len(answers) == 1, f"{experiment.name} {value}: {found}"
        points.append(Point(value, len(task.events), found))
        said = ", ".join(f"{n} {statistics.median(f.seconds):.3f}" for n, f in found.items())
        print(f"{experiment.name}: {experiment.variable} {value:g}: {said}", file=sys.stderr)
    return points


def warm_up() -> None:
    """Compile or load all that is measured; the first time this takes some minutes."""
    tasks = (low_setting(3, 200), high_setting(3, 500), high_setting(3, 3_000, edge=""))
    stocks = Task(second_workload(10), StockOptions(events=2_000, companies=5).make())
    for task in (*tasks, high_setting(4, 500, own=own_predicates(0.5)), stocks):
        for name in EXECUTORS if task.flat else ONLINE:
            measure_here(name, task)


def measure_here(name: str, task: Task) -> None:
    """Run an executor in this process, so that others are forked with its kernels loaded."""
    work, to_rows = prepare(name, task)
    to_rows(work())


def kept(path: Path) -> list[tuple[Experiment, list[Point]]]:
    """Results as `--json` keeps them; experiments that are no longer measured are left out."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [
        (
            experiment,
            [
                Point(p["value"], p["events"], {n: Found(**f) for n, f in p["found"].items()})
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
        warm_up()
        results = []
        for each in EXPERIMENTS:
            if given.only and each.name not in given.only:
                continue
            results.append((each, run_experiment(each, quick=given.quick)))
            if given.json is not None:
                found = {e.name: [asdict(point) for point in points] for e, points in results}
                given.json.write_text(json.dumps(found), encoding="utf-8")
    print_tables(results)
    if given.page:
        limit = QUICK_LIMIT if given.quick else LIMIT
        write_page(results, rounds=1 if given.quick else ROUNDS, slow=SLOW, limit=limit)


if __name__ == "__main__":
    main()
