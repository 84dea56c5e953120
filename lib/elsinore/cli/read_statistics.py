"""The statistics that a command is given: rates that a person states, or events to count."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.files.read_events import read_events
from elsinore.query.bound import Workload
from elsinore.sharing.observe import observe
from elsinore.sharing.statistics import Statistics, load_rates


def read_statistics(
    rates: Path | None, paths: Sequence[Path] | None, workload: Workload
) -> tuple[Statistics | None, EventTable | None]:
    """Statistics from a rates file or from the events in files, and these events.

    What cannot be read as an event does not count. Of a lake's table of events all are counted, and
    the last ones given.

    Raises:
        ParameterError: both are given, or a table beside files, or the rates file is not valid.
        DataError: the files hold no events, or cannot be read.
    """
    if rates is not None and paths:
        raise ParameterError("give either --rates FILE or --events FILE")
    if rates is not None:
        return load_rates(rates, workload.schema), None
    if not paths:
        return None, None
    if any((path / "_delta_log").is_dir() for path in paths):
        if len(paths) > 1:
            raise ParameterError("give one table of events, or files")
        from elsinore.lake.stored_events import StoredEvents

        stored = StoredEvents.of(paths[0], workload)
        return stored.statistics(), stored.last()[0]
    events, _ = read_events(list(paths), workload.schema, max_bad_share=1.0)
    return observe(workload, events), events
