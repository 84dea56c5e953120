"""Files and directories of this machine or of an object store (`s3://...`).

Paths of a store are `UPath`s, which have the methods of `Path`. Only this module handles that a
store has no links, appends or renames, and writes a file as a whole.
"""

from __future__ import annotations

import atexit
import copyreg
import gzip
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EISDIR, EXDEV
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast

from elsinore.errors import DataError, ParameterError, SetupError, without_secrets
from elsinore.safe_files import (
    NO_PROGRAM,
    naming,
    new_file,
    open_directory,
    open_file,
    private_directory,
    resolve_own_links,
)
from elsinore.wording import command

#: Object stores that are known, by how addresses begin.
STORES = ("abfs", "gs", "s3")

#: The beginning of an address; it needs only one slash, because `Path` removes the second one.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_SECOND = 1_000_000_000
#: Maximum number of bytes of an object that is copied to this machine.
MOST_COPIED = 4 << 30
_PIECE = 1 << 20


def scheme(text: object) -> str | None:
    """Return the scheme of an address; None for a path.

    >>> scheme("s3://bucket/lake"), scheme("/data/a:b/c")
    ('s3', None)
    """
    match = _ADDRESS.match(str(text))
    return match[1] if match else None


def require_here(text: object) -> None:
    """Refuse an address where a path is needed: a folder `s3:` would be looked for, or be made.

    Raises:
        ParameterError: it is an address.
    """
    if scheme(text):
        raise ParameterError(
            f"{without_secrets(str(text)[:200])} is an address, not a path on this machine",
            hint="copy it to this machine first; only ELSINORE_HOME can be an address",
        )


def place(text: object) -> Path:
    """Return the path of a file or directory, on this machine or in one of `STORES`."""
    store = scheme(text)
    return Path(str(text)) if store is None else cast(Path, _kind(store)(str(text)))


@cache
def _kind(store: str) -> Any:
    """Return the class of paths of a store; call it in every process that receives such a path."""
    from obstore.fsspec import register
    from upath import UPath

    register(store)
    # A thread of obstore acquires the GIL once more after its last result, and aborts the process
    # if the interpreter has ended: 4 of 97 runs of `forget` under load. So the exit is delayed.
    atexit.register(time.sleep, 0.1)
    kind: Any = type(UPath(f"{store}://x"))
    copyreg.pickle(kind, lambda path: (place, (str(path),)))
    return UPath


def is_here(path: Path) -> bool:
    """Return whether a path is of this machine's file system."""
    return isinstance(path, Path)


def state(path: Path) -> tuple[int, int]:
    """Return the size of a file in bytes and its modification time in nanoseconds since 1970.

    A store has whole seconds: the fraction is a hash of the content's tag.

    Raises:
        OSError: the file does not exist, or it cannot be asked for.
    """
    status: Any = path.stat()
    if is_here(path):
        return status.st_size, status.st_mtime_ns
    info = status.as_info()
    if info["type"] == "directory":
        raise IsADirectoryError(EISDIR, "an object below it makes it a directory", str(path))
    tag = sha256(str(info["e_tag"]).encode()).digest()
    return status.st_size, int(status.st_mtime) * _SECOND + int.from_bytes(tag[:8]) % _SECOND


def require_exclusive(folder: Path) -> None:
    """Reject a store in which two writers can both create the same new object.

    Raises:
        SetupError: it is such a store; Delta's commits could be lost there silently.
    """
    if is_here(folder):
        return
    from obstore import delete, put
    from obstore.exceptions import AlreadyExistsError
    from obstore.store import from_url

    store, name = from_url(str(folder)), f"probe-{os.urandom(8).hex()}"
    put(store, name, b"", mode="create")
    try:
        put(store, name, b"", mode="create")
    except AlreadyExistsError:
        return
    finally:
        delete(store, name)
    raise SetupError(
        f"the object store of {folder} overwrites existing objects",
        hint="use a store that supports If-None-Match, which commits need",
    )


def first_text(path: Path, text: str) -> str:
    """Create an object of a store with a text, unless it exists; return its text.

    If several processes call this at the same time, all return the text of one of them.
    """
    import obstore
    from obstore.exceptions import AlreadyExistsError

    store, key = _object(path)
    while True:
        with suppress(AlreadyExistsError):
            obstore.put(store, key, text.encode(), mode="create")
            return text
        with suppress(FileNotFoundError):  # removed meanwhile
            return bytes(obstore.get(store, key).bytes()).decode(errors="replace")


@contextmanager
def local_copy(path: Path, below: Path | None = None) -> Iterator[Path]:
    """Give a path on this machine for the content that a file has at one moment.

    Args:
        path: the file.
        below: a trusted directory that contains it. If the file is on this machine, no link below
            that directory is followed, and the yielded path opens exactly the checked file. None:
            the path is trusted, and is yielded itself.

    Raises:
        DataError: the file is gone, is a link, is not a regular file, or is an object of more than
            `MOST_COPIED` bytes.
    """
    with ExitStack() as stack:
        if is_here(path) and below is None:
            yield path
            return
        copy = Path(stack.enter_context(TemporaryDirectory()), path.name)
        if is_here(path) and below is not None:
            try:
                file = stack.enter_context(open_file(path, below))
            except OSError as error:
                shown = str(path).encode("utf-8", "backslashreplace").decode()
                problem = f"cannot read {shown}: {error.strerror}"
                raise DataError(problem, hint="make it a readable, regular file") from error
            copy.symlink_to(f"/proc/self/fd/{file.fileno()}")
        else:
            try:
                size = copy_object(path, copy, MOST_COPIED)
            except FileNotFoundError as error:
                problem = f"cannot read {path}: it was removed"
                raise DataError(problem, hint="restore the file, and run it again") from error
            if size > MOST_COPIED:
                problem = f"{path} has more than {MOST_COPIED:,} bytes"
                raise DataError(problem, hint="split it into smaller files, and remove it")
        yield copy


def copy_object(path: Path, target: Path, most: int) -> int:
    """Copy an object of a store to a new file of this machine, in pieces.

    All pieces come from one response, so an object that is replaced meanwhile is not mixed.

    Returns:
        The size of the object in bytes. If it is more than `most`, the copy is incomplete.

    Raises:
        FileNotFoundError: the object is missing.
    """
    import obstore

    response = obstore.get(*_object(path))
    size = int(response.meta["size"])
    if size > most:
        return size
    size = 0
    with target.open("xb") as out:
        for piece in response.stream(min_chunk_size=_PIECE):
            size += out.write(piece)
            if size > most:
                break
    return size


def object_names(directory: Path, most: int) -> set[str]:
    """Return the names of the files and directories in a directory of a store.

    Raises:
        DataError: there are more than `most` objects below the directory.
    """
    import obstore

    store, key = _object(directory)
    names, count = set[str](), 0
    for objects in obstore.list(store, f"{key}/"):
        names |= {at["path"].removeprefix(f"{key}/").partition("/")[0] for at in objects}
        count += len(objects)
        if count > most:
            problem = f"{directory} has more than {most:,} files"
            raise DataError(problem, hint="move some of them to another directory")
    return names


def _object(path: Path) -> tuple[Any, str]:
    """Return the store of a path and its key there."""
    from obstore.store import from_url

    bucket, _, key = str(cast(Any, path).path).partition("/")
    return from_url(f"{scheme(path)}://{bucket}"), key


def read_below(path: Path, below: Path, most: int) -> bytes:
    """Return the content of a file, of this machine or a store, below a trusted directory.

    Raises:
        DataError: the file is a link, is not a regular file, or has more than `most` bytes.
        OSError: it is missing or cannot be read.
    """
    with open_file(path, below) if is_here(path) else path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        hint = f"remove it: {command('rm', path)}"
        raise DataError(f"{path} has more than {most:,} bytes", hint=hint)
    return content


@contextmanager
def whole_file(
    path: Path, level: int | None = None, *, below: Path | None = None,
    like: os.stat_result | None = None,
) -> Iterator[BinaryIO]:  # fmt: skip
    """Write a file that appears under its name when it is complete, and replaces an existing one.

    Until then it has a random name in the same directory. If several processes write one file, the
    last one wins.

    Args:
        path: the file; missing directories are created.
        level: of gzip; None: not compressed.
        below: a trusted directory that contains the file; no link below it is followed. None:
            links are followed, except links of other users in directories that they write to.
        like: the file gets its times and, without set-id and execute bits, its mode.

    Raises:
        DataError: a directory on the way to the file is such a link.
    """
    with ExitStack() as stack:
        temporary = None if is_here(path) else stack.enter_context(TemporaryDirectory())
        parent = path.parent if temporary is None else Path(temporary)
        if temporary is None and below is None:
            # Between the check and the write, other users could put a link there again.
            parent, below = resolve_own_links(parent), Path("/")
        elif temporary is not None:
            below = None
        directory = stack.enter_context(open_directory(parent, below, make=True))
        # Until the file has the mode of `like`, which may be private, only its owner can read it.
        with naming(path):
            part, file = new_file(directory, 0o666 if like is None else 0o600)
        stack.callback(_remove, part, directory)
        with file:
            with ExitStack() as writing:
                out: Any = file
                if level is not None:
                    # The header has no file name and no time, which would change the bytes.
                    out = writing.enter_context(gzip.GzipFile("", "wb", level, file, mtime=0))
                yield out
            if like is not None:
                file.flush()
                os.fchmod(file.fileno(), like.st_mode & NO_PROGRAM)
                os.utime(file.fileno(), ns=(like.st_atime_ns, like.st_mtime_ns))
        if temporary is None:
            with naming(path):
                os.replace(part, path.name, src_dir_fd=directory, dst_dir_fd=directory)
        else:
            move(Path(temporary, part), path)


def _remove(name: str, directory: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def move(part: Path, path: Path, below: Path | None = None) -> None:
    """Move a file of this machine to a path, where it replaces an existing file.

    No link below the trusted directory `below` is followed.
    """
    if not is_here(path):
        there = cast(Any, path)
        there.fs.put_file(str(part), there.path)
        part.unlink()
        return
    with open_directory(path.parent, below, make=True) as directory:
        try:
            with naming(path):
                os.replace(part, path.name, dst_dir_fd=directory)
            return
        except OSError as error:
            if error.errno != EXDEV:
                raise
    with part.open("rb") as file, whole_file(path, below=below) as out:
        shutil.copyfileobj(file, out)
    part.unlink()


def make_home(home: Path) -> None:
    """Create the directory of a home, which only its owner can enter, unless it exists.

    Raises:
        SetupError: another user controls it.
    """
    if is_here(home):
        private_directory(home)
