"""Doubles that must be finite where they are present."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation


class ExpectColumnValuesToBeFinite(FrameExpectation):
    """No value of a double column is NaN or infinite; NULL is allowed.

    NaN can be told from NULL only in a masked column (pandas `Float64`), as `read_run_tables`
    makes them; in a plain float column NaN counts as NULL.
    """

    column: str

    success_keys: ClassVar[tuple[str, ...]] = ("column",)
    sentence: ClassVar[str] = "Every value that is present is a finite number."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Look at each value that is not NULL."""
        present = frame[self.column][~frame[self.column].isna()]
        values = present.to_numpy(dtype="float64")
        texts = (f"{self.column} is {value}" for value in values[~np.isfinite(values)])
        return Finding.of_rows(texts, len(frame), noun="rows")
