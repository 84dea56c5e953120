"""Hints of errors for two readers: users of the command line, and users of the library."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Option:
    """An option of commands, and the parameter of the library with the same meaning.

    Attributes:
        parameter: Name of the parameter, such as `max_error_rate`.
        value: The value to pass.
        is_in_library: False if only commands have it.
    """

    parameter: str
    value: str | int | float
    is_in_library: bool = True

    @property
    def name(self) -> str:
        """Return the name on the command line, such as `--max-error-rate`."""
        return f"--{self.parameter.replace('_', '-')}"

    def for_command(self, options: Collection[str] | None = None) -> str | None:
        """Return the option with its value; None if a command does not have it."""
        has_it = options is None or self.name in options
        return f"{self.name} {self.value}" if has_it else None

    def for_python(self) -> str | None:
        """Return the parameter with its value; None if the library does not have it."""
        return f"{self.parameter}={self.value!r}" if self.is_in_library else None


@dataclass(frozen=True, slots=True)
class Either:
    """Words that differ: one text for the command line, and one for the library."""

    command: str
    python: str


@dataclass(frozen=True, slots=True, init=False)
class Or:
    """Another way out, which is left out if the reader lacks one of its options."""

    parts: tuple[str | Option, ...]

    def __init__(self, *parts: str | Option) -> None:
        object.__setattr__(self, "parts", parts)


Part: TypeAlias = str | Option | Either | Or
#: Words an option for a reader; None if the reader lacks it.
_OfOption: TypeAlias = Callable[[Option], str | None]


class Hint(str):
    """A hint in parts. As a string, it is the text for the command line.

    >>> hint = Hint("shorten WITHIN", Or(", or pass ", Option("max_error_rate", 0.5)))
    >>> print(hint)
    shorten WITHIN, or pass --max-error-rate 0.5
    >>> hint.for_python(), hint.for_command(options=["--input"])
    ('shorten WITHIN, or pass max_error_rate=0.5', 'shorten WITHIN')
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Hint:
        """Join parts to a hint."""
        hint = super().__new__(cls, _text(parts, Option.for_command, is_python=False))
        hint.parts = parts
        return hint

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts

    def for_command(self, options: Collection[str] | None = None) -> str:
        """Return the text for the command line.

        Args:
            options: Options of the command that ran; None: any option may be named.
        """
        return _text(self.parts, lambda option: option.for_command(options), is_python=False)

    def for_python(self) -> str:
        """Return the text for users of the library."""
        return _text(self.parts, Option.for_python, is_python=True)


def _text(parts: tuple[Part, ...], of_option: _OfOption, *, is_python: bool) -> str:
    texts = list[str]()
    for part in parts:
        match part:
            case Option():
                texts.append(of_option(part) or part.for_command() or "")
            case Either():
                texts.append(part.python if is_python else part.command)
            case Or():
                found = [of_option(each) if isinstance(each, Option) else each
                         for each in part.parts]  # fmt: skip
                texts.append("" if None in found else "".join(filter(None, found)))
            case _:
                texts.append(part)
    return "".join(texts)
