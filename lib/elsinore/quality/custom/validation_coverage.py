"""Something of the results was really compared with the reference."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectResultsToBeValidated(FrameExpectation):
    """At least one aggregate was checked; otherwise the results count as not validated."""

    sentence: ClassVar[str] = "At least one aggregate was compared with the reference."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Count rows by status, and the reasons of the skipped ones."""
        checked = int((frame["status"] == "checked").sum())
        skipped = frame[frame["status"] == "skipped"]
        reasons = "; ".join(
            f"{reason} ({count})"
            for reason, count in skipped["reason"].value_counts(dropna=False).head(3).items()
        )
        text = f"{checked} checked, {len(skipped)} skipped" + (f": {reasons}" if reasons else "")
        if checked:
            return Finding(True, text, (), 0, len(frame))
        return Finding(False, f"not validated: {text}", (), len(frame), len(frame))
