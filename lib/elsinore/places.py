"""Files and folders, of this machine or of an object store, where addresses lead (`s3://...`).

Those of a store are `UPath`s, which have the methods of `Path` and pass for it: only here it is
known that a store has no links, appends or renames, and that a file there is written as a whole.
"""

from __future__ import annotations

import atexit
import copyreg
import gzip
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from errno import EISDIR
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast
from uuid import uuid4

from elsinore.errors import DataError, ParameterError, SetupError

#: Object stores that are known, by how addresses begin.
STORES = ("abfs", "gs", "s3")

#: How an address begins; a path makes one slash of two.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_SECOND = 1_000_000_000


def scheme(text: object) -> str | None:
    """How an address begins; None for a path.

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
            f"{str(text)[:200]} is an address, where a path of this machine is needed",
            hint="copy it here first; of all settings and paths ELSINORE_HOME alone can be one",
        )


def place(text: object) -> Path:
    """A file or folder by its path, or by its address in one of `STORES`."""
    store = scheme(text)
    return Path(str(text)) if store is None else cast(Path, _kind(store)(str(text)))


@cache
def _kind(store: str) -> Any:
    """What makes paths of a store; a process that such a path is sent to has to ask here, too."""
    from obstore.fsspec import register
    from upath import UPath

    register(store)
    # A thread of obstore's that has handed over its last result asks for Python's lock once more,
    # and aborts the process where that has ended: 4 of 97 runs of `forget` under load.
    atexit.register(time.sleep, 0.1)
    kind: Any = type(UPath(f"{store}://x"))
    copyreg.pickle(kind, lambda path: (place, (str(path),)))
    return UPath


def is_here(path: Path) -> bool:
    """Whether a path is of this machine's file system."""
    return isinstance(path, Path)


def state(path: Path) -> tuple[int, int]:
    """How many bytes a file has, and when it was changed last, in nanoseconds since 1970.

    A store tells whole seconds: what is behind them stands for the content, as its tag does.

    Raises:
        OSError: there is no such file, or it cannot be asked for.
    """
    status: Any = path.stat()
    if is_here(path):
        return status.st_size, status.st_mtime_ns
    info = status.as_info()
    if info["type"] == "directory":
        raise IsADirectoryError(EISDIR, "a key of it and a slash makes it a folder", str(path))
    tag = sha256(str(info["e_tag"]).encode()).digest()
    return status.st_size, int(status.st_mtime) * _SECOND + int.from_bytes(tag[:8]) % _SECOND


def require_exclusive(folder: Path) -> None:
    """Refuse a store in which two writers can each make the same new object.

    Raises:
        SetupError: it is one; Delta's commits would be lost there without a word.
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
        f"the store of {folder} makes an object that is there already",
        hint="it must honour If-None-Match, which commits need",
    )


@contextmanager
def local_copy(path: Path) -> Iterator[Path]:
    """A file of this machine that holds what a file did at one moment; itself, if it lies here.

    Raises:
        DataError: there is no such file any more.
    """
    if is_here(path):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy, there = Path(folder, path.name), cast(Any, path)
        try:
            there.fs.get_file(there.path, str(copy))
        except FileNotFoundError as error:
            raise DataError(f"cannot read {path}: it is gone") from error
        yield copy


@contextmanager
def whole_file(
    path: Path, level: int | None = None, *, shared: bool = False,
    like: os.stat_result | None = None,
) -> Iterator[BinaryIO]:  # fmt: skip
    """A file that appears under its name only when it is whole, in place of an existing one.

    Folders are made; `level` is of gzip, None: not packed. Of several that write a `shared` one at
    once the last has it; each leaves a part of its own where it is killed. It comes with mode and
    times `like` others.
    """
    with ExitStack() as stack:
        folder = path.parent if is_here(path) else Path(stack.enter_context(TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / (f".{uuid4().hex}.part" if shared else f"{path.name}.part")
        stack.callback(part.unlink, missing_ok=True)
        with ExitStack() as writing:
            out: Any = writing.enter_context(part.open("wb"))
            if level is not None:
                # No file name and no time of writing in the header: both would change the bytes.
                out = writing.enter_context(gzip.GzipFile("", "wb", level, out, mtime=0))
            yield out
        if like is not None:
            part.chmod(like.st_mode)
            os.utime(part, ns=(like.st_atime_ns, like.st_mtime_ns))
        move(part, path)


def move(part: Path, path: Path) -> None:
    """Put a file of this machine where another may be, which is replaced at once."""
    if is_here(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(part, path)
        return
    there = cast(Any, path)
    there.fs.put_file(str(part), there.path)
    part.unlink()
