"""Whether hours that may be published already are replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elsinore.errors import ParameterError


def is_worth_replaying(found: Mapping[str, Any], *, force: bool) -> bool:
    """Decides on a replay from what the lake holds of its hours.

    Args:
        found: figures of the job `check_published`: `hours`, `published_hours` (of this workload),
            and `other_queries`, the names of queries that these hours have results of and that the
            workload does not have as they are.
        force: replay in any case.

    Raises:
        ParameterError: results of other queries would be replaced, and nobody asked for that.

    >>> is_worth_replaying({"hours": 2, "published_hours": 2, "other_queries": []}, force=False)
    False
    >>> is_worth_replaying({"hours": 2, "published_hours": 1, "other_queries": []}, force=False)
    True
    """
    if force:
        return True
    if others := found["other_queries"]:
        raise ParameterError(
            f"these hours hold results of other queries: {', '.join(others)}",
            hint="set force to replace them, or choose the workload that they are of",
        )
    return bool(found["published_hours"] < found["hours"])
