"""What a refusal costs: the process's own time, and the memory that Python handed out meanwhile."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

from elsinore.errors import ElsinoreError

MOST_SECONDS = 1.0
MOST_BYTES = 100_000_000

Error = TypeVar("Error", bound=ElsinoreError)
Found = TypeVar("Found")


def refused_cheaply(kind: type[Error], act: Callable[[], Any]) -> Error:
    """The one error of `kind` that `act` ends with, on one line, within a second and 100 MB.

    `act` runs twice, since to trace memory takes time itself.
    """
    caught, seconds = on_a_stack_of_its_own(lambda: _timed(kind, act))
    tracemalloc.start()
    try:
        on_a_stack_of_its_own(lambda: _timed(kind, act))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = str(caught)
    assert len(text) < 1_000
    assert text.isprintable()
    assert seconds < MOST_SECONDS, text
    assert most < MOST_BYTES, text
    return caught


def on_a_stack_of_its_own(act: Callable[[], Found]) -> Found:
    """What is nested goes as deep as in a command, however deep pytest's own calls are."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(act).result()


def _timed(kind: type[Error], act: Callable[[], Any]) -> tuple[Error, float]:
    gc.freeze()  # what other tests left is none of its cost
    try:
        start = time.thread_time()
        with pytest.raises(kind) as caught:
            act()
        return caught.value, time.thread_time() - start
    finally:
        gc.unfreeze()
