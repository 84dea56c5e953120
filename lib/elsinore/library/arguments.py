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
from elsinore.hints import Hint
from elsinore.integers import repr_of
from elsinore.places import require_here


def require_share(name: str, value: object) -> None:
    """Raise ParameterError unless a value is a number from 0 to 1."""
    share: Any = value  # a long integer has no double
    if not (isinstance(value, Real) and 0 <= share <= 1):  # nor is NaN
        raise ParameterError(f"{name} is {quoted(value)}", hint="pass a number from 0 to 1")


def require_whole(name: str, value: object, least: int) -> None:
    """Raise ParameterError unless a value is a whole number of at least `least`."""
    if not (isinstance(value, Integral) and int(value) >= least):
        hint = f"pass a whole number of at least {least}"
        raise ParameterError(f"{name} is {quoted(value)}", hint=hint)


def path_of(what: str, given: object, *, hint: str = "pass a str or a pathlib.Path") -> Path:
    """Return a path; ParameterError: the value is not a path."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str) or "\0" in path:
        raise ParameterError(f"{what}: {quoted(given)} is not a path", hint=hint)
    require_here(path)
    return Path(path)


def quoted(value: object) -> str:
    """A value in one line of an error."""
    return plain(repr_of(value))


@contextmanager
def hints_in_python() -> Iterator[None]:
    """Word the hints of errors for users of the library, with its parameters."""
    try:
        yield
    except ElsinoreError as error:
        told = error.told(Hint.for_python)
        if str(told) == str(error):
            raise
        raise told from error.__cause__
