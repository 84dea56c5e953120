"""Reads a workload file and binds it to a stream."""

from __future__ import annotations

from pathlib import Path

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import QueryError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload


def load_workload(path: Path, schema: StreamSchema) -> Workload:
    """The workload in a file, bound to a schema.

    Raises:
        QueryError: the file cannot be read, does not parse or does not bind.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise QueryError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise QueryError(f"{path} is no UTF-8 text") from error
    return bind_workload(parse_workload(text, str(path)), schema)
