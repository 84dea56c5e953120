"""How much of a run's results was checked, and what a check of so many can find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

import pandas as pd


@dataclass(frozen=True, slots=True)
class QueryCoverage:
    """One query's checks against the reference.

    Attributes:
        query: its name.
        results: staged results, one for each group and window.
        checked: those of them that the reference has answered too.
        counted: those of the checked whose trends were counted, being too many to build.
        skipped: those that were drawn and could not be answered.
        finds_one: chance that a single wrong result, wherever it is, is among the checked.
        finds_percent: the same where one result in a hundred is wrong.
    """

    query: str
    results: int
    checked: int
    counted: int
    skipped: int
    finds_one: float
    finds_percent: float


_PLACE = ["query", "group_key", "window_start"]

#: Columns of `validations` that coverage is told from.
COLUMNS = [*_PLACE, "status", "method", "published_exact", "published_value"]


def coverage(staged: Mapping[str, int], validations: pd.DataFrame) -> Iterator[QueryCoverage]:
    """The coverage of each query, by name.

    Args:
        staged: by query, how many results are staged.
        validations: `COLUMNS` of the checks.
    """
    there = validations["published_exact"].notna() | validations["published_value"].notna()
    drawn = validations[there].drop_duplicates([*_PLACE, "status", "method"])
    for name in sorted({*staged, *drawn["query"]}):
        of_query = drawn[drawn["query"] == name]
        number = staged.get(name, 0)
        checked = int((of_query["status"] == "checked").sum())
        yield QueryCoverage(
            query=name,
            results=number,
            checked=checked,
            counted=int((of_query["method"] == "counted").sum()),
            skipped=int((of_query["status"] == "skipped").sum()),
            finds_one=power(number, checked, 1),
            finds_percent=power(number, checked, ceil(number / 100)),
        )


def power(results: int, checked: int, wrong: int) -> float:
    """The chance that a random sample of `checked` among `results` holds one of `wrong` ones.

    Hypergeometric: one less the chance that all wrong results are among those left out.

    >>> power(100, 25, 1), power(10, 5, 2), power(10, 10, 1), power(0, 0, 0)
    (0.25, 0.7777777777777778, 1.0, 0.0)
    """
    missed = 1.0
    for drawn in range(min(wrong, results)):
        missed *= max(results - checked - drawn, 0) / (results - drawn)
    return 1.0 - missed
