"""An event lies in the partition of its own day."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectEventsToLieInTheirDay(FrameExpectation):
    """`event_day` is the UTC day of `event_time`: a reader of a day misses no event of it."""

    sentence: ClassVar[str] = "Every event lies in the partition of its own UTC day."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare days; a NULL on either side is wrong."""
        time_day = pd.to_datetime(frame["event_time"], utc=True).dt.strftime("%Y-%m-%d")
        stated = pd.to_datetime(frame["event_day"], utc=True).dt.strftime("%Y-%m-%d")
        wrong = frame[(time_day != stated) | time_day.isna()]
        texts = (
            f"event {row.event_id} of {row.event_time} lies in {row.event_day}"
            for row in wrong.itertuples()
        )
        return Finding.of_rows(texts, len(frame), noun="events")
