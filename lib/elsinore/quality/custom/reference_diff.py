"""What is to be published equals what the two-step reference finds (spec section 5)."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation, shorten

#: Of long integers that differ, this many digits of each are shown.
_DIGITS = 60


class ExpectPublishedToEqualReference(FrameExpectation):
    """No checked row is a mismatch; each mismatch is named by query, group, window, both values.

    Equality was decided where the rows were compared, integers exactly; this judges the column
    `mismatch` alone. A checked row of which it is not known whether it differs counts as one.
    """

    sentence: ClassVar[str] = "Every checked aggregate equals the two-step reference."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Name the mismatches."""
        checked = frame["status"] == "checked"
        mismatch = frame["mismatch"].astype("boolean")
        # A mismatch is one whatever the row's status claims.
        wrong = frame[mismatch.fillna(False) | (checked & mismatch.isna())]
        texts = (_describe(row) for row in wrong.to_dict("records"))
        return Finding.of_rows(texts, int(checked.sum()), noun="aggregates")


def _describe(row: dict[str, Any]) -> str:
    window = f"[{row['window_start']}, {row['window_end']})"
    ours = _value(row["published_exact"], row["published_value"])
    theirs = _value(row["reference_exact"], row["reference_value"])
    return shorten(
        f"query {row['query']}, group {row['group_key']}, window {window}, {row['aggregate']}: "
        f"published {ours}, reference {theirs}"
    )


def _value(exact: Any, value: Any) -> str:
    if isinstance(exact, str):
        if len(exact) <= _DIGITS:
            return exact
        return f"{exact[: _DIGITS // 2]}...{exact[-_DIGITS // 2 :]} ({len(exact)} digits)"
    return "nothing" if pd.isna(value) else repr(float(value))
