"""Sweeps the pieces of a stream side by side, each in the way that costs less."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from elsinore.engine.sweep.lowered import Lowered
from elsinore.engine.sweep.panes import can_use_panes, predict_panes, run_panes
from elsinore.engine.sweep.run import Swept, joined, run_sweep
from elsinore.kernels.sweep_program import Events, Stretch
from elsinore.windows import Window


def sweep_pieces(
    lowered: Lowered,
    events: Events,
    pieces: list[np.ndarray],
    window: Window,
    panes: bool | None,
) -> Iterator[Swept]:
    """Sweep pieces, each in a thread of its own."""

    def run(stretches: np.ndarray) -> Swept:
        if not _by_panes(lowered, events, stretches, window, panes):
            return run_sweep(lowered.tables, events, stretches, window)
        found = run_panes(lowered.panes, lowered.tables.program, events, stretches, window)
        # A product that may not fit 64 bits says little of the sum that it is part of.
        columns = *found.outgrown.T, found.outgrown[:, Stretch.NUMBER]  # the last window, too
        once_more = np.stack(columns, axis=1)
        again = run_sweep(lowered.tables, events, once_more, window)
        return Swept(joined([found.rows, again.rows]), again.outgrown)

    if len(pieces) == 1:
        yield run(pieces[0])
    elif pieces:
        with ThreadPoolExecutor(len(pieces)) as pool:
            yield from pool.map(run, pieces)


def _by_panes(
    lowered: Lowered,
    events: Events,
    stretches: np.ndarray,
    window: Window,
    panes: bool | None,
) -> bool:
    if window.slide >= window.within or not can_use_panes(lowered.members):
        return False
    if panes is not None:
        return panes
    costs = predict_panes(lowered.members, window, stretches, events.times)
    return costs.by_panes < costs.window_by_window
