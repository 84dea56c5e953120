"""Reads YAML that people wrote: safe types only, no duplicate keys, aliases or tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import pydantic
import yaml

from elsinore.errors import Diagnostic, Location, SchemaError
from elsinore.integers import integer_of, repr_of
from elsinore.wording import in_plain_words, visible

#: Schemas, suites and rates have some thousands; reading this many takes about a second.
MAX_BYTES = 100_000
#: Maximum depth of lists and mappings; Elsinore's files have four levels.
_DEEPEST = 50
#: Messages of PyYAML, and what to print instead.
_SAID = {
    "found character '\\t'": "found a tab; indent YAML with spaces",
    "but found another document": "found another document; write one document per file",
    "<stream end>": "a bracket that opens here is not closed; add the closing bracket",
}
_QUERIES = re.compile(rb"^\s*QUERY\s|^\s*(PATTERN|WITHIN)\s", re.IGNORECASE | re.MULTILINE)
#: Characters at either end of a message; what it quotes may be as long as the file.
_SHOWN = 200


class _StrictLoader(yaml.SafeLoader):
    """SafeLoader that refuses duplicate keys, aliases (alias bombs), tags and deep nesting.

    It reads as JSON does what YAML 1.1 does not: numbers as 1e5, signs in two escapes.
    """

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        problem = ""
        if isinstance(event, yaml.AliasEvent):
            problem = "aliases are not allowed; repeat the value"
        elif event.tag is not None:  # SafeLoader fails on a value that its tag does not fit
            problem = f"the tag {event.tag!r} is not allowed; remove it"
        elif self.depth > _DEEPEST:
            problem = f"is nested deeper than {_DEEPEST} levels; nest less deeply"
        if problem:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {repr_of(key)} is not a string; quote it", key_node.start_mark
                )
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} occurs twice; remove one", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        text = super().construct_scalar(node)
        return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _integer(loader: _StrictLoader, node: yaml.ScalarNode) -> int:
    """Read an integer of any length: cases of `elsinore test` hold counts."""
    text = str(loader.construct_scalar(node))
    is_decimal = re.fullmatch(r"-?[1-9][0-9]*", text)
    return integer_of(text) if is_decimal else loader.construct_yaml_int(node)


_StrictLoader.add_constructor("tag:yaml.org,2002:int", _integer)
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(\d+\.?|\d*\.\d+)[eE][-+]?\d+\Z"),
    list("-+.0123456789"),
)


def read_yaml(path: Path) -> Any:
    """Read the document of a YAML file; SchemaError: it is missing, too large or invalid."""
    return _parsed(_read(path, "check the path"), str(path))[0]


def _read(path: Path, hint: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # whatever the file is, and however large
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise SchemaError(message, hint=hint, file=str(path)) from error


def _parsed(text: bytes, file: str) -> tuple[Any, yaml.Node | None]:
    """Return the document of a YAML string, and its node with the positions of its parts."""
    if len(text) > MAX_BYTES:
        hint = f"write at most {MAX_BYTES:,} bytes"
        raise SchemaError(f"{file} is larger than {MAX_BYTES} bytes", hint=hint, file=file)
    try:
        loader = _StrictLoader(text)
        root = loader.get_single_node()
        return None if root is None else loader.construct_document(root), root
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise SchemaError.of([_with_source(_diagnose(file, text, error), _lines(text))]) from error


class Strict(pydantic.BaseModel):
    """Base of models of YAML files: no unknown fields, no conversion of types."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


_Model = TypeVar("_Model", bound=Strict)
#: Keys and numbers of list entries that lead to a part of a document.
_Path = tuple[int | str, ...]


def read_model(
    path: Path, model: type[_Model], what: str, *, hint: str = "check the path"
) -> _Model:
    """Read the single document of a YAML file as a model.

    Args:
        path: The file.
        model: The model.
        what: The kind of document for error messages, such as "a schema".
        hint: The hint of errors about reading the file.

    Raises:
        SchemaError: As `read_yaml`, or the document does not match the model. The error lists all
            problems.
    """
    return model_of(_read(path, hint), model, what, str(path))


def model_of(text: bytes, model: type[_Model], what: str, file: str) -> _Model:
    """Parse a YAML string as a model; see `read_model`."""
    return cast(_Model, _model_of(text, model, what, file))


@lru_cache(maxsize=100)  # a schema and its tables take 50 ms, and each step asks for them
def _model_of(text: bytes, model: type[Strict], what: str, file: str) -> Strict:
    document, root = _parsed(text, file)
    if root is None or not isinstance(document, dict):
        begins = f"begin it with {next(iter(model.model_fields))}:"
        told = (
            f"{what} must be a mapping" if root else f"the file is empty; {what} must be a mapping"
        )
        if _QUERIES.search(text):
            begins = f"the file contains queries; swap it with {what}"
        raise SchemaError.of([Diagnostic(told, Location(file), begins)])
    try:
        return model.model_validate(document, context=file)
    except pydantic.ValidationError as error:

        def position(path: _Path) -> tuple[Location, int]:
            node, known = _node_at(root, path)
            return Location(file, node.start_mark.line + 1, node.start_mark.column + 1), known

        lines = _lines(text)
        found = [_with_source(each, lines) for each in _diagnostics(error, model, position)]
        raise SchemaError.of(found) from error


def model_of_mapping(document: Mapping[str, Any], model: type[_Model], file: str) -> _Model:
    """Return a mapping of Python as a model; errors name the path of a key, without a line.

    Raises:
        SchemaError: the mapping is not valid; lists every error.
    """
    _require_shallow(document, file)
    try:
        return model.model_validate(dict(document), context=file)
    except pydantic.ValidationError as error:

        def position(path: _Path) -> tuple[Location, int]:
            return Location(file), _known_keys(document, path)

        raise SchemaError.of(_diagnostics(error, model, position)) from error


def _require_shallow(document: Mapping[str, Any], file: str) -> None:
    """Refuse a mapping that is nested deeper than a file may be, or that contains itself."""
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        inside = (
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, Mapping | list | tuple)
        )
        level = list({id(inner): inner for inner in inside}.values())
        if not level:
            return
    problem = f"is nested deeper than {_DEEPEST} levels"
    raise SchemaError.of([Diagnostic(problem, Location(file), "nest less deeply")])


def _diagnostics(
    error: pydantic.ValidationError,
    model: type[Strict],
    position: Callable[[_Path], tuple[Location, int]],
) -> list[Diagnostic]:
    """Return the errors of a document.

    `position` returns the location of a path of keys, and how many of the keys the document has.
    """
    names = _settings(model.model_json_schema())
    found: dict[tuple[Location, str], Diagnostic] = {}
    for fault in error.errors():
        message, note = in_plain_words(fault, names)
        raised = fault.get("ctx", {}).get("error")  # its arguments may have more of the path
        at, known = position(fault["loc"] + getattr(raised, "args", ())[1:])
        where = ".".join(str(part) for part in fault["loc"][:known] if part != "[key]")
        text = plain(f"{where}: {message}" if where else message)
        # A value of several possible types has an error per type.
        key = (at, where if known < len(fault["loc"]) else text)
        found.setdefault(key, Diagnostic(text, at, None if note is None else plain(note)))
    return list(found.values())


def _known_keys(document: Any, path: _Path) -> int:
    """Return how many keys of a path a document has, and one more if only the last is missing."""
    for depth, part in enumerate(path):
        if isinstance(document, list | tuple) and isinstance(part, int):
            document = dict(enumerate(document))
        if isinstance(document, Mapping) and part in document:
            document = document[part]
        elif isinstance(document, Mapping):
            return depth + (depth == len(path) - 1)
        else:
            return depth
    return len(path)


def _settings(schema: Any) -> list[str]:
    """Return all names of settings in a JSON schema and its definitions."""
    parts = [schema, *schema.get("$defs", {}).values()]
    return sorted({name for part in parts for name in part.get("properties", {})})


def _node_at(node: yaml.Node, place: tuple[int | str, ...]) -> tuple[yaml.Node, int]:
    """Return the node at a path, or its closest ancestor, and the length of the path to it."""
    for depth, part in enumerate(place):
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            node = node.value[part]
        elif isinstance(node, yaml.MappingNode):
            inner = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if inner is None:  # report a missing setting under its name
                return node, depth + (depth == len(place) - 1)
            key, node = inner
            if depth == len(place) - 1 or place[depth + 1] == "[key]":
                return key, len(place)
        else:
            return node, depth
    return node, len(place)


def _lines(text: bytes) -> list[str]:
    return text.decode("utf-8", "replace").splitlines()


def _with_source(fault: Diagnostic, lines: list[str]) -> Diagnostic:
    if fault.location is None or fault.location.line is None:
        return fault
    return replace(fault, source="".join(lines[fault.location.line - 1 : fault.location.line]))


def _diagnose(file: str, text: bytes, error: Exception) -> Diagnostic:
    problem = str(getattr(error, "problem", None) or "the file is not valid YAML")
    mark = getattr(error, "problem_mark", None)
    mark = (getattr(error, "context_mark", None) if "<stream end>" in problem else None) or mark
    place = (mark.line + 1, mark.column + 1) if mark else ()
    if getattr(error, "encoding", "") == "utf-8":
        before = text[: error.position].split(b"\n")  # type: ignore[attr-defined]
        problem, place = "the line is not UTF-8; save the file as UTF-8", (len(before), 1)
    told = next((words for said, words in _SAID.items() if said in problem), problem)
    message, _, hint = plain(told).partition("; ")
    return Diagnostic(message, Location(file, *place), hint or "correct the YAML syntax")


def plain(message: str) -> str:
    r"""Return a message cut in the middle if it is long, with unprintable characters escaped.

    >>> plain("a\nb")
    'a\\nb'
    """
    cut = message if len(message) <= 2 * _SHOWN else f"{message[:_SHOWN]} ... {message[-_SHOWN:]}"
    return visible(cut)
