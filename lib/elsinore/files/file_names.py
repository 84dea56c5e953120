"""Find files that may be copies of each other, or later than their order suggests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path, PurePath
from typing import BinaryIO

from elsinore.catalog.source_rule import PACKED, SUFFIXES
from elsinore.errors import ParameterError
from elsinore.files.read_lines import DEFAULT_LIMITS, open_unpacked

#: Why the file that won may be the earlier one.
BY_ENDING = "which sorts after it only by the end of its name"
MODIFIED_EARLIER = "which was modified earlier"

#: Modification times that differ by less are taken as equal: a second, in nanoseconds.
_CLOSE = 1_000_000_000
_BLOCK = 1 << 20


def _one_of(endings: Iterable[str]) -> str:
    return "|".join(ending.removeprefix(".") for ending in endings)


#: The extensions of a raw file, as a regular expression without a backslash, which SQL dialects
#: read differently.
EXTENSIONS = f"[.]({_one_of(SUFFIXES)})([.]({_one_of(PACKED)}))?$"


def unpacked_name(name: str) -> str:
    """Return a file's name without the endings of compressed files.

    >>> unpacked_name("day/Clicks.csv.gz"), unpacked_name("a.zst.jsonl")
    ('day/Clicks.csv', 'a.zst.jsonl')
    """
    end = next((end for end in PACKED if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)]


def packed_twins(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of paths that differ only by how their files are compressed.

    >>> list(packed_twins(["a.jsonl.gz", "b.jsonl", "a.jsonl", "c/b.jsonl.gz"]))
    [('a.jsonl', 'a.jsonl.gz')]
    """
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        alike[unpacked_name(name)].append(name)
    for found in alike.values():
        yield from combinations(found, 2)


def require_no_copies(files: Sequence[Path]) -> None:
    """Refuse a file and its compressed copy: the events would count twice.

    Raises:
        ParameterError: a file has the same content as another one of the same name that is
            compressed in another way.
        DataError: such a file cannot be read, or is damaged.
    """
    by_name: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for file in files:
        name = unpacked_name(file.name)
        by_name[name][file.name.removeprefix(name).lower()].append(file)
    for packings in by_name.values():
        for some, others in combinations(packings.values(), 2):
            few = len(some) == len(others) == 1  # a backup may be in another directory
            for one in some:
                for other in others:
                    if (few or one.parent == other.parent) and _hold_the_same(one, other):
                        raise ParameterError(
                            f"{other} has the same content as {one}: its events would count twice",
                            hint=f"remove one of them, or read only {one}",
                            file=str(other),
                        )


def _hold_the_same(one: Path, other: Path) -> bool:
    """Return whether two files have the same content, once unpacked."""
    if not (one.is_file() and other.is_file()):
        return False
    with open_unpacked(one, DEFAULT_LIMITS) as left, open_unpacked(other, DEFAULT_LIMITS) as right:
        while (block := _read(left)) == _read(right):
            if not block:
                return True
    return False


def _read(stream: BinaryIO) -> bytes:
    """Return the next bytes; a stream that unpacks may return fewer than requested."""
    parts, size = list[bytes](), 0
    while size < _BLOCK and (part := stream.read(_BLOCK - size)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def order_of_name(path: str) -> tuple[str, str]:
    """Return the place of a file among the files of its hour, the last of which wins.

    Extensions count only if the names are equal without them.

    >>> order_of_name("T20-late.jsonl.gz") > order_of_name("T20.jsonl.gz")
    True
    """
    return re.sub(EXTENSIONS, "", path), path


def sorts_by_ending(earlier: str, later: str) -> bool:
    """Return whether a path sorts before another only because of signs that end names.

    Such a name looks like the later one: people order names without their extensions, but `-`
    sorts before `.` and `/`.

    >>> sorts_by_ending("T20-late.jsonl.gz", "T20.jsonl.gz"), sorts_by_ending("T20.csv", "T21.csv")
    (True, False)
    """
    return earlier < later and _stem(earlier) >= _stem(later)


def _stem(path: str) -> tuple[str, ...]:
    """Return the parts of a path without the extension of its file."""
    name = unpacked_name(path)
    end = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
    return PurePath(name[: len(name) - len(end)]).parts


def order_doubt(loser: str, winner: str, loser_modified: int, winner_modified: int) -> str:
    """Return why a file that lost may have the corrections; empty if it does not.

    Modification times are nanoseconds since 1970, 0 if unknown. If files were copied together, the
    times are close to each other, in any order.
    """
    if sorts_by_ending(loser, winner):
        return BY_ENDING
    is_later = winner_modified and loser_modified > winner_modified + _CLOSE
    return MODIFIED_EARLIER if is_later else ""


def lost_records(number: int, loser: str, winner: str, why: str) -> str:
    """Return a sentence about superseded records that may be corrections themselves."""
    name = PurePath(loser).name
    records = "record" if number == 1 else "records"
    return (
        f"{number:,} superseded {records} of {loser} lost to {winner}, {why}; "
        f"the last file by name wins: rename {name} if it has the corrections"
    )
