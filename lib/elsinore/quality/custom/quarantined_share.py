"""How much of a landing may be unreadable before people should look."""

from __future__ import annotations

import json
from typing import ClassVar

import pandas as pd
from great_expectations.compatibility import pydantic

from elsinore.files.rejection import bad_lines
from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectQuarantinedShareToBeAtMost(FrameExpectation):
    """At most `share` (0 to 1) of the lines of each landing were quarantined.

    Lines that a later one corrects, and empty files, are quarantined too, but they are not bad.
    """

    share: float = pydantic.Field(ge=0, le=1)

    success_keys: ClassVar[tuple[str, ...]] = ("share",)
    sentence: ClassVar[str] = "Few lines of each landing are quarantined."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare each landing's share."""
        lines = frame["lines"].astype("int64")
        bad = frame["reasons"].map(lambda text: bad_lines(json.loads(text)))
        shares = bad / lines.where(lines > 0, 1)
        wrong = [
            f"landing {landing}: {share:.1%} quarantined"
            for landing, share in zip(frame["landing"], shares, strict=True)
            if share > self.share
        ]
        return Finding.of_rows(wrong, len(frame), noun="landings")
