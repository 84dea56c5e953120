"""Names what results say, so that what is published is known to be what was validated."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

#: The digest of an hour without results.
EMPTY = sha256(b"").hexdigest()


def hour_digests(results: DataFrame) -> dict[str, str]:
    """By hour, sha256 of the rows of a table of results, in whatever order they come.

    Hours without results are left out; theirs is `EMPTY`.
    """
    row = F.sha2(F.to_json(F.struct(*sorted(results.columns))), 256)
    hours = (
        results.groupBy("owned_hour")
        .agg(F.sha2(F.concat_ws("", F.array_sort(F.collect_list(row))), 256).alias("digest"))
        .collect()
    )
    return {hour["owned_hour"]: hour["digest"] for hour in hours}


def combine(hours: Mapping[str, str]) -> str:
    """One digest of the results of several hours."""
    lines = sorted(f"{hour} {digest}\n" for hour, digest in hours.items())
    return sha256("".join(lines).encode()).hexdigest()


def digest(results: DataFrame) -> str:
    """sha256 of the rows of a table of results, in whatever order they come."""
    return combine(hour_digests(results))
