"""Read deletion vectors of Delta tables in a child process with bounded memory and time.

A vector of 50 bytes can name row 68,719,476,736. delta-rs makes one value for each row up to it,
and aborts the process if it has too little memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
from tempfile import TemporaryFile

import pyarrow as pa

from elsinore.errors import DataError
from elsinore.files.lake_tables import LakeTable
from elsinore.places import is_here

_MEMORY = 3 << 30
_OUTPUT = 1 << 29
_SECONDS = 120
#: Threads and arenas reserve address space, which is limited.
_FEW = {"MALLOC_ARENA_MAX": "2", "TOKIO_WORKER_THREADS": "2", "RAYON_NUM_THREADS": "2"}


def deletion_masks(table: LakeTable, version: int) -> pa.Table:
    """Return `filepath` and `selection_vector` (which rows are not deleted) of a table's files.

    Raises:
        DataError: the vectors cannot be read, or take too much memory or time.
    """
    command = [sys.executable, "-P", "-m", "elsinore.files.deletion_vectors"]
    problem = f"cannot read the Delta table {table}: its deletion vectors"
    hint = (
        f"rewrite its files without them, in Spark: REORG TABLE delta.`{table.path}` APPLY (PURGE)"
    )
    uri = str(table.path.absolute() if is_here(table.path) else table.path)
    with TemporaryFile() as out:
        try:
            subprocess.run(
                [*command, uri, str(version)],
                env={**os.environ, **_FEW}, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.DEVNULL, timeout=_SECONDS, check=True,
            )  # fmt: skip
            out.seek(0)
            return pa.ipc.open_stream(out).read_all()
        except subprocess.TimeoutExpired as error:
            problem = f"{problem} take more than {_SECONDS} seconds"
            raise DataError(problem, hint=hint, file=str(table.path)) from error
        except (subprocess.CalledProcessError, pa.ArrowInvalid) as error:
            problem = f"{problem} are damaged, or take too much memory"
            raise DataError(problem, hint=hint, file=str(table.path)) from error


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
