"""Read the log of a Delta table with delta-rs in a child process.

delta-rs ends its process on some logs: JSON of many levels overflows its stack, and it reserves
gigabytes of memory for thousands of commits. So only the child process ends, and the error names
the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

import pyarrow as pa

from elsinore.errors import DataError, storage_error
from elsinore.files.delta_log_snapshot import descriptors
from elsinore.files.lake_tables import LakeTable

_SECONDS = 600
_SHOWN = 200
#: The exit code of the child process if delta-rs raises an error, which is in its output.
_REFUSED = 3
#: The key of the metadata of a schema with the other facts of a log.
_FACTS = b"elsinore.log"
_NOT_FOUND = "TableNotFoundError"


class OpenedLog(NamedTuple):
    """The content of a table's log at a version."""

    snapshot: Path  #: the private directory with the log
    version: int
    newest: int  #: the newest version
    features: frozenset[str]  #: features that a reader must know
    configuration: dict[str, str]
    partitions: list[str]  #: partition columns
    schema: pa.Schema
    added: pa.Table  #: data files: `path`, `modification_time`, and `partition.` columns


def opened_log(table: LakeTable, snapshot: Path, version: int | None) -> OpenedLog:
    """Return the log in a private directory at a version; None, or one that is too high: newest.

    Raises:
        DataError: it cannot be read, or takes too much memory or time.
        SetupError, StoreError: the disk or store fails.
    """
    command = [sys.executable, "-P", "-m", __name__, str(snapshot)]
    with TemporaryFile() as out:
        try:
            code = subprocess.run(
                [*command, *([] if version is None else [str(version)])],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                timeout=_SECONDS, check=False, pass_fds=[*descriptors(snapshot)],
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _unusable(table, f"takes more than {_SECONDS} seconds") from error
        out.seek(0)
        if code == _REFUSED:
            raise _refused(table, snapshot, json.load(out))
        if code:
            raise _unusable(table, "is damaged, or takes too much memory")
        schema = pa.ipc.open_stream(out).read_all().schema
        added = pa.ipc.open_stream(out).read_all()
    facts = json.loads(schema.metadata[_FACTS])
    features = frozenset(facts.pop("features"))
    return OpenedLog(snapshot, **facts, features=features, schema=schema, added=added)


def export(table: LakeTable) -> str:
    """Return the hint to export a table that is not supported."""
    source = f"spark.read.format('delta').load('{table.path}')"
    return f"export it with Spark: {source}.write.parquet('events')"


def _unusable(table: LakeTable, why: str) -> DataError:
    problem = f"cannot read the Delta table {table}: its log {why}"
    hint = f"write a checkpoint with deltalake: DeltaTable('{table.path}').create_checkpoint()"
    return DataError(problem, hint=hint, file=str(table.path))


def _refused(table: LakeTable, snapshot: Path, error: dict[str, str]) -> Exception:
    """Return the error for an error of delta-rs, without the address of the private directory."""
    if error["type"] == _NOT_FOUND and table.version is not None:  # cleaned from the log
        problem = f"cannot read the Delta table {table}: its log no longer has this version"
        hint = f"use the newest version: {table.path}"
    elif error["type"] == _NOT_FOUND:
        problem = f"{table.path} is not a Delta table: its directory _delta_log has no commit"
        hint = "restore the log, or remove _delta_log to read the files directly"
    elif failing := storage_error(OSError(error["text"])):
        return failing
    else:
        lines = error["text"].strip().replace(str(snapshot), str(table.path)).splitlines()
        why = (lines or [error["type"]])[0].partition(" {")[0][:_SHOWN]
        problem, hint = f"cannot read the Delta table {table}: {why}", export(table)
    return DataError(problem, hint=hint, file=str(table.path))


def _write(out: IO[bytes], snapshot: str, version: str | None) -> None:
    """Write the log of a table as two Arrow streams: its schema, and its data files."""
    from deltalake import DeltaTable

    table = DeltaTable(snapshot)
    newest = table.version()
    if version is not None and int(version) < newest:
        table = DeltaTable(snapshot, version=int(version))
    metadata = table.metadata()
    facts = {
        "version": table.version(),
        "newest": newest,
        "features": list(table.protocol().reader_features or ()),
        "configuration": metadata.configuration,
        "partitions": metadata.partition_columns,
    }
    schema = pa.schema(table.schema().to_arrow())
    added = pa.table(table.get_add_actions(flatten=True))
    names = [f"partition.{name}" for name in metadata.partition_columns]
    added = added.select(["modification_time", "path", *names])
    tagged = schema.with_metadata({**(schema.metadata or {}), _FACTS: json.dumps(facts)})
    for each in (tagged.empty_table(), added):
        with pa.ipc.new_stream(out, each.schema) as stream:
            stream.write_table(each)


def _main(arguments: list[str], out: IO[bytes]) -> int:
    """Write a log, or the error of delta-rs; return the exit code."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _write(out, arguments[0], arguments[1] if len(arguments) > 1 else None)
    except BaseException as error:
        # Damaged checkpoints make delta-rs panic, with an exception that cannot be imported.
        if isinstance(error, KeyboardInterrupt):
            raise
        found: dict[str, Any] = {"type": type(error).__name__, "text": str(error)}
        out.seek(0)
        out.truncate()
        out.write(json.dumps(found).encode())
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:], sys.stdout.buffer))
