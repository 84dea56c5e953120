"""What the expectation suites said of a run's tables: a frozen value that outlives the process.

A job calls, in this order::

    tables = read_run_tables(settings.lake, interval)          # elsinore.quality.run_tables
    judgement = judge(tables, settings.quality, run_name, ...)  # elsinore.quality.checkpoint
    require_accepted(judgement)                                 # raises ValidationError
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pydantic

from elsinore.errors import DataError, ValidationError

#: The file beside the Data Docs of a run that holds its judgement.
FILE_NAME = "judgement.json"

Severity = Literal["critical", "warning"]


class _Value(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid", frozen=True)


class Verdict(_Value):
    """What one expectation found.

    Attributes:
        suite, table: where the expectation stands, and the table whose rows it judged.
        expectation: its type, as in the suite's file.
        description: what it expects, as a sentence.
        severity: a failed `critical` one stops the run, a failed `warning` is reported.
        success: whether the rows are as expected.
        observed: what was seen instead, or how much was seen, as text.
    """

    suite: str
    table: str
    expectation: str
    description: str
    severity: Severity
    success: bool
    observed: str


class Judgement(_Value):
    """All verdicts on one run.

    Attributes:
        run_name: the run, '<start hour>_<end hour>'.
        verdicts: in the order of the suites' files.
        docs_index: path of the first page of the Data Docs; None where they were not built.
    """

    run_name: str
    verdicts: tuple[Verdict, ...]
    docs_index: str | None

    @property
    def docs(self) -> Path | None:
        """The first page of the Data Docs, if they were built."""
        return Path(self.docs_index) if self.docs_index else None

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """Failed critical expectations: these results must not be published."""
        return tuple(v for v in self.verdicts if not v.success and v.severity == "critical")

    @property
    def warnings(self) -> tuple[Verdict, ...]:
        """Failed expectations that people should know of, but that stop nothing."""
        return tuple(v for v in self.verdicts if not v.success and v.severity == "warning")


def require_accepted(judgement: Judgement) -> None:
    """Stop here if a critical expectation failed.

    Raises:
        ValidationError: with every failed expectation in `failures`; trying again cannot help.
    """
    failures = judgement.failures
    if not failures:
        return
    first = failures[0]
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    raise ValidationError(
        f"{first.table}: {first.description}: {first.observed}{more}",
        hint=f"see {judgement.docs_index}" if judgement.docs_index else None,
        failures=tuple(f"{v.table}: {v.description}: {v.observed}" for v in failures),
    )


def judgement_file(quality_dir: Path, run_name: str) -> Path:
    """Where the judgement of a run lies; it exists once `judge` has ended."""
    return quality_dir / run_name / FILE_NAME


def load_judgement(quality_dir: Path, run_name: str) -> Judgement | None:
    """The judgement of a run that `judge` left behind, or None if there is none.

    Raises:
        DataError: the file is no judgement.
    """
    path = judgement_file(quality_dir, run_name)
    if not path.exists():
        return None
    try:
        return Judgement.model_validate_json(path.read_text(encoding="utf-8"))
    except (pydantic.ValidationError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is no judgement: {error}", hint="validate the run again"
        ) from error
