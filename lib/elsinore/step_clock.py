"""Start time of the current step: set when a process starts it, read when metrics are recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Metrics of a step: when it began and when it recorded its figures, seconds since the epoch.
BEGAN, ENDED = "began_at", "ended_at"

_began: ContextVar[float | None] = ContextVar("_began", default=None)


@contextmanager
def timed_step() -> Iterator[None]:
    """Record that a step begins; the block is the step."""
    token = _began.set(time.time())
    try:
        yield
    finally:
        _began.reset(token)


def step_times() -> dict[str, float]:
    """Return the begin and end of the current step, which ends now; empty if there is none."""
    began = _began.get()
    return {} if began is None else {BEGAN: began, ENDED: time.time()}
