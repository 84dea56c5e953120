"""Stored statistics and plans say what they said when they were written."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.errors import PlanError
from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics


class ExpectPlansToBeWhatWasWritten(FrameExpectation):
    """Each body reads back as statistics or as a plan, and its fingerprints are the row's."""

    sentence: ClassVar[str] = "Every stored body reads back and has the fingerprints of its row."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Read every body anew."""
        texts = (fault for row in frame.to_dict("records") if (fault := _fault(row)))
        return Finding.of_rows(texts, len(frame), noun="statistics and plans")


def _fault(row: dict[str, object]) -> str | None:
    """What is wrong with one row, or None."""
    name = f"{row['kind']} {str(row['fingerprint'])[:12]}"
    body = str(row["body"])
    try:
        if row["kind"] == "statistics":
            found = {"fingerprint": Statistics.from_json(body).fingerprint}
        else:
            plan = StaticPlan.from_json(body)
            found = {
                "fingerprint": plan.fingerprint,
                "workload_fingerprint": plan.workload_fingerprint,
                "statistics_fingerprint": plan.statistics_fingerprint,
            }
    except PlanError as error:
        return f"{name}: {error}"
    wrong = [column for column, value in found.items() if row[column] != value]
    return f"{name}: {', '.join(wrong)} differ from the body" if wrong else None
