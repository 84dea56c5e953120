"""Read deletion vectors of Delta tables in a child process with bounded memory and time.

A vector of 50 bytes can name row 68,719,476,736. delta-rs makes one value for each row up to it,
and aborts the process if it has too little memory. A log can also name any file or address as a
vector, and delta-rs follows links. So the child process knows only copies of files in the table's
directory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b85decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import DataError
from elsinore.files.delta_log_snapshot import LOG, PLAIN_NAME, copy_file, descriptors
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_lines import DEFAULT_LIMITS, too_large, unreadable
from elsinore.files.rejection import Reason
from elsinore.wording import visible

_MEMORY = 3 << 30
_OUTPUT = 1 << 29
_SECONDS = 120
#: Threads and arenas reserve address space, which is limited.
_FEW = {"MALLOC_ARENA_MAX": "2", "TOKIO_WORKER_THREADS": "2", "RAYON_NUM_THREADS": "2"}
#: How a descriptor calls a vector in the table's directory, and at another place.
_OWN, _ELSEWHERE = "u", "p"
#: The two fields of a descriptor with the location of its vector.
_FIELDS = ("storageType", "pathOrInlineDv")
#: Digits of Z85, in which descriptors have the name of a file, and of Python's base 85.
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_DIGITS = str.maketrans(_Z85, _B85)
_NAME_LENGTH = 20


def deletion_masks(table: LakeTable, snapshot: Path, version: int) -> pa.Table:
    """Return `filepath` and `selection_vector` (which rows are not deleted) of a table's files.

    Args:
        table: the table.
        snapshot: the private directory with the table's log, see `log_snapshot`. It gets copies of
            the vectors, and `filepath` is below it.
        version: the version of the table.

    Raises:
        DataError: the vectors cannot be read, are not in the table's directory, or take too much
            memory or time.
        OSError: a vector cannot be read.
    """
    _copy_vectors(table, snapshot)
    command = [sys.executable, "-P", "-m", "elsinore.files.deletion_vectors"]
    problem = f"cannot read the Delta table {table}: its deletion vectors"
    with TemporaryFile() as out:
        try:
            subprocess.run(
                [*command, str(snapshot), str(version)],
                env={**os.environ, **_FEW}, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.DEVNULL, timeout=_SECONDS, check=True,
                pass_fds=[*descriptors(snapshot)],
            )  # fmt: skip
            out.seek(0)
            return pa.ipc.open_stream(out).read_all()
        except subprocess.TimeoutExpired as error:
            problem = f"{problem} take more than {_SECONDS} seconds"
            raise DataError(problem, hint=_purge(table), file=str(table.path)) from error
        except (subprocess.CalledProcessError, pa.ArrowInvalid) as error:
            problem = f"{problem} are damaged, or take too much memory"
            raise DataError(problem, hint=_purge(table), file=str(table.path)) from error


def has_vectors(snapshot: Path) -> bool:
    """Return whether a commit or checkpoint of a log has a deletion vector."""
    return any(True for _ in _locations(snapshot))


def removed_paths(snapshot: Path, version: int) -> Iterator[str]:
    """Yield the paths of data files that a log removes up to a version, as they are written."""
    for path in _of_log(snapshot):
        number = path.name.partition(".")[0]
        if number.isdecimal() and int(number) > version:
            continue
        if path.suffix == ".json":
            actions = _actions(path, b"remove")
            found = _inside(_inside(actions, "remove"), "path")
        else:
            found = _column(path, ["remove.path"], "remove", "path")
        yield from (text for text in found if isinstance(text, str))


def _purge(table: LakeTable) -> str:
    statement = f"REORG TABLE delta.`{table.path}` APPLY (PURGE)"
    return f"rewrite its files without them, in Spark: {statement}"


def _copy_vectors(table: LakeTable, snapshot: Path) -> None:
    """Copy the files with the vectors of a table to the snapshot of its log."""
    left = DEFAULT_LIMITS.file_bytes
    names = {_file_name(table, *each) for each in _locations(snapshot)}
    for name in sorted(filter(None, names)):
        (snapshot / name).parent.mkdir(exist_ok=True)
        # A file that only removed data files need may be gone.
        with suppress(FileNotFoundError):
            left -= copy_file(table.path / name, table.trusted, snapshot / name, left)
        if left < 0:
            most = DEFAULT_LIMITS.file_bytes
            raise too_large(table.path, f"has more than {most:,} bytes of deletion vectors")


def _file_name(table: LakeTable, kind: object, location: object) -> str | None:
    """Return the path of a vector's file below the table; None: it is in the log, or damaged.

    Raises:
        UnreadableFile: the file is not in the table's directory.
    """
    text = str(location)
    prefix, name = text[:-_NAME_LENGTH], text[-_NAME_LENGTH:]
    if kind == _ELSEWHERE or (kind == _OWN and prefix and not PLAIN_NAME.fullmatch(prefix)):
        problem = f" has a deletion vector outside of its directory: {visible(text[:200])}"
        raise unreadable(table.path, problem, Reason.CORRUPT_FILE, _purge(table))
    if kind == _OWN:
        with suppress(ValueError):  # the child process fails on it
            uuid = UUID(bytes=b85decode(name.translate(_DIGITS)))
            return "/".join([*filter(None, [prefix]), f"deletion_vector_{uuid}.bin"])
    return None


def _locations(snapshot: Path) -> Iterator[tuple[object, object]]:
    """Yield the fields `_FIELDS` of the descriptors of all vectors in a log.

    Raises:
        ValueError: the log is damaged.
    """
    for path in _of_log(snapshot):
        yield from _in_json(path) if path.suffix == ".json" else _in_parquet(path)


def _of_log(snapshot: Path) -> Iterator[Path]:
    """Yield the commits, checkpoints and sidecars of a log."""
    yield from (snapshot / LOG).rglob("*.*")


def _in_json(path: Path) -> Iterator[tuple[object, object]]:
    for vector in _inside(_inside(_actions(path, _FIELDS[1].encode()), "add"), "deletionVector"):
        kinds, places = ([*_inside([vector], name)] for name in _FIELDS)
        yield from ((kind, place) for kind in kinds for place in places)


def _actions(path: Path, name: bytes) -> Iterator[object]:
    """Yield the lines with a name, of which each object is a list of pairs.

    Raises:
        ValueError: a line is not JSON, or has too many levels or digits.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            # The name may be escaped, and a key may occur twice.
            if name in line or b"\\u" in line:
                try:
                    action = json.loads(line, object_pairs_hook=list)
                except (ValueError, RecursionError) as error:
                    problem = f"line {number} of {path.name} has too many levels or digits"
                    raise ValueError(problem) from error
                yield action


def _inside(objects: Iterable[object], key: str) -> Iterator[object]:
    """Yield the values of a key in objects that are lists of pairs."""
    for pairs in objects:
        for pair in pairs if isinstance(pairs, list) else ():
            if isinstance(pair, tuple) and pair[0] == key:
                yield pair[1]


def _in_parquet(path: Path) -> Iterator[tuple[object, object]]:
    columns = [f"add.deletionVector.{name}" for name in _FIELDS]
    for vector in _column(path, columns, "add", "deletionVector"):
        if isinstance(vector, dict):
            yield vector[_FIELDS[0]], vector[_FIELDS[1]]


def _column(path: Path, columns: list[str], action: str, name: str) -> Iterator[object]:
    """Yield a field of the actions of a checkpoint, if the checkpoint has some columns."""
    with pq.ParquetFile(path) as file:
        known = {file.schema.column(at).path for at in range(len(file.schema.names))}
        if known.issuperset(columns):
            for batch in file.iter_batches(columns=columns):
                for row in batch.to_struct_array().field(action).to_pylist():
                    yield row and row[name]


def _write(table: str, version: int) -> None:
    """Write the masks of a table to standard output; end if they take too much."""
    import resource

    for kind, most in (
        (resource.RLIMIT_AS, _MEMORY), (resource.RLIMIT_FSIZE, _OUTPUT), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    from deltalake import DeltaTable

    vectors = DeltaTable(table, version=version).deletion_vectors()
    with (
        pa.RecordBatchReader.from_stream(vectors) as masks,
        pa.ipc.new_stream(sys.stdout.buffer, masks.schema) as out,
    ):
        for batch in masks:
            out.write_batch(batch)


if __name__ == "__main__":
    _write(sys.argv[1], int(sys.argv[2]))
