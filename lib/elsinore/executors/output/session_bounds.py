"""Replace the numbers of sessions in partial rows by their bounds, which other tables share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.sessions import sessions_of
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.timeline import Interval
from elsinore.windows import Session


def bounded(
    parts: Iterable[PartialRows], columns: EventColumns, owned: Interval | None
) -> Iterator[PartialRows]:
    """Yield partial rows with the bounds of sessions in place of their numbers.

    Args:
        parts: partial rows of any queries, as executors return them.
        columns: the events that the executors read.
        owned: keep only sessions that end in this interval (`Window.ending_in`); None: all.
    """
    for part in parts:
        sessions = [query.window.session for query in part.queries]
        yield part if not any(sessions) else _bounded(part, columns, sessions, owned)


def _bounded(
    part: PartialRows,
    columns: EventColumns,
    sessions: Sequence[Session | None],
    owned: Interval | None,
) -> PartialRows:
    starts, ends, kept = (
        part.window.copy(),
        np.zeros_like(part.window),
        np.ones(len(part), np.bool_),
    )
    for number, session in enumerate(sessions):
        if session is None:
            continue
        rows, found = np.flatnonzero(part.query == number), sessions_of(columns, session)
        numbers = part.window[rows]
        starts[rows], ends[rows] = found.starts[numbers], found.ends[numbers]
        if owned is not None:
            kept[rows] = (owned.start < ends[rows]) & (ends[rows] <= owned.end)
    made = replace(part, window=starts, ends=ends)
    return made if kept.all() else made.take(np.flatnonzero(kept))
