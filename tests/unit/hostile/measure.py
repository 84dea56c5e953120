"""What a refusal costs: the process's own time, and the memory that Python handed out meanwhile."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from elsinore.errors import ElsinoreError

MOST_SECONDS = 1.0
MOST_BYTES = 100_000_000

Error = TypeVar("Error", bound=ElsinoreError)


def refused_cheaply(kind: type[Error], act: Callable[[], Any]) -> Error:
    """The one error of `kind` that `act` ends with, on one line, within a second and 100 MB.

    `act` runs twice, since to trace memory takes time itself.
    """
    start = time.process_time()
    with pytest.raises(kind) as caught:
        act()
    seconds = time.process_time() - start
    tracemalloc.start()
    try:
        with pytest.raises(kind):
            act()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = str(caught.value)
    assert len(text) < 1_000
    assert text.isprintable()
    assert seconds < MOST_SECONDS, text
    assert most < MOST_BYTES, text
    return caught.value
