"""The points that a job passes: before and after each thing that it has others do.

They are found by wrapping what the jobs call of Spark Connect, delta-rs and the system, so that a
new write of a job is a new point without anybody's doing, and no code of the product knows of them.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Module, class (or nothing), function.
_WRAPPED = (
    ("pyspark.sql.connect.client.core", "SparkConnectClient", "execute_command"),
    ("pyspark.sql.connect.client.core", "SparkConnectClient", "to_table"),
    ("pyspark.sql.connect.client.core", "SparkConnectClient", "to_table_as_iterator"),
    ("deltalake", "", "write_deltalake"),
    ("deltalake", "DeltaTable", "create"),
    ("deltalake", "DeltaTable", "create_write_transaction"),
    ("os", "", "replace"),
    ("os", "", "rename"),
)

#: Told of each point by its name, as soon as the job reaches it.
OnPoint = Callable[[str], None]


def watch(on_point: OnPoint, only: Path) -> None:
    """Tells of every point from now on, in this process.

    Args:
        on_point: told `before write_deltalake events`, `after create plans` and so on.
        only: files are points of the job only where they lie below this folder.
    """
    for module, owner, name in _WRAPPED:
        holder = importlib.import_module(module)
        holder = getattr(holder, owner) if owner else holder
        call = getattr(holder, name)
        told = _telling(call, on_point, str(only))
        setattr(holder, name, staticmethod(told) if inspect.ismethod(call) else told)


def _telling(call: Callable[..., Any], on_point: OnPoint, only: str) -> Callable[..., Any]:
    @functools.wraps(call)
    def told(*arguments: Any, **named: Any) -> Any:
        what = _subject(call.__name__, arguments, only, named.get("dst_dir_fd"))
        if what is None:
            return call(*arguments, **named)
        on_point(f"before {what}")
        done = call(*arguments, **named)
        on_point(f"after {what}")
        return done

    return told


def _subject(name: str, arguments: tuple[Any, ...], only: str, directory: int | None) -> str | None:
    """Returns what a call is about; a name in an open directory is one of its path."""
    named = (getattr(part, "table_uri", part) for part in arguments)  # a `DeltaTable` too
    texts = [str(part) for part in named if isinstance(part, str | os.PathLike)]
    if directory is not None:
        texts[-1] = os.path.join(os.readlink(f"/proc/self/fd/{directory}"), texts[-1])
    if name in ("replace", "rename"):
        return f"file {Path(texts[-1]).name}" if texts[-1].startswith(only) else None
    return " ".join([name, *(Path(text).name for text in texts)])
