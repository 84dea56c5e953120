"""The page of environment variables, from the class of settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from docs.generate.markdown import blocks, code, one_line, plain
from elsinore.errors import DEBUG
from elsinore.memory_limit import MEMORY_LIMIT
from elsinore.settings import PREFIX, RENAMED, Settings

_INTRO = """\
Environment variables configure Elsinore. Commands, jobs and DAGs read the same variables, once at
their start. A misspelled name or an invalid value stops the command with the error
[`author.parameter`](error-codes.md)."""

_PATHS = f"""\
Relative paths start from [`{PREFIX}ROOT`](#{PREFIX.lower()}root). A value of type JSON is one JSON
document, such as `{PREFIX}RETENTION_DAYS='{{"events": 30}}'`."""

_DEBUG = """\
If it is set to any text, a command that fails prints the stack of its error, and Spark's own error
messages. By default it is not set."""

_MEMORY_LIMIT = """\
Memory that a process may use which reads events, schemas or queries: a command such as `run`,
`test` or `schema infer`, or a Python worker of Spark. It is a size such as `2g` or `512m`, or
`none`. A command or step that needs more ends with the error
[`environment.memory`](error-codes.md). By default it is 80 % of the memory of the machine or of the
control group, at least 1 GB."""

_WORDS = {str: "text", int: "whole number", float: "number", Path: "path"}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def page() -> str:
    """Return the page."""
    meanings = attributes(Settings)
    parts = ["# Configuration", _INTRO, _PATHS]
    for name, field in Settings.model_fields.items():
        facts = [f"- Type: {_type(field)}"]
        if (default := _default(field, meanings[name])) is not None:
            facts.append(f"- Default: {default}")
        facts += [f"- Old name, until the next release: {code(_variable(old))}"
                  for old, new in RENAMED.items() if new == name]  # fmt: skip
        parts += [
            f"## {_variable(name)}",
            _with_links(plain(meanings[name])),
            "\n".join(facts),
        ]
    return blocks([*parts, f"## {MEMORY_LIMIT}", _MEMORY_LIMIT, f"## {DEBUG}", _DEBUG])


def _variable(field: str) -> str:
    return f"{PREFIX}{field.upper()}"


def _with_links(meaning: str) -> str:
    """Return a text in which names of settings are links to the variables that set them."""
    name = "|".join(Settings.model_fields)
    return re.sub(rf"`({name})`", lambda found: _link(found[1]), meaning)


def _link(name: str) -> str:
    variable = _variable(name)
    return f"[`{variable}`](#{variable.lower()})"


def attributes(documented: type) -> Mapping[str, str]:
    """Return what the docstring of a class says about each of its attributes.

    >>> class Point:
    ...     '''A point.
    ...
    ...     Attributes:
    ...         x: Distance
    ...             to the right.
    ...         y: Height.
    ...     '''
    >>> attributes(Point)
    {'x': 'Distance to the right.', 'y': 'Height.'}
    """
    section = (inspect.getdoc(documented) or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", section, re.MULTILINE)
    return {name: one_line(text) for name, text in entries}


def _type(field: FieldInfo) -> str:
    """Return the kind of a value and its bounds, in words."""
    if get_origin(field.annotation) in (dict, tuple):
        return "JSON"
    bounds = [
        f"{word} {getattr(rule, name):,}"
        for rule in field.metadata
        for name, word in _BOUNDS.items()
        if getattr(rule, name, None) is not None
    ]
    return ", ".join([_kind(field.annotation), *bounds])


def _kind(annotation: Any) -> str:
    if annotation in _WORDS:
        return _WORDS[annotation]
    first, *_ = get_args(annotation)  # the others are None, an empty text or a rule
    return _kind(first)


def _default(field: FieldInfo, meaning: str) -> str | None:
    """Return the default; None if the meaning says it, or the setting has none."""
    value = None if "By default" in meaning else field.get_default(call_default_factory=True)
    if value is None:
        return None
    return code(str(value)) if value or value == 0 else "empty"
