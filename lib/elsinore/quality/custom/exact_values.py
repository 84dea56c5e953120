"""The double beside an exact integer is that integer's double."""

from __future__ import annotations

import math
from typing import ClassVar

import pandas as pd

from elsinore.quality.custom.frame_expectation import Finding, FrameExpectation

#: No integer of more digits has a double (the largest is about 1.8e308).
_DIGITS_OF_LARGEST_DOUBLE = 309
#: A last place of difference is rounding, not a fault.
_ROUNDING = 2.0**-52


class ExpectValuesToBeTheNearestOfExact(FrameExpectation):
    """`value` is the double nearest to `exact`; past the largest double it is NULL or infinite."""

    sentence: ClassVar[str] = "The double beside each exact integer is that integer's double."

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare in Python integers, since a batch of doubles cannot hold the exact side."""
        rows = frame[frame["exact"].notna()]
        texts = [
            f"{query} {aggregate}: value {value} beside exact {exact}"
            for query, aggregate, value, exact in zip(
                rows["query"], rows["aggregate"], rows["value"], rows["exact"], strict=True
            )
            if not _agree(value, exact)
        ]
        return Finding.of_rows(texts, len(rows), noun="exact integers")


def _agree(value: object, exact: str) -> bool:
    present = float(str(value)) if not pd.isna(value) else math.inf
    if len(exact.lstrip("-")) > _DIGITS_OF_LARGEST_DOUBLE:
        return math.isinf(present)
    try:
        nearest = float(int(exact))
    except OverflowError:
        return math.isinf(present)
    except ValueError:  # no integer at all
        return False
    return math.isclose(present, nearest, rel_tol=_ROUNDING, abs_tol=0.0)
