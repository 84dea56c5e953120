"""What `elsinore bench` does in a checkout."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.alone import run_all, target_text
from benchmarks.claim import Benchmark, number
from benchmarks.registry import BENCHMARKS, BY_NAME
from benchmarks.report import write_report
from benchmarks.results import Result, as_json, load, save
from elsinore.errors import ParameterError


def run(names: Sequence[str], *, as_lines: bool, keep: bool) -> bool:
    """Run some benchmarks, or all of them where none is named.

    Args:
        names: of benchmarks.
        as_lines: print a line of JSON for each.
        keep: also take the results over into the docs' table and picture, one by one.

    Returns:
        True if all results were right; a missed target is not a failure.

    Raises:
        ParameterError: there is no benchmark of a name.
    """
    right = True
    for benchmark in _named(names):
        results = run_all([benchmark], json_lines=as_lines)
        right &= all(result.figure is not None for result in results)
        if keep:
            save(results)
            write_report()
    return right


def _named(names: Sequence[str]) -> Sequence[Benchmark]:
    by_name = {benchmark.name: benchmark for benchmark in (*BENCHMARKS, *BY_NAME)}
    for name in names:
        if name not in by_name:
            raise ParameterError(f"no benchmark {name}", hint=f"there are {', '.join(by_name)}")
    return [by_name[name] for name in names] or BENCHMARKS


def show_list(names: Sequence[str], *, as_lines: bool) -> None:
    """Print some benchmarks, or all, with their targets and their last figures; see `run`."""
    kept = load()
    for benchmark in _named(names):
        last = kept.get(benchmark.name)
        if as_lines:
            about = benchmark.told() | {"last": None if last is None else as_json(last)}
            print(json.dumps(about))
        else:
            print(f"{benchmark.name:<18} {benchmark.claim}: {_standing(benchmark, last)}")


def _standing(benchmark: Benchmark, last: Result | None) -> str:
    """The target and the last figure, in words."""
    if last is None:
        return f"{target_text(benchmark)} {benchmark.unit}; not run"
    figure = "-" if last.figure is None else number(last.figure)
    return f"{target_text(benchmark)} {benchmark.unit}; last {figure}, {last.verdict}"
