"""Reads a workload file and binds it to a stream."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import Diagnostic, QueryError
from elsinore.query.bind_query import bind_workload, in_text_order
from elsinore.query.bound import Workload
from elsinore.query.given_values import Given
from elsinore.query.parameters import replace_parameters
from elsinore.query.parse import MAX_TEXT, parse_statements
from elsinore.query.syntax import Zone
from elsinore.zones import zone_named

#: No character takes more than four bytes in UTF-8.
_MAX_BYTES = 4 * MAX_TEXT


def load_workload(path: Path, schema: StreamSchema, given: tuple[Given, ...] = ()) -> Workload:
    """Return the workload in a file, bound to a schema.

    Args:
        path: the file.
        schema: the schema of the stream.
        given: values of parameters.

    Raises:
        QueryError: with every error, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)  # whatever the file is, and however large
        if len(raw) > _MAX_BYTES:
            hint = "split the workload into several files"
            raise QueryError(f"{path} is larger than {_MAX_BYTES} bytes", hint=hint)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise QueryError(f"cannot read {path}: {error.strerror}", hint=_hint(path)) from error
    except UnicodeDecodeError as error:
        hint = f"convert it: iconv -f latin1 -t utf-8 {path}"
        raise QueryError(f"{path} is not UTF-8", hint=hint) from error
    return _read_again(text, schema, str(path), given)


def _hint(path: Path) -> str:
    """Return a hint for a missing file, which a user named or the environment."""
    variable = "ELSINORE_WORKLOAD_FILE"
    if (named := os.environ.get(variable)) and path.absolute() == Path(named).absolute():
        return f"set {variable} to a file of queries"
    return f"name a file of queries: ls {shlex.quote(str(path.parent))}"


def read_workload(
    text: str,
    schema: StreamSchema,
    file: str = "<text>",
    given: tuple[Given, ...] = (),
) -> Workload:
    """Parse a workload and bind it to a schema.

    Args:
        text: the workload.
        schema: the schema of the stream.
        file: its name, for errors.
        given: values of parameters.

    Raises:
        QueryError: with every error in the order of the text, of parsing and of binding. Its field
            `unset` is true if parameters only lack values.
    """
    queries, faults, declarations, set_zones = parse_statements(text, file)
    replaced = replace_parameters(queries, declarations, given)
    faults += replaced.faults
    zone = _default_zone(set_zones, faults)
    try:
        workload = bind_workload(replaced.queries, schema, zone)
    except QueryError as error:
        faults += error.diagnostics
    if faults:
        found = QueryError.of(in_text_order(faults, text))
        found.fields["unset"] = len(faults) == len(replaced.unset)
        raise found
    return replace(workload, parameters=replaced.parameters)


def _default_zone(found: tuple[Zone, ...], faults: list[Diagnostic]) -> str | None:
    """Return the name of the zone of SET ZONE in its own spelling, if it is one."""
    if not found:
        return None
    name, hint = zone_named(found[0].name)
    if name is None:
        faults.append(Diagnostic(f"no time zone {found[0].name[:40]}", found[0].at, hint))
    return name


#: Four queries take 8 ms, and each step asks for them.
_read_again = lru_cache(maxsize=8)(read_workload)
