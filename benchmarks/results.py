"""Results of benchmarks as values that are kept: figures, bars, machine, day."""

from __future__ import annotations

import json
import os
import platform
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.claim import Benchmark, number

KEPT = Path(__file__).parents[1] / "docs" / "benchmarks" / "results.json"


@dataclass(frozen=True)
class Result:
    """A benchmark's last run.

    Attributes:
        name, claim, setting, unit, bar, at_least: the benchmark's.
        figure: what was measured; None where an answer was wrong.
        headroom: how many times better than the bar; below 1 it falls short. None without a bar.
        checked: which answers were compared with what, or what was wrong.
        note: what a reader must know.
        rows: all that was measured.
        took: seconds of the whole benchmark.
        machine: what it ran on; load: processes that were busy there before, one minute's average.
        day: ISO date, UTC.
    """

    name: str
    claim: str
    setting: str
    unit: str
    bar: float | None
    at_least: bool
    figure: float | None
    headroom: float | None
    checked: str
    note: str
    rows: tuple[Mapping[str, Any], ...]
    took: float
    machine: str
    load: float
    day: str

    @property
    def verdict(self) -> str:
        """In words, for a table.

        >>> Result("", "", "", "", 8.0, True, 4.0, 0.5, "", "", (), 0.0, "", 0.0, "").verdict
        'short, 2 times'
        """
        if self.figure is None:
            return "wrong answer"
        if self.headroom is None:
            return "no bar"
        if self.headroom >= 1:
            return "met" if self.headroom < 1.05 else f"met, {number(self.headroom)} times better"
        return f"short, {number(1 / self.headroom)} times"


def run_benchmark(benchmark: Benchmark) -> Result:
    """Run one; a wrong answer is a result without a figure."""
    began, load = time.perf_counter(), os.getloadavg()[0]
    found: dict[str, Any] = {"figure": None, "headroom": None, "note": "", "rows": ()}
    try:
        measured = benchmark.measure()
    except AssertionError as error:
        found["checked"] = f"wrong answer: {error}"[:500]
    else:
        found = {**vars(measured), "headroom": benchmark.headroom(measured.figure)}
    return Result(
        **benchmark.told(),
        **found,
        took=time.perf_counter() - began,
        machine=machine(),
        load=load,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
    )


def machine() -> str:
    """Processor, cores, memory and versions."""
    cpu = re.search(r"model name\s*: (.*)", _text("/proc/cpuinfo"))
    memory = re.search(r"MemTotal:\s*(\d+)", _text("/proc/meminfo"))
    parts = [
        (cpu[1].strip() if cpu else platform.processor()) or platform.machine(),
        f"{os.cpu_count()} cores",
        *([f"{int(memory[1]) / 2**20:.0f} GB"] if memory else []),
        f"Python {platform.python_version()}",
        *(f"{name.capitalize()} {version(name)}" for name in ("numba", "numpy", "pyarrow")),
    ]
    return ", ".join(parts)


def _text(path: str) -> str:
    file = Path(path)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def load(path: Path = KEPT) -> dict[str, Result]:
    """The results that are kept, by name."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text(encoding="utf-8"))
    return {each["name"]: Result(**each | {"rows": tuple(each["rows"])}) for each in found}


def save(results: Iterable[Result], path: Path = KEPT) -> None:
    """Keep results, instead of older ones of the same names."""
    kept = load(path) | {result.name: result for result in results}
    text = json.dumps([asdict(kept[name]) for name in sorted(kept)], indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def as_json(result: Result) -> dict[str, Any]:
    """For programs."""
    return asdict(result) | {"verdict": result.verdict}
