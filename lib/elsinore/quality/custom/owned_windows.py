"""A run owns the windows that end in its interval (spec section 5)."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectWindowsToEndInTheirHour(FrameExpectation):
    """`owned_hour` is the hour of the window's last instant: one microsecond before its end."""

    sentence: ClassVar[str] = "Every row lies in the partition of the hour that its window ends in."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare hour labels; a NULL on either side is wrong."""
        last = pd.to_datetime(frame["window_end"], utc=True) - pd.Timedelta(microseconds=1)
        hour = last.dt.strftime("%Y-%m-%dT%H")
        wrong = frame[(hour != frame["owned_hour"]) | hour.isna()]
        texts = (
            f"{row.query} {row.group_key} to {row.window_end} lies in {row.owned_hour}"
            for row in wrong.itertuples()
        )
        return Finding.of_rows(texts, len(frame), noun="rows")
