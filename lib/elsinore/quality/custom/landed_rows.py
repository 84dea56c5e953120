"""Landed = accepted + duplicates + quarantined, for every landing (spec section 5)."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectLandedRowsToAddUp(FrameExpectation):
    """Every line of a landing was accepted, was a duplicate, or was quarantined.

    Where the batch says how many rows `events` and `quarantine` really hold of a landing (columns
    `event_rows` and `quarantine_rows`), these must be the accepted and quarantined ones.
    """

    sentence: ClassVar[str] = "lines = accepted + duplicates + quarantined for every landing"

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare whole numbers, row by row."""
        faults = (_faults(row) for row in frame.to_dict("records"))
        wrong = (", and ".join(found) for found in faults if found)
        return Finding.of_rows(wrong, len(frame), noun="landings")


def _faults(row: dict[str, object]) -> list[str]:
    """What does not add up in one landing, as texts."""
    names = ("lines", "accepted", "duplicates", "quarantined", "event_rows", "quarantine_rows")
    number = {name: int(str(row[name])) for name in names if name in row}
    landing = row["landing"]
    found = []
    parts = ("accepted", "duplicates", "quarantined")
    if number["lines"] != sum(number[name] for name in parts):
        spelled = " + ".join(f"{number[name]} {name}" for name in parts)
        found.append(f"landing {landing}: {number['lines']} lines are not {spelled}")
    for stated, table, held in (
        ("accepted", "events", "event_rows"),
        ("quarantined", "quarantine", "quarantine_rows"),
    ):
        if number.get(held, number[stated]) != number[stated]:
            found.append(
                f"landing {landing}: {number[stated]} {stated}, but {table} holds {number[held]}"
            )
    return found
