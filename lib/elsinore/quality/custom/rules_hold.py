"""No row of a large table breaks a rule, by counts that were made where its rows were read."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectRuleToHold(FrameExpectation):
    """The batch is one of `elsinore.quality.rule_counts`; no row breaks the rule of this name."""

    rule: str

    success_keys: ClassVar[tuple[str, ...]] = ("rule",)
    sentence: ClassVar[str] = "No row breaks the rule."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Look the counts up; a rule that nobody counted is an error."""
        (found,) = frame[frame["rule"] == self.rule].itertuples()
        observed = f"{found.rows} rows checked"
        if found.broken:
            observed = f"{found.broken} of {found.rows} rows: {found.examples}"
        examples = (found.examples,) if found.broken else ()
        return Finding(not found.broken, observed, examples, int(found.broken), int(found.rows))
