"""What is written into the history of tables of results: where they come from."""

from __future__ import annotations

import json
from collections.abc import Collection

from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint


def origin(run: str, workload: Workload, plans: Collection[str]) -> str:
    """The run, the workload and the static plans behind a commit, as JSON for `userMetadata`."""
    return json.dumps(
        {"run": run, "workload": workload_fingerprint(workload), "plans": sorted(plans)}
    )
