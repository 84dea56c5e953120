"""Fingerprints: sha256 of the canonical JSON of a value."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from elsinore.query.bound import Workload


def canonical_json(value: Any) -> str:
    """Return the canonical JSON of a value: sorted keys, no spaces, shortest decimals of doubles.

    Raises:
        ValueError: the value contains NaN or an infinity, which JSON cannot represent.

    >>> canonical_json({"b": [1.50, None], "a": "x"})
    '{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def fingerprint(value: Any) -> str:
    """Return the sha256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def workload_fingerprint(workload: Workload) -> str:
    """Return the fingerprint of a workload; the order of its queries does not matter.

    It depends on the name and the canonical text of each query, and on the parts of the schema that
    the query uses. If any of these changes, a plan for the workload is stale. The steps of queries,
    which run instead of the queries, do not change it.
    """
    queries = [query for query in workload.queries if query.step_of is None]
    queries += [
        each.step_of[0] for each in workload.queries if each.step_of and each.step_of[1] == 1
    ]
    return fingerprint(sorted(query.fingerprint for query in queries))
