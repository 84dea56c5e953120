"""Names of raw files in the landing zone, which `put`, the generator and the ingest have in common.

The files of an hour are `YYYY/MM/DD/events-YYYY-MM-DDTHH*.jsonl` or `.jsonl.gz`. A producer may add
anything after the hour to distinguish its files.
"""

from __future__ import annotations

import re
from pathlib import Path

from elsinore.timeline import hour_label

#: The gzip level of raw files, a compromise between speed and size.
COMPRESSION = 4

#: The sentence about raw files in messages.
RAW_NAMES = "raw files are YYYY/MM/DD/events-YYYY-MM-DDTHH*.jsonl or .jsonl.gz in the landing zone"

#: The name of a raw file; group 1 is the label of its hour.
RAW_NAME = re.compile(r"events-(\d{4}-\d{2}-\d{2}T\d{2})(?!\d).*\.jsonl(\.gz)?", re.DOTALL)

#: The path of a raw file below the landing zone.
RAW_PATH = re.compile(rf"\d{{4}}/\d{{2}}/\d{{2}}/{RAW_NAME.pattern}", re.DOTALL)

#: The beginning of the name of a raw file, also of one that is still being written. Finished files
#: in another compression format do not match.
RAW_BEGINNING = re.compile(
    rf"{RAW_NAME.pattern}(?!\.(?i:gz|bz2|xz|zip|zst|lz4|snappy|br)$)", re.DOTALL
)

#: Endings of files that are still being written.
UNFINISHED = (".part", ".tmp")


def hour_path(zone: Path, hour: int) -> Path:
    """Return the path of the raw file that Elsinore writes for an hour.

    Args:
        zone: the landing zone.
        hour: any timestamp of the hour, in microseconds.
    """
    label = hour_label(hour)
    return zone / label[:10].replace("-", "/") / f"events-{label}.jsonl.gz"
