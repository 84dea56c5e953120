"""How much of a landing may be unreadable before people should look."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd
from great_expectations.compatibility import pydantic

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectQuarantinedShareToBeAtMost(FrameExpectation):
    """At most `share` (0 to 1) of the lines of each landing were quarantined."""

    share: float = pydantic.Field(ge=0, le=1)

    success_keys: ClassVar[tuple[str, ...]] = ("share",)
    sentence: ClassVar[str] = "Few lines of each landing are quarantined."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare each landing's share."""
        lines = frame["lines"].astype("int64")
        shares = frame["quarantined"].astype("int64") / lines.where(lines > 0, 1)
        wrong = [
            f"landing {landing}: {share:.1%} quarantined"
            for landing, share in zip(frame["landing"], shares, strict=True)
            if share > self.share
        ]
        return Finding.of_rows(wrong, len(frame), noun="landings")
