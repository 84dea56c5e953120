"""How many random cases tests draw: some by default, more of the same with `ELSINORE_LONG=1`."""

from __future__ import annotations

import os

_LONG = bool(os.environ.get("ELSINORE_LONG"))


def draws(some: int, more: int) -> int:
    """The number of cases in `make test`, or in `make test-long`."""
    return more if _LONG else some
