"""`elsinore bench`: the benchmarks of a checkout."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import elsinore
from elsinore.errors import SetupError


def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help="Which ones; all of them where none is named.")
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Say which there are, their bars and last figures.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Take the results over into docs/benchmarks.md.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A line for each, for programs.")] = False,
) -> int:
    """Measure the claims on speed and memory; 1 if an answer was wrong, however fast."""
    runner = _runner(Path(elsinore.__file__).parents[2])
    if list_:
        runner.show_list(as_lines=as_json)
        return 0
    return 0 if runner.run(names or [], as_lines=as_json, keep=keep) else 1


def _runner(checkout: Path) -> ModuleType:
    """The benchmarks are no part of the package.

    Raises:
        SetupError: the package does not stand in a checkout.
    """
    if not (checkout / "benchmarks" / "registry.py").is_file():
        raise SetupError(
            "the benchmarks are not installed with the package",
            hint="run this in a checkout of the repository, after `make setup`",
        )
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))
    return importlib.import_module("benchmarks.run")
