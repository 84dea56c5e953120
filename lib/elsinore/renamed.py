"""Old names of settings, options and keys, which work until the next release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from elsinore.errors import ParameterError

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: The warnings that were shown: each is shown once per process.
_SHOWN: dict[Any, Any] = {}


class RenamedWarning(FutureWarning):
    """Something has a new name; the old one works until the next release."""


def warn_renamed(old: str, new: str) -> None:
    """Warn that a name is old, once per process.

    The warning has no source file, so that Python prints it as one line.
    """
    warnings.warn_explicit(
        f"{old} is now called {new}; use the new name", RenamedWarning, "elsinore", 1,
        module=__name__, registry=_SHOWN,
    )  # fmt: skip


def by_new_names(
    given: Mapping[str, Any], names: Mapping[str, str], show: Callable[[str], str] = str
) -> dict[str, Any]:
    """Return values by their new names, with a warning per old name.

    Args:
        given: Values by name.
        names: New names by old ones.
        show: Returns a name as the user writes it.

    Raises:
        ParameterError: an old and a new name have different values.

    >>> by_new_names({"grace_minutes": 5}, {"grace": "grace_minutes"})
    {'grace_minutes': 5}
    """
    found = dict(given)
    for old in filter(given.__contains__, names):
        new, value = names[old], found.pop(old)
        if found.setdefault(new, value) != value:
            raise ParameterError(
                f"{show(old)} and {show(new)} have different values", hint=f"remove {show(old)}"
            )
        warn_renamed(show(old), show(new))
    return found


def renamed_parameters(**names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator with which a function accepts old names of keyword parameters.

    Args:
        names: New names by old ones.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **given: _P.kwargs) -> _R:
            if names.keys() & given.keys():
                return function(*args, **by_new_names(given, names))
            return function(*args, **given)

        return call

    return decorate
