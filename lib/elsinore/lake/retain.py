"""Removes what has been kept as long as the settings say.

Published results stay, and what they stand on: `publications`, `plans`, `landings`, `history`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError
from elsinore.lake.regions import day_of
from elsinore.lake.run_metrics import TABLE as METRICS
from elsinore.lake.tables import Lake
from elsinore.lake.validate import VALIDATIONS
from elsinore.settings import Settings
from elsinore.timeline import DAY

#: Of records, the column that begins with the day of the hours that they are of.
_BEGINS = {VALIDATIONS: "owned_hour", METRICS: "run_key"}

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def remove_old(
    lake: Lake, settings: Settings, longest: int, until: int, *, run: str
) -> dict[str, int]:
    """Remove whole days that lie further back from an instant than they are to be kept.

    The stream's schema says how long, or else the settings do. `longest` is the longest window of
    the stream's queries. It is no correction: what is removed from `events` makes no published hour
    stale. The answer is by `<table or folder>_expired` how many rows, or pages and folders, went.

    Raises:
        ParameterError: a period is shorter than what runs look back to; nothing is removed then.
        ConflictError: others kept writing meanwhile.
    """
    of_all: Mapping[Any, int] = settings.keep_days
    keep = {**of_all, **lake.stream.keep_days}
    _require_kept(keep, settings.late_days, lake.stream, longest)
    pages = {"reports": settings.reports, "data_docs": settings.quality}
    note, removed = json.dumps({"run": run, "touched": {}}), {}
    for name, days in keep.items():
        first = day_of(until - days * DAY)
        if name in lake.tables and name not in lake.own:
            continue
        if name in pages:
            count = _remove_pages(pages[name], first)
        else:
            column = _BEGINS.get(name) or lake.schema(name).partition_by[0]
            count = lake.remove_before(name, column, first, note=note)
        removed[f"{name}_expired"] = count
    return removed


def _require_kept(
    keep: Mapping[str, int], late_days: int, stream: StreamSchema, longest: int
) -> None:
    """Refuse what would have landing judge on events that it does not see any longer.

    A landing judges others again that brought lines of its ids, as a whole: their lines and
    unusable files must all be there, and no event that they bring may have gone already.
    """
    # A line may be late, and land in a file that is late; its id may stand in another landing,
    # which brought events that were late there.
    reach = late_days * DAY + 2 * stream.late + stream.early + longest
    least = reach // DAY + 2
    for name, after, more in (
        ("events", None, least), ("raw_events", "events", 2), ("quarantine", "raw_events", 0)
    ):  # fmt: skip
        wanted = more + (keep.get(after, 36_500) if after else 0)
        if name in keep and keep[name] < wanted:
            raise ParameterError(
                f"{name} is to be kept for {keep[name]} days; runs need {least} days of events, "
                "raw lines two days longer, and quarantine as long as these",
                hint="raise keep_days of the schema or ELSINORE_KEEP_DAYS, or lower time.late",
            )


def _remove_pages(folder: Path, first: date) -> int:
    """What is named by days that all lie before one."""
    old = [
        path
        for path in folder.glob("*")
        if (days := _DAY.findall(path.name)) and max(days) < str(first)
    ]
    for path in old:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return len(old)
