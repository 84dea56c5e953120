"""Find the paths below a directory that match a pattern, without following links of producers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from elsinore.places import is_here

_WILDCARDS = frozenset("*?[")


class Match(NamedTuple):
    """A path that matches a pattern, or a link to a directory on the way to such paths."""

    path: Path
    is_way: bool = False  #: a link, at which the search ended


def matching_paths(base: Path, pattern: str) -> Iterator[Match]:
    """Yield the paths below a directory that match a pattern.

    A wildcard does not lead through a link: with 1,000 links to the directory that contains them,
    a producer would make a billion paths of three levels. Such links are yielded themselves.

    Args:
        base: A directory, on this machine or in an object store, which has no links.
        pattern: Names with `*`, `?` and sets of characters, separated by `/`.
    """
    if is_here(base):
        yield from _below(base, pattern.split("/"))
    else:
        yield from map(Match, base.glob(pattern))


def _below(at: Path, names: Sequence[str]) -> Iterator[Match]:
    name, rest = names[0], names[1:]
    if not _WILDCARDS.intersection(name):
        path = at / name
        if rest and _is_directory(path):
            yield from _below(path, rest)
        elif not rest and os.path.lexists(path):
            yield Match(path)
        return
    is_match = re.compile(translate(name)).match
    for entry in _entries(at):
        if not is_match(entry.name):
            continue
        path = at / entry.name
        if not rest:
            yield Match(path)
        elif entry.is_symlink():
            if _is_directory(path):
                yield Match(path, is_way=True)
        elif entry.is_dir():
            yield from _below(path, rest)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a directory; none if it cannot be read, or was removed meanwhile."""
    with (
        suppress(FileNotFoundError, NotADirectoryError, PermissionError),
        os.scandir(directory) as entries,
    ):
        return list(entries)
    return []


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except PermissionError:
        return False
