"""Clears away what is left of a table whose creation was killed before its first commit."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import deltalake

_LOG = "_delta_log"

#: Seconds after which nobody is still at work on a log that has no commit: making one takes a
#: tenth of one, and a killed task is tried again after ten.
_ABANDONED = 3.0


def clear_unfinished(table: Path) -> None:
    """Remove the log folder of a table that is none, and do nothing to one that is.

    Delta calls whatever has anything in its log folder a table, then misses the table's first
    commit, and would refuse to create it for ever. A creation that is under way is waited for.

    Args:
        table: the folder of the table; it need not exist.
    """
    log = table / _LOG
    while log.is_dir() and not deltalake.DeltaTable.is_deltatable(str(table)):
        if time.time() - _last_touched(log) > _ABANDONED:
            shutil.rmtree(log)
            return
        time.sleep(0.1)


def _last_touched(folder: Path) -> float:
    touched = 0.0
    for path in (folder, *folder.rglob("*")):
        try:
            touched = max(touched, path.stat().st_mtime)
        except FileNotFoundError:
            continue  # a temporary file that has got its name
    return touched
