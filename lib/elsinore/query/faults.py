"""Faults of a workload as its author reads them: hints for misspelt words, in order of the text."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from elsinore.errors import Diagnostic

_SHOWN = 10


def closest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The name that a misspelt one was meant to be, or None; `alike` (0 to 1) is how like it.

    >>> closest("Departur", ["Arrival", "Departure"])
    'Departure'
    """
    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lower), n=1, cutoff=alike)
    return lower[close[0]] if close else None


def suggest(word: str, known: Iterable[str]) -> str | None:
    """A hint for a misspelt name, or None.

    >>> suggest("PATERN", ["PATTERN", "WHERE"])
    'did you mean PATTERN?'
    """
    name = closest(word, known)
    return f"did you mean {name}?" if name is not None else None


def listed(names: Iterable[str]) -> str:
    """Words as people list them.

    >>> listed(["WHERE", "WITHIN", "';'"])
    "WHERE, WITHIN or ';'"
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def some_of(names: Iterable[str]) -> str:
    """The first names of what may be many, for one line.

    >>> some_of(f"d{n}" for n in range(100))
    'd0, d1, d2, d3, d4, d5, d6, d7, d8, d9, ...'
    """
    shown = list(islice(names, _SHOWN + 1))
    return ", ".join(shown if len(shown) <= _SHOWN else [*shown[:_SHOWN], "..."])


def in_text_order(faults: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Faults of one text by line and column, each once."""

    def place(fault: Diagnostic) -> tuple[int, int]:
        at = fault.location
        return (at.line or 0, at.column or 0) if at is not None else (0, 0)

    return sorted(dict.fromkeys(faults), key=place)
