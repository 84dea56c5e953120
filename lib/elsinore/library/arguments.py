"""Looks at what callers from Python give, which no parser of options has seen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from elsinore.catalog.yaml_text import plain
from elsinore.errors import ElsinoreError, ParameterError
from elsinore.integers import repr_of
from elsinore.places import require_here

#: What hints to users of the command line are to callers from Python.
_IN_PYTHON = {
    "--max-bad-share 0.5 lets": "max_bad_share=0.5 lets",
    "; or give --input-format": "",
    "; `elsinore run --budget 100000000` allows more steps": "",
    "--schema names it; in the pipeline ELSINORE_SCHEMA_FILE does":
        "schema= is a path, or the schema itself: a text with a line break",
}  # fmt: skip


def require_share(name: str, value: object) -> None:
    """Refuse what is no number from 0 to 1 (ParameterError)."""
    share: Any = value  # a long integer has no double
    if not (isinstance(value, Real) and 0 <= share <= 1):  # nor is NaN
        raise ParameterError(f"{name} is {quoted(value)}", hint="it is a number from 0 to 1")


def require_whole(name: str, value: object, least: int) -> None:
    """Refuse what is no whole number, or less than `least` (ParameterError)."""
    if not (isinstance(value, Integral) and int(value) >= least):
        hint = f"it is a whole number from {least} on"
        raise ParameterError(f"{name} is {quoted(value)}", hint=hint)


def path_of(what: str, given: object, *, hint: str | None = None) -> Path:
    """A path as such; ParameterError: it is none."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str) or "\0" in path:
        raise ParameterError(f"{what}: {quoted(given)} is no path", hint=hint)
    require_here(path)
    return Path(path)


def quoted(value: object) -> str:
    """A value in one line of an error."""
    return plain(repr_of(value))


@contextmanager
def hints_in_python() -> Iterator[None]:
    """Let the hints of errors name parameters of the library, not options of commands."""
    try:
        yield
    except ElsinoreError as error:
        hint = error.hint or ""
        for option, name in _IN_PYTHON.items():
            hint = hint.replace(option, name)
        if hint == (error.hint or ""):
            raise
        raise type(error)(error.message, hint=hint, **error.fields) from error.__cause__
