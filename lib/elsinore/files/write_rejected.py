"""Rejected lines as JSON lines, for the file that `--quarantine` names."""

from __future__ import annotations

import json
from typing import TextIO

import pyarrow as pa


def write_rejected(rejected: pa.Table, out: TextIO) -> int:
    """Write one JSON object a line, with the columns of `REJECTED_SCHEMA`; returns their number.

    Output is plain ASCII: lines that were rejected may hold anything, and this cannot harm.
    """
    for batch in rejected.to_batches(max_chunksize=1_024):
        for row in batch.to_pylist():
            out.write(json.dumps(row) + "\n")
    return int(rejected.num_rows)
