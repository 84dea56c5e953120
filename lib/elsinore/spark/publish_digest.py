"""Names what staged results say, so that what is published is known to be what was validated."""

from __future__ import annotations

from hashlib import sha256

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

#: A result is the same whatever plan and version of the events it was computed from.
_ORIGIN = frozenset({"plan_fingerprint", "events_version"})


def digest(results: DataFrame) -> str:
    """sha256 of the rows of a table of results, in whatever order they come.

    Columns that say where a result comes from are left out.
    """
    columns = sorted(set(results.columns) - _ORIGIN)
    row = F.sha2(F.to_json(F.struct(*columns)), 256)
    hours = (
        results.groupBy("owned_hour")
        .agg(F.sha2(F.concat_ws("", F.array_sort(F.collect_list(row))), 256).alias("digest"))
        .collect()
    )
    lines = sorted(f"{hour['owned_hour']} {hour['digest']}\n" for hour in hours)
    return sha256("".join(lines).encode()).hexdigest()
