"""Reads the expectation suites of `expectations/`: one file a suite, strict.

A file reads::

    suite: raw_events
    about: What the suite guards.
    tables:
      landings:
        - expectation: expect_column_values_to_not_be_null
          description: Every landing names its hour.
          severity: critical
          arguments: {column: landing}
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from elsinore.catalog.yaml_text import read_yaml
from elsinore.errors import Diagnostic, Location, SchemaError

#: The suites that every judgement needs; each is a file of this name.
SUITES = ("raw_events", "static_plan", "trend_results", "reference_diff")

_Name = Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_]{0,80}$")]
_Sentence = Annotated[str, pydantic.Field(min_length=1, max_length=200, pattern=r"^[^$]+$")]


@dataclass(frozen=True, slots=True)
class TableSuite:
    """What one suite expects of one table's rows."""

    suite: str
    table: str
    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """Its name in Data Docs."""
        return f"{self.suite}.{self.table}"


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)


class Entry(_Strict):
    """One expectation; `arguments` are its own, as Great Expectations names them.

    Descriptions hold no `$`: Data Docs take it for a place-holder.
    """

    expectation: _Name
    description: _Sentence
    severity: Literal["critical", "warning"]
    arguments: dict[str, Any] = {}


class _SuiteFile(_Strict):
    suite: _Name
    about: _Sentence
    tables: Annotated[
        dict[_Name, Annotated[list[Entry], pydantic.Field(min_length=1)]],
        pydantic.Field(min_length=1),
    ]


def load_suites(directory: Path) -> tuple[TableSuite, ...]:
    """All suites of a folder, in the order of `SUITES` and of their files.

    Raises:
        SchemaError: a suite is missing or not valid; with the file and every fault.
    """
    return tuple(part for name in SUITES for part in _load(directory / f"{name}.yaml"))


def _load(path: Path) -> list[TableSuite]:
    try:
        document = _SuiteFile.model_validate(read_yaml(path))
    except pydantic.ValidationError as error:
        raise SchemaError.of(
            [
                Diagnostic(
                    ".".join(map(str, fault["loc"])) + f": {fault['msg']}", Location(str(path))
                )
                for fault in error.errors()
            ]
        ) from error
    if document.suite != path.stem:
        raise SchemaError.of(
            [Diagnostic(f"the suite is called {document.suite}", Location(str(path)))]
        )
    return [
        TableSuite(document.suite, table, tuple(entries))
        for table, entries in document.tables.items()
    ]
