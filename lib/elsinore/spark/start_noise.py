"""Keeps what every JVM says at its start off standard error, and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (b"WARNING: Using incubator modules",)


@contextmanager
def without_start_noise() -> Iterator[None]:
    """Processes started inside write to standard error as ever, but for the lines known as noise.

    Their error stream goes through a pipe for as long as they live; lines are passed on as they
    come. The JVM has no switch for its warning about the modules that Spark asks it for.
    """
    kept = os.dup(2)
    reader, writer = os.pipe()
    threading.Thread(target=_pass_on, args=(reader, kept), daemon=True).start()
    os.dup2(writer, 2)
    os.close(writer)
    try:
        yield
    finally:
        os.dup2(kept, 2)


def _pass_on(reader: int, out: int) -> None:
    with os.fdopen(reader, "rb") as lines, os.fdopen(out, "wb", buffering=0) as stream:
        for line in lines:
            if not line.startswith(_NOISE):
                stream.write(line)
