"""Reports, Data Docs and logs that show a key."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from elsinore.maintain.key import Key
from elsinore.places import whole_file
from elsinore.settings import Settings

#: An alert: its DAG has a stream's name before its own, except for the first stream.
_ALERT = re.compile(rb'"dag": "(?:(\w+)\.)?')


class Page(NamedTuple):
    """A file that shows the key, and what to remove: itself, a directory; None: its lines."""

    path: Path
    whole: Path | None


def find_pages(settings: Settings, key: Key) -> Iterator[Page]:
    """Yield the pages and logs of a stream that show a key.

    A report is removed, Data Docs are removed with all of their run, logs lose their lines.
    """
    for own in settings.with_results():
        for folder in (own.reports, own.quality):
            for path in sorted(folder.rglob("*")):
                if path.is_file() and key.is_shown(path.read_bytes()):
                    run = own.quality / path.relative_to(folder).parts[0]
                    yield Page(path, path if folder == own.reports else run)
    unfinished = settings.local.glob(".*.part")  # alerts that a killed process left
    for path in (*sorted((settings.local / "logs").rglob("*")), settings.alerts, *unfinished):
        lines = path.read_bytes().splitlines() if path.is_file() else ()
        if any(_shows(line, key, settings.stream) for line in lines):
            yield Page(path, None)


def drop_pages(settings: Settings, key: Key, pages: Iterable[Page]) -> None:
    """Remove pages, and lines of logs, that show a key."""
    for path, whole in pages:
        if whole is None:
            lines = path.read_bytes().splitlines(keepends=True)
            with whole_file(path) as out:
                out.writelines(line for line in lines if not _shows(line, key, settings.stream))
        elif whole == path:
            path.unlink()
        else:
            shutil.rmtree(whole, ignore_errors=True)


def _shows(line: bytes, key: Key, stream: str) -> bool:
    """Return whether a line of a log shows the key, and is not an alert of another stream."""
    alert = _ALERT.search(line)
    return key.is_shown(line) and (alert is None or (alert[1] or b"").decode() == stream)
