"""Open and create files in directories that other users can write to.

A producer of raw files can put a link, a pipe or a hard link wherever it can write, and can swap
a name between two system calls. So a path is walked from a trusted directory, one open directory
after the other, without following links. A file is checked by its descriptor, and that descriptor
is read. New files have random names.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import ELOOP, ENOTDIR
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from elsinore.errors import DataError, SetupError
from elsinore.wording import command

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
#: A directory on the way, which this user can perhaps enter but not list.
_WAY = os.O_PATH | os.O_DIRECTORY
#: A pipe without a writer is opened at once, so that it can be refused.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
#: Mode bits that data files may keep.
NO_PROGRAM = 0o666
_PART = re.compile(r"\.[0-9a-f]{32}\.part")
#: Levels of directories that are searched for unfinished files.
_LEVELS = 100
#: Maximum number of links that a path follows, as in the kernel.
_MOST_LINKS = 40


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the whole path into errors of the system, not a name in an open directory."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def open_directory(path: Path, below: Path | None = None, *, make: bool = False) -> Iterator[int]:
    """Open a directory, following no link below a trusted one.

    Args:
        path: the directory.
        below: the trusted directory that contains it. Links on the way to this one are followed.
            None: `path` itself is trusted.
        make: create missing directories: `below` and its parents only for this user.

    Yields:
        The descriptor.

    Raises:
        DataError: a link would be followed, or `path` is not below `below`.
        OSError: a directory is missing or cannot be opened.
    """
    trusted = path if below is None else below
    parts = path.relative_to(trusted).parts if path.is_relative_to(trusted) else ("..",)
    if ".." in parts:
        raise DataError(f"{_shown(path)} is not below {trusted}", hint="use a path without ..")
    if make:
        trusted.mkdir(parents=True, exist_ok=True) if below is None else _make_private(trusted)
    with ExitStack() as opened:
        descriptor = os.open(trusted, _WAY if parts else _DIRECTORY)
        opened.callback(os.close, descriptor)
        for at, part in enumerate(parts, 1):
            if make:
                with naming(path), suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            flags = _WAY if at < len(parts) else _DIRECTORY
            descriptor = _open(part, flags, descriptor, path)
            opened.callback(os.close, descriptor)
        yield descriptor


def open_file(path: Path, below: Path) -> BinaryIO:
    """Open a regular file for reading, following no link below a trusted directory.

    Raises:
        DataError: the path is or contains a link, it is not a regular file, or another user may
            have linked it into its directory.
        OSError: it is missing or cannot be opened.
    """
    with open_directory(path.parent, below) as directory:
        descriptor = _open(path.name, _FILE, directory, path)
        try:
            _require_plain(path, os.fstat(descriptor), os.fstat(directory))
        except DataError:
            os.close(descriptor)
            raise
    return os.fdopen(descriptor, "rb")


def new_file(directory: int, mode: int = 0o666) -> tuple[str, BinaryIO]:
    """Create a file under a random name in an open directory; return the name and the file."""
    name = f".{uuid4().hex}.part"
    return name, os.fdopen(os.open(name, _NEW | os.O_NOFOLLOW, mode, dir_fd=directory), "wb")


def remove_unfinished(directory: Path) -> None:
    """Remove unfinished files of `new_file` in a directory and its subdirectories."""
    with open_directory(directory) as opened:
        _remove_parts(opened, _LEVELS)


def _remove_parts(directory: int, levels: int) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                    below = os.open(entry.name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                    try:
                        if levels:
                            _remove_parts(below, levels - 1)
                    finally:
                        os.close(below)
            elif _PART.fullmatch(entry.name):
                with suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=directory)


def remove_tree(path: Path, below: Path) -> None:
    """Remove a directory with all that it contains, unless it or its parent is a link.

    A tree that is nested too deep for Python is not removed: Elsinore made no such tree.
    """
    with (
        suppress(DataError, FileNotFoundError, RecursionError),
        open_directory(path.parent, below) as parent,
    ):
        shutil.rmtree(path.name, ignore_errors=True, dir_fd=parent)


def require_own(directory: Path) -> None:
    """Refuse a directory that other users control: files in it have predictable names.

    The group may write to it: volumes of Kubernetes belong to root and to a group.

    Raises:
        SetupError: another user owns it, or every user can write to it.
    """
    status = directory.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise SetupError(
            f"{directory} belongs to user {status.st_uid}, not to user {os.geteuid()}",
            hint="run as its owner, or use another directory: "
            + command("export", f"ELSINORE_HOME={Path.home()}/elsinore"),
        )
    if status.st_mode & stat.S_IWOTH:
        hint = command("chmod", "o-w", directory)
        raise SetupError(f"every user can write to {directory}", hint=hint)


def private_directory(path: Path) -> Path:
    """Create a directory that only its owner can enter, or check an existing one; return it.

    Missing directories above it are private, too.

    Raises:
        SetupError: another user controls it.
    """
    _make_private(path)
    require_own(path)
    return path


def _make_private(path: Path) -> None:
    for missing in reversed([each for each in (path, *path.parents) if not each.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(exist_ok=True)  # fails if it is a file


def resolve_own_links(path: Path) -> Path:
    """Return a path without links; refuse links of other users in directories that they write to.

    Programs that open a path get this check from the kernel (`fs.protected_symlinks`), but not
    programs that resolve links themselves, in order to replace the file at their end. Use only the
    returned path: another user can put a link at the given path after the check.

    Raises:
        DataError: the path follows such a link.
        OSError: a directory cannot be searched, or there are too many links.
    """
    at, rest, links = Path(path.anchor or Path.cwd()), [*reversed(path.parts)], 0
    while rest:
        part = rest.pop()
        if part in ("..", path.anchor):
            at = at.parent if part == ".." else at
            continue
        step = at / part
        try:
            status = step.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return step.joinpath(*reversed(rest))  # it follows no other link
        if not stat.S_ISLNK(status.st_mode):
            at = step
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(ELOOP, os.strerror(ELOOP), str(path))
        _require_own(step, status, at.stat(), "a symbolic link")
        target = Path(os.readlink(step))
        at = Path(target.anchor) if target.anchor else at
        rest += [part for part in reversed(target.parts) if part != target.anchor]
    return at


def open_special(path: Path) -> BinaryIO:
    """Open a pipe or a device for writing; create and truncate nothing, and follow no link.

    In a directory that other users can write to, they could replace it, or read from their pipe.

    Raises:
        DataError: it is a regular file, or may be the pipe of another user.
        OSError: it is a link or cannot be opened.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_NOFOLLOW)
    try:
        status, directory = os.fstat(descriptor), path.parent.stat()
        if stat.S_ISREG(status.st_mode):
            problem = f"{_shown(path)} was replaced by a file while it was opened"
            raise DataError(problem, hint="use a directory that other users cannot write to")
        _require_own(path, status, directory, "a pipe or device")
    except DataError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "wb")


def _require_own(path: Path, at: os.stat_result, directory: os.stat_result, what: str) -> None:
    is_shared = directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if is_shared and at.st_uid not in (os.geteuid(), directory.st_uid, 0):
        raise DataError(
            f"{_shown(path)} is {what} of user {at.st_uid}",
            hint="use a directory that other users cannot write to",
        )


def is_reachable(directory: Path) -> bool:
    """Return whether every user of the machine can list or enter an existing directory."""
    real = directory.resolve()
    ways = all(parent.stat().st_mode & stat.S_IXOTH for parent in real.parents)
    return ways and bool(real.stat().st_mode & (stat.S_IROTH | stat.S_IXOTH))


def _open(name: str, flags: int, directory: int, path: Path) -> int:
    try:
        with naming(path):
            return os.open(name, flags | os.O_NOFOLLOW, dir_fd=directory)
    except OSError as error:
        if error.errno == ELOOP or (error.errno == ENOTDIR and _is_link(name, directory)):
            is_last = name == path.name and flags == _FILE
            problem = "is a symbolic link" if is_last else f"is below {name!r}, a symbolic link"
            raise DataError(
                f"{_shown(path)} {problem}", hint="replace the link by a copy of the file"
            ) from error
        raise


def _shown(path: Path) -> str:
    """Return a path as text that can be stored: names may hold bytes that are not UTF-8."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _is_link(name: str, directory: int) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISLNK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    return True  # it was one, and has been removed


def _require_plain(path: Path, file: os.stat_result, directory: os.stat_result) -> None:
    if not stat.S_ISREG(file.st_mode):
        problem = f"cannot read {_shown(path)}: not a regular file"
        raise DataError(problem, hint="replace it by a regular file")
    if _may_be_linked_by_others(file, directory):
        raise DataError(
            f"{_shown(path)} is a hard link in a directory that other users write to",
            hint="replace the hard link by a copy of the file",
        )


def _may_be_linked_by_others(file: os.stat_result, directory: os.stat_result) -> bool:
    """Return whether a name may be a hard link that another user made.

    A system without `fs.protected_hardlinks` lets a producer link any file into its directory.
    """
    is_ours = directory.st_uid in (file.st_uid, os.geteuid(), 0)
    is_closed = not directory.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return file.st_nlink > 1 and not (is_ours and is_closed)
