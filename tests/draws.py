"""How many cases tests have: some by default, more of the same with `ELSINORE_LONG=1`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

#: Whether these are the tests of `make test-long`.
LONG = bool(os.environ.get("ELSINORE_LONG"))


def draws(some: int, more: int) -> int:
    """The number of cases in `make test`, or in `make test-long`."""
    return more if LONG else some


def first(values: Iterable[Any], number: int) -> list[Any]:
    """Return the values of a parameter, of which those after the first ones are `long` cases."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.long)
        if at >= number
        else value
        for at, value in enumerate(values)
    ]
