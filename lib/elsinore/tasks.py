"""Run a function for each of some numbers, in tasks or in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Calls a function with each number below a limit, in tasks, and returns its results, as JSON has
#: them.
InTasks = Callable[[int, Callable[[int], Any]], list[Any]]


def in_turn(number: int, do: Callable[[int], Any]) -> list[Any]:
    """Call a function with each number in this process, one after another."""
    return [do(each) for each in range(number)]
