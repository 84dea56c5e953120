"""`elsinore bench`: the benchmarks of a checkout."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from elsinore.errors import SetupError


def bench(names: Sequence[str], *, list_: bool, keep: bool, as_json: bool) -> int:
    """Run or list benchmarks; return 1 if a result was wrong."""
    runner = _runner(Path(__file__).parents[3])
    if list_:
        runner.show_list(names, as_lines=as_json)
        return 0
    return 0 if runner.run(names, as_lines=as_json, keep=keep) else 1


def _runner(checkout: Path) -> ModuleType:
    """Return the runner of the benchmarks, which are not part of the package.

    Raises:
        SetupError: the package is not in a checkout.
    """
    if not (checkout / "benchmarks" / "registry.py").is_file():
        raise SetupError(
            "the benchmarks are not installed with the package",
            hint="run this in a checkout of the repository, after `make setup`",
        )
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return importlib.import_module("benchmarks.run")
