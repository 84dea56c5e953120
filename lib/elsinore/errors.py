"""The exceptions of Elsinore, by who must act.

Each class names who can fix the error (query author, owner of the data, planner, engine,
environment) and whether a retry can help (`transient`), which decides on retries in Airflow.
Errors have fields in addition to their message, and can be pickled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from elsinore.hints import Hint

#: Set to anything, this variable makes commands and jobs print stacks and Spark's own errors.
DEBUG = "ELSINORE_DEBUG"


@dataclass(frozen=True, slots=True)
class Location:
    """The position of an error in a file; `line` and `column` count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


#: Characters of a line to show before and after an error.
_BEFORE = 60


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error of a workload or schema, for its author: position, message and fix.

    `source` is the line of the location.
    """

    message: str
    location: Location | None = None
    hint: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.message}{hint}"

    def told(self, words: Callable[[Hint], str]) -> Self:
        """Return the diagnostic with its hint as text for one reader; see `ElsinoreError.told`."""
        return replace(self, hint=_worded(self.hint, words))

    def pointed(self) -> str:
        r"""Return the line with a caret below the error; empty if the line is unknown.

        >>> print(Diagnostic("no", Location("f", 1, 3), source="ab\tc").pointed())
          ab c
            ^
        """
        at = (self.location.column if self.location else None) or 1
        if self.source is None or not self.source.strip():
            return ""
        first = max(0, at - _BEFORE)
        line = "".join(c if c.isprintable() else " " for c in self.source[first : at + _BEFORE])
        return f"  {line.rstrip()}\n  {' ' * (at - 1 - first)}^"


def _worded(hint: str | None, words: Callable[[Hint], str]) -> str | None:
    return words(hint) if isinstance(hint, Hint) else hint


class ElsinoreError(Exception):
    """Base class of all errors of Elsinore.

    Attributes:
        code: stable dotted name of the class of error.
        exit_code: exit code of a command: 1 if it failed; 2 if its query, schema, parameters or
            set-up must be corrected first.
        transient: whether the same step may succeed when tried again.
        who: the person who must act.
        hint: what to do about it; for an error without one, the `default_hint` of its class.
        fields: everything else that a program may want to read.
    """

    code: ClassVar[str] = "elsinore"
    exit_code: ClassVar[int] = 1
    transient: ClassVar[bool] = False
    who: ClassVar[str] = "developer of Elsinore"
    default_hint: ClassVar[str | None] = None

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.fields = fields

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def told(self, words: Callable[[Hint], str]) -> Self:
        """Return the error with its hints as texts for one reader, such as `Hint.for_python`."""
        return type(self)(self.message, hint=_worded(self.hint, words), **self.fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), hint=self.hint, **self.fields), (self.message,)


def _first_of(diagnostics: Sequence[Diagnostic]) -> str:
    more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
    return f"{diagnostics[0]}{more}"


class AuthorError(ElsinoreError):
    """A query, schema or parameter is invalid; `diagnostics` lists every error in it."""

    code = "author"
    exit_code = 2
    who = "author of the query, schema or parameter"

    def __init__(
        self, message: str, *, diagnostics: tuple[Diagnostic, ...] = (), **others: Any
    ) -> None:
        super().__init__(message, diagnostics=diagnostics, **others)
        self.diagnostics = diagnostics or (Diagnostic(message, hint=self.hint),)

    @classmethod
    def of(cls, diagnostics: list[Diagnostic]) -> Self:
        """Return one error for several diagnostics."""
        return cls(_first_of(diagnostics), diagnostics=tuple(diagnostics))

    def told(self, words: Callable[[Hint], str]) -> Self:
        """Return the error with all hints, also of diagnostics, as texts for a reader."""
        told, given = super().told(words), self.fields["diagnostics"]
        if not given:
            return told
        reworded = tuple(each.told(words) for each in given)
        message = _first_of(reworded) if self.message == _first_of(given) else self.message
        return type(self)(message, hint=told.hint, **(self.fields | {"diagnostics": reworded}))


class QueryError(AuthorError):
    """A query has a syntax error or does not fit the schema."""

    code = "author.query"
    who = "author of the query"


class UnsupportedQueryError(AuthorError):
    """The chosen executor cannot run a valid query. Choose another executor, or `auto`.

    Fields: `query`, `executor`, `reasons`; of an error `of_queries`: `queries`, `executor`.
    """

    code = "author.unsupported"
    who = "author of the query"

    @classmethod
    def of_queries(cls, executor: str, refused: Mapping[str, Diagnostic]) -> Self:
        """Return one error for several queries, given their diagnostics by name."""
        diagnostics = tuple(refused.values())
        message = " | ".join(map(str, diagnostics))
        return cls(message, diagnostics=diagnostics, executor=executor, queries=tuple(refused))

    def told(self, words: Callable[[Hint], str]) -> Self:
        """Return the error with its hints, also those in its message, as texts for one reader."""
        if "queries" not in self.fields:
            return super().told(words)
        told = [each.told(words) for each in self.diagnostics]
        refused = dict(zip(self.fields["queries"], told, strict=True))
        return self.of_queries(self.fields["executor"], refused)


class SchemaError(AuthorError):
    """A schema is invalid."""

    code = "author.schema"
    who = "author of the schema"


class ParameterError(AuthorError):
    """A parameter of a command, job or DAG, or an environment variable, is invalid."""

    code = "author.parameter"
    who = "user who set the parameter"


class DataError(ElsinoreError):
    """Data cannot be used: too many invalid records, unreadable files or missing tables."""

    code = "data"
    who = "owner of the data"


class PlanError(ElsinoreError):
    """A static plan is outdated, damaged or does not fit the workload."""

    code = "plan"
    who = "author of the workload"


class EngineError(ElsinoreError):
    """The engine has a bug. Report it with the query and, if possible, the events."""

    code = "engine"


class BudgetError(ElsinoreError):
    """A computation would exceed its limit of steps, rows or bytes, and was stopped."""

    code = "budget"
    who = "author of the query"


class OutOfMemoryError(ElsinoreError):
    """The process ran out of memory. The data may be valid."""

    code = "environment.memory"
    who = "operator"

    @classmethod
    def of(cls, doing: str, error: MemoryError, hint: str = "give the process more memory") -> Self:
        """Return the error of a step, such as `reading x.parquet`, that ran out of memory."""
        why = f": {str(error).splitlines()[0][:200]}" if str(error) else ""
        return cls(f"out of memory while {doing}{why}", hint=hint)


class ValidationError(ElsinoreError):
    """Sampled results differ from the reference, or the check could not run."""

    code = "validation"
    who = "operator"


class SetupError(ElsinoreError):
    """The environment lacks Java, jars, a writable directory or a reachable Spark master."""

    code = "environment"
    exit_code = 2
    who = "operator"


class ConflictError(ElsinoreError):
    """Another process changed the same table first. The whole step can be tried again."""

    code = "environment.conflict"
    transient = True
    default_hint = "run it again"
    who = "operator, if all tries fail"


class StoreError(ElsinoreError):
    """An object store does not answer, or too late. The step can be tried again."""

    code = "environment.store"
    transient = True
    default_hint = "run it again if the object store is reachable"
    who = "operator, if all tries fail"


class LostWorkerError(ElsinoreError):
    """An executor, driver or Python worker of a job died. The step can be tried again."""

    code = "environment.lost"
    transient = True
    default_hint = "run it again"
    who = "operator, if all tries fail"


@contextmanager
def memory_failures(doing: str, *, hint: str) -> Iterator[None]:
    """Raise OutOfMemoryError, which names the step, if memory runs out."""
    try:
        yield
    except MemoryError as error:  # of Python, NumPy, Numba and Arrow
        raise OutOfMemoryError.of(doing, error, hint) from error


#: Messages of Arrow and Python about a thread that the system does not start: its stack exceeds the
#: memory limit, or the user has too many processes.
_NO_THREAD = re.compile("Failed to launch worker thread|can't start new thread")


def lacks_thread(text: str) -> bool:
    """Return whether an error says that no thread could be started."""
    return _NO_THREAD.search(text) is not None


@contextmanager
def pipeline_packages(what: str) -> Iterator[None]:
    """Raise SetupError with an install command if `what` needs a package of the pipeline."""
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).startswith("elsinore"):
            raise
        if error.name == "jobs":
            hint = "set ELSINORE_ROOT to the directory of a checkout"
            raise SetupError("ELSINORE_ROOT has no directory jobs", hint=hint) from error
        raise SetupError(
            f"{what} needs {error.name}, which is not installed",
            hint="in a checkout, run `pip install '.[pipeline]'`",
        ) from error


#: Messages of systems that cannot write; delta-rs and the JVM quote them.
_FULL = re.compile(
    "No space left on device|Disk quota exceeded|File too large|Read-only file system"
)


#: Messages of delta-rs, obstore, Arrow and Spark's connector about a failing object store.
_STORE = re.compile(
    "Generic (S3|GCS|MicrosoftAzure) error|AWS Error [A-Z]|The operation lacked|<Code>NoSuchBucket|"
    r"software\.amazon\.awssdk\.[\w.]+Exception: "
)
_MARKS = re.compile(r"\x1b\[\d*m↳?")
#: Messages about permanent failures. An expired token is one: a token of the environment does not
#: change, and others are renewed in time. Failed HEAD requests only have a number.
_REFUSED = re.compile(
    "ACCESS_?DENIED|FORBIDDEN|UNAUTHORIZED|NO_?SUCH_?BUCKET|EXPIRED_?TOKEN|INVALID_?TOKEN|"
    "INVALID_?ACCESS_?KEY_?ID|SIGNATURE_?DOES_?NOT_?MATCH|AUTHORIZATION_?HEADER_?MALFORMED|"
    r"INCORRECTLY CONFIGURED REGION|UNKNOWN \(HTTP STATUS (301|400)|"
    "BAD REQUEST(?=:?( DEBUG SOURCE|$))",
    re.IGNORECASE,
)
#: The message of Arrow about a column that a table of an earlier release lacks.
_NO_COLUMN = re.compile(r"No match for FieldRef\.Name\((\w+)\)")
#: Parts of messages that are left out: wrappers, and debug output of libraries.
_NOISE = re.compile("^Kernel error -> |,?[ =:]*Debug source.*", re.IGNORECASE)
#: The address of a store: up to the slashes, a user and a password, the rest, and a query.
_SECRETS = re.compile(r"([A-Za-z][\w+.-]*:/{1,2})(?:[^/\s]*@)?([^\s?]*)(?:\?[^\s?=]*=\S*)?")
_NAMELESS = re.compile('Path "([^"]*)" contained empty path segment')


def without_secrets(text: str) -> str:
    """Return a text without users, passwords and queries in the addresses of stores in it.

    Logs and alerts show messages to others. A path has only one slash after the colon.

    >>> without_secrets("no s3://key:secret@bucket/x?sig=abc here")
    'no s3://bucket/x here'
    """
    return _SECRETS.sub(lambda found: f"{found[1]}{found[2]}", text)


@contextmanager
def storage_failures() -> Iterator[None]:
    """Raise the `storage_error` of errors of other libraries."""
    try:
        yield
    except ElsinoreError:
        raise
    except Exception as error:
        if failing := storage_error(error):
            raise failing from error
        raise


def storage_error(error: BaseException | None) -> DataError | SetupError | StoreError | None:
    """Return the error of a full or read-only disk, a failing store or an old lake.

    Returns:
        None if neither the error nor one of its causes is of such a kind.
    """
    while error is not None:
        text = str(error)
        if found := _FULL.search(text):
            name = error.filename if isinstance(error, OSError) else None
            directory = os.path.dirname(name) if isinstance(name, str) else ""
            where = f", in {directory}" if directory else ""
            hint = "free disk space or make the directory writable, and run it again"
            return SetupError(f"cannot write: {found[0]}{where}", hint=hint)
        if lacking := _NO_COLUMN.search(text):
            hint = "add the columns of this release: `elsinore migrate`"
            return SetupError(f"a table of the lake has no column {lacking[1]}", hint=hint)
        if _STORE.search(text) or type(error).__module__.startswith("obstore"):
            return _of_store(" ".join(_MARKS.sub("", text).split()))
        error = error.__cause__ or error.__context__
    return None


def _of_store(said: str) -> DataError | SetupError | StoreError:
    said = without_secrets(said)
    if directory := _NAMELESS.search(said):
        hint = "rename the objects in it so that no part of their path is empty"
        return DataError(
            f"the object store has a directory without a name: {directory[1]}", hint=hint
        )
    text = _NOISE.sub("", said)[:300]
    if refused := _REFUSED.search(said):
        hint = "check its address, and the region and keys in the environment"
        return SetupError(f"the object store refuses access: {refused[0]}: {text}", hint=hint)
    return StoreError(f"the object store fails: {text}")
