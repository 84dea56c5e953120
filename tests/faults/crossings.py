"""The points that a job passes: before and after each thing that it does to Spark or to a file.

They are found by wrapping what the jobs call of Spark, Delta and the system, so that a new write of
a job is a new point without anybody's doing, and no code of the product knows of them.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Module, class (or nothing), function: writes first, then what computes or reads.
_WRAPPED = (
    ("pyspark.sql.readwriter", "DataFrameWriter", "save"),
    ("delta.tables", "DeltaMergeBuilder", "execute"),
    ("delta.tables", "DeltaTableBuilder", "execute"),
    ("delta.tables", "DeltaOptimizeBuilder", "executeCompaction"),
    ("delta.tables", "DeltaTable", "vacuum"),
    ("pyspark.sql.classic.dataframe", "DataFrame", "collect"),
    ("pyspark.sql.classic.dataframe", "DataFrame", "count"),
    ("pyspark.sql.classic.dataframe", "DataFrame", "localCheckpoint"),
    ("pyspark.sql.classic.dataframe", "DataFrame", "toArrow"),
    ("os", "", "replace"),
)

#: Told of each point by its name, as soon as the job reaches it.
OnCrossing = Callable[[str], None]


def watch(on_crossing: OnCrossing, only: str) -> None:
    """Tells of every point from now on, in this process.

    Args:
        on_crossing: told `before save raw_events`, `after save raw_events` and so on.
        only: files are points of the job only where they lie below this folder.
    """
    for module, owner, name in _WRAPPED:
        holder = importlib.import_module(module)
        holder = getattr(holder, owner) if owner else holder
        setattr(holder, name, _telling(getattr(holder, name), on_crossing, only))


def _telling(call: Callable[..., Any], on_crossing: OnCrossing, only: str) -> Callable[..., Any]:
    @functools.wraps(call)
    def told(*arguments: Any, **named: Any) -> Any:
        what = _subject(call.__name__, arguments, only)
        if what is None:
            return call(*arguments, **named)
        on_crossing(f"before {what}")
        done = call(*arguments, **named)
        on_crossing(f"after {what}")
        return done

    return told


def _subject(name: str, arguments: tuple[Any, ...], only: str) -> str | None:
    paths = [str(part) for part in arguments if isinstance(part, str | os.PathLike)]
    if name == "replace":
        return f"file {Path(paths[-1]).name}" if paths[-1].startswith(only) else None
    return " ".join([name, *(Path(path).name for path in paths)])
