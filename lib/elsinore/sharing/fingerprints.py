"""Fingerprints: sha256 over one canonical JSON spelling of a value."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from elsinore.query.bound import Workload


def canonical_json(value: Any) -> str:
    """The one JSON spelling of a value: keys sorted, no spaces, shortest decimal of each double.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has no word for.

    >>> canonical_json({"b": [1.50, None], "a": "x"})
    '{"a":"x","b":[1.5,null]}'
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def fingerprint(value: Any) -> str:
    """sha256 of the canonical JSON of a value, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def workload_fingerprint(workload: Workload) -> str:
    """The fingerprint of a workload: of its queries, in whatever order they were written.

    Each query's own fingerprint covers its name, its canonical text and the parts of the schema
    that it uses, so that any of these changes it (a plan for another workload is stale).
    """
    return fingerprint(sorted(query.fingerprint for query in workload.queries))
