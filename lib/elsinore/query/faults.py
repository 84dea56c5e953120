"""Faults of a workload in the order of its text, each beside the line that it is in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from elsinore.errors import Diagnostic


def in_text_order(faults: Iterable[Diagnostic], text: str = "") -> list[Diagnostic]:
    """Faults of one text by line and column, each once, with its line where the text is given."""
    lines = text.split("\n")

    def place(fault: Diagnostic) -> tuple[int, int]:
        at = fault.location
        return (at.line or 0, at.column or 0) if at is not None else (0, 0)

    found = sorted(dict.fromkeys(faults), key=place)
    return [replace(f, source=lines[place(f)[0] - 1]) if text and place(f)[0] else f for f in found]
