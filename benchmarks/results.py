"""Stored results of benchmarks: measured value, target, machine and day."""

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

from benchmarks.claim import Benchmark

KEPT = Path(__file__).parents[1] / "docs" / "benchmarks" / "results.json"


@dataclass(frozen=True)
class Result:
    """A benchmark's last run.

    Attributes:
        name, claim, setting, unit, target, at_least: the benchmark's.
        figure: the measured value; None if a result was wrong.
        headroom: the factor by which the value is better than the target; below 1 it is worse.
            None without a target.
        checked: which results were compared with what, or which result was wrong.
        note: a condition of the measurement.
        rows: all measured values.
        took: seconds of the whole benchmark.
        machine: the processor, memory and versions.
        load: the load average of the machine before the run.
        day: ISO date, UTC.
    """

    name: str
    claim: str
    setting: str
    unit: str
    target: float | None
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
        """Return the difference to the target in words, in percent of the target.

        >>> Result("", "", "", "", 8.0, True, 6.0, 0.75, "", "", (), 0.0, "", 0.0, "").verdict
        'missed by 25 %'
        >>> Result("", "", "", "", 8.0, False, 6.0, 1.33, "", "", (), 0.0, "", 0.0, "").verdict
        'met (25 % below target)'
        """
        if self.figure is None:
            return "wrong result"
        if self.headroom is None or not self.target:
            return "no target"
        by = 100 * (self.figure / self.target - 1)
        if self.headroom < 1:
            return f"missed by {max(abs(by), 1):.0f} %"
        side = "above" if by > 0 else "below"
        return f"met ({abs(by):.0f} % {side} target)" if abs(by) >= 0.5 else "met"


def run_benchmark(benchmark: Benchmark) -> Result:
    """Run a benchmark; a wrong result has no measured value."""
    began, load = time.perf_counter(), os.getloadavg()[0]
    found: dict[str, Any] = {"figure": None, "headroom": None, "note": "", "rows": ()}
    try:
        measured = benchmark.measure()
    except AssertionError as error:
        found["checked"] = f"wrong result: {error}"[:500]
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
