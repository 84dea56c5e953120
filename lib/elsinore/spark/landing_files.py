"""The files of the landing zone, by the hour that they belong to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from elsinore.errors import DataError
from elsinore.files.rejection import printable
from elsinore.timeline import Interval, hour_label, hours_of

#: `events-<hour>`, whatever the producer adds to tell its files of one hour apart, and a suffix.
_NAME = re.compile(r"events-(\d{4}-\d{2}-\d{2}T\d{2})(?!\d).*\.jsonl(\.gz)?", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class LandingFile:
    """One raw file.

    Attributes:
        landing: label of its hour.
        name: its path below the landing zone, as it is stored.
        path: where to read it.
        size: bytes.
    """

    landing: str
    name: str
    path: str
    size: int


def landing_files(zone: Path, interval: Interval) -> tuple[LandingFile, ...]:
    """The files of the hours of an interval, `<zone>/YYYY/MM/DD/events-YYYY-MM-DDTHH*.jsonl[.gz]`.

    Other names, such as those of files still being written, are passed over.

    Raises:
        DataError: there is no landing zone, it cannot be read, or a link leads out of it.
    """
    if not zone.is_dir():
        raise DataError(f"there is no landing zone {zone}", hint="`elsinore generate` fills one")
    hours = {hour_label(hour) for hour in hours_of(interval)}
    found = []
    for day in sorted({hour[:10] for hour in hours}):
        folder = zone.joinpath(*day.split("-"))
        for path in folder.iterdir() if folder.is_dir() else ():
            match = _NAME.fullmatch(path.name)
            if match and match[1] in hours:
                found.append(_describe(zone, path, match[1]))
    return tuple(sorted(found))


def _describe(zone: Path, path: Path, landing: str) -> LandingFile:
    try:
        real = path.resolve(strict=True)
        size = real.stat().st_size
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if not real.is_relative_to(zone.resolve()):
        raise DataError(f"{path} leads out of the landing zone", hint="put the file itself there")
    name = printable(path.relative_to(zone).as_posix())
    return LandingFile(landing, name, str(path), size)
