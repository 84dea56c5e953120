"""Check the tables of a run against the suites of `expectations/`, and store the result.

A job reads its tables (`run_tables`), checks them, and fails by `require_accepted`. Rows are pandas
DataFrames: on Spark an expectation costs four to nine jobs, and the rows are few. Data Docs take
longer than the checks, so they are built only if they will be read. Every run has a directory,
which is written aside and then renamed, so that concurrent runs do not interfere.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import quote

import pandas as pd
import pydantic

from elsinore.catalog.yaml_text import Strict, read_model
from elsinore.errors import (
    DataError,
    Diagnostic,
    Location,
    ParameterError,
    SchemaError,
    ValidationError,
)
from elsinore.store.regions import parts_of, run_key
from elsinore.timeline import HOUR, Interval
from elsinore.wording import listed, suggest

#: The file with the validation results of a run, next to its Data Docs; written at the end.
FILE_NAME = "validation_results.json"
#: Its name in release 0.2, whose runs can still be reported.
_OLD_FILE_NAME = "judgement.json"
#: The suites that every run needs; each is a file of this name.
SUITES = ("raw_events", "static_plan", "trend_results", "reference_diff")
#: Names of the tables that the ledger is checked as: a row per ingested, and per published, hour.
INGESTED_HOURS, PUBLISHED_HOURS = "ingested_hours", "published_hours"
#: Tables that are checked only by the run that ingested the hours.
INGESTED = (INGESTED_HOURS, "quarantine", "events")
_RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_DOCS_INDEX = Path("uncommitted", "data_docs", "local_site", "index.html")
_POSITION = "record_number"
_RESULTS = {"result_format": {"result_format": "SUMMARY", "partial_unexpected_count": 5}}
#: The first page of the Data Docs. The package's own needs scripts from the network. It links the
#: reports, whose directory is next to `quality_dir`.
_INDEX = Path(__file__).with_name("templates") / "data_docs_index.html"

Severity = Literal["critical", "warning"]
_Name = Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9_]{0,80}$")]
_Sentence = Annotated[str, pydantic.Field(min_length=1, max_length=200)]


class Verdict(Strict):
    """The result of one expectation."""

    #: the suite of the expectation, and the table whose rows it checked.
    suite: str
    table: str
    expectation: str  #: its type, as in the suite's file
    description: str  #: what it expects, as a sentence
    severity: Severity  #: a failed `critical` one stops the run, a failed `warning` is reported
    success: bool  #: whether the rows are as expected
    observed: str  #: a description of the checked rows, or of the wrong rows


class ValidationResults(Strict):
    """All verdicts on one run."""

    run_name: str  #: the run, '<start hour>_<end hour>'
    verdicts: tuple[Verdict, ...]  #: in the order of the suites' files
    #: path of the first page of the Data Docs; None if they were not built.
    docs_index: str | None

    @property
    def docs(self) -> Path | None:
        """The first page of the Data Docs, if they were built."""
        return Path(self.docs_index) if self.docs_index else None

    def failed(self, severity: Severity) -> tuple[Verdict, ...]:
        """Return the verdicts on failed expectations of a severity."""
        return tuple(v for v in self.verdicts if not v.success and v.severity == severity)


def require_accepted(validation: ValidationResults) -> None:
    """Stop here if a critical expectation failed.

    Raises:
        ValidationError: with every failed expectation in `failures`; trying again cannot help.
    """
    failures = validation.failed("critical")
    if not failures:
        return
    first = failures[0]
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    raise ValidationError(
        f"{first.table}: {first.description}: {first.observed}{more}",
        hint=f"open {validation.docs_index}"
        if validation.docs_index
        else "open the report of the run",
        failures=tuple(f"{v.table}: {v.description}: {v.observed}" for v in failures),
    )


def load_validation_results(quality_dir: Path, interval: Interval) -> ValidationResults | None:
    """Load the validation results of a run; None if there are none.

    The results of slices are combined: a failed verdict is from the first failed slice, with the
    number of other failed slices.

    Raises:
        DataError: a file is damaged.
    """
    own = run_key(interval)
    # A year has 8,760 folders; an hour has no slices.
    names = [own] if interval.length == HOUR else [f.name for f in quality_dir.glob("*_*")]
    inside = [name for name in names if own[:13] <= name[:13] and name[14:] <= own[14:]]
    files = {
        name: file for name in inside for of_file in (_OLD_FILE_NAME, FILE_NAME)
        if (file := quality_dir / name / of_file).exists()
    }  # fmt: skip
    checked = {name: file.stat().st_mtime for name, file in files.items()}
    chosen = parts_of(interval, checked)
    parts = [_read_validation_results(files[name]) for name in chosen]
    if chosen == [own]:
        return parts[0]
    found: dict[tuple[str, str, str], list[Verdict]] = {}
    for part in parts:
        for verdict in part.verdicts:
            key = verdict.suite, verdict.table, verdict.description
            found.setdefault(key, []).append(verdict)
    if not found:
        return None
    verdicts = tuple(map(_together, found.values()))
    return ValidationResults(run_name=own, verdicts=verdicts, docs_index=None)


def _together(slices: Sequence[Verdict]) -> Verdict:
    """Join the verdicts on several slices to one."""
    failed = [verdict for verdict in slices if not verdict.success]
    if len(failed) < 2:
        return [*failed, *slices][0]
    observed = f"{failed[0].observed} (and in {len(failed) - 1} more of {len(slices)} slices)"
    return failed[0].model_copy(update={"observed": observed})


def _read_validation_results(path: Path) -> ValidationResults:
    try:
        return ValidationResults.model_validate_json(path.read_text(encoding="utf-8"))
    except (pydantic.ValidationError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path} is damaged: {error}", hint="run `elsinore validate` for these hours again"
        ) from error


# ---- suites


class Entry(Strict):
    """One expectation; `arguments` are its own, as Great Expectations names them.

    Descriptions hold no `$`: Data Docs take it for a place-holder.
    """

    expectation: _Name
    description: _Sentence
    severity: Severity
    arguments: dict[str, Any] = pydantic.Field(default_factory=dict)

    @pydantic.field_validator("description")
    @classmethod
    def _without_dollar(cls, value: str) -> str:
        if "$" in value:
            raise ValueError("a description must not contain $; remove it")
        return value

    @pydantic.field_validator("arguments")
    @classmethod
    def _of_expectation(cls, value: dict[str, Any]) -> dict[str, Any]:
        if own := sorted({"description", "severity", "meta"} & value.keys()):
            raise ValueError(f"{own[0]} is not an argument; write it next to arguments")
        condition, parser = value.get("row_condition"), value.get("condition_parser")
        is_passed_on = isinstance(condition, str) and parser != "great_expectations"
        if is_passed_on or "pass_through" in str(condition):  # to pandas, which would run any code
            raise ValueError(
                "a row_condition needs another parser; add condition_parser: great_expectations"
            )
        return value


class TableSuite(NamedTuple):
    """The expectations of a suite for a table."""

    suite: str
    table: str
    entries: Sequence[Entry]


class _SuiteFile(Strict):
    """The file of a suite, for example::

    suite: raw_events
    about: The property that the suite guards.
    tables:
      quarantine:
        - expectation: expect_rule_to_hold
          description: Every quarantined record has a reason.
          severity: critical
          arguments: {rule: has_code}
    """

    suite: _Name
    about: _Sentence
    tables: Annotated[
        dict[_Name, Annotated[list[Entry], pydantic.Field(min_length=1)]],
        pydantic.Field(min_length=1),
    ]


def load_suites(directory: Path) -> tuple[TableSuite, ...]:
    """Load all suites of a directory, in the order of `SUITES` and of their files.

    Raises:
        SchemaError: a suite is missing or invalid, or the directory has other YAML files; with the
            file and every error.
    """
    files, found = [directory / f"{name}.yaml" for name in SUITES], []
    for path in sorted({*directory.glob("*.y*ml")}.difference(files)):
        hint = f"move its expectations to {listed(file.name for file in files)}"
        raise _fault(path, "no step reads this file", hint)
    for path in files:
        file = read_model(path, _SuiteFile, "a suite")
        if file.suite != path.stem:
            hint = f"write suite: {path.stem}"
            raise _fault(path, f"the suite has the name {file.suite}", hint)
        found += [TableSuite(file.suite, *table) for table in file.tables.items()]
    return tuple(found)


def _fault(file: Path, message: str, hint: str) -> SchemaError:
    return SchemaError.of([Diagnostic(message, Location(str(file)), hint=hint)])


# ---- checks by Great Expectations


def check_expectations(
    tables: Mapping[str, pd.DataFrame],
    quality_dir: Path,
    run_name: str,
    *,
    expectations_dir: Path,
    docs: bool,
) -> ValidationResults:
    """Check the rows of a run; see `elsinore.quality.run_tables` for the required tables.

    Failures do not raise: `require_accepted` turns them into an error. Earlier results of the same
    run are replaced.

    Args:
        tables: the run's rows by table; every table that a suite names, or all except `INGESTED`.
        quality_dir: directory of all runs; this run writes to `quality_dir / run_name`.
        run_name: letters, digits, `_`, `-` and `.` only.
        expectations_dir: the directory of the suites.
        docs: whether to build Data Docs in any case; else only if an expectation failed.

    Raises:
        ParameterError: the name of the run is invalid.
        SchemaError: a suite is invalid, or names an unknown table.
    """
    if not _RUN_NAME.fullmatch(run_name):
        hint = "use only letters, digits, _, - and ."
        raise ParameterError(f"{run_name!r} is not a valid name of a run", hint=hint)
    named = load_suites(expectations_dir)
    suites = [part for part in named if part.table in tables]
    checked_elsewhere = set() if tables.keys() & set(INGESTED) else set(INGESTED)
    missing = {p.table: p.suite for p in named if p.table not in {*tables, *checked_elsewhere}}
    if missing:
        (table, suite), known = next(iter(missing.items())), {*tables, *INGESTED}
        hint = suggest(table, known) or f"use one of {listed(sorted(known))}"
        told = f"unknown table {', '.join(sorted(missing))}"
        raise _fault(expectations_dir / f"{suite}.yaml", told, hint)
    quality_dir.mkdir(parents=True, exist_ok=True)
    final = quality_dir / run_name
    with tempfile.TemporaryDirectory(prefix=".making-", dir=quality_dir) as scratch:
        made = Path(scratch, run_name)
        made.mkdir()
        with _quiet():
            asked = [(part, _expectations(part, expectations_dir)) for part in suites]
            checked = [
                (part, all_of, _results(all_of, tables[part.table])) for part, all_of in asked
            ]
            verdicts = tuple(v for part, _, results in checked for v in _verdicts(part, results))
            docs = docs or not all(verdict.success for verdict in verdicts)
            if docs:
                _build_docs(made / _DOCS_INDEX.parent, run_name, checked)
        index = str(final / _DOCS_INDEX) if docs else None
        validation = ValidationResults(run_name=run_name, verdicts=verdicts, docs_index=index)
        (made / FILE_NAME).write_text(validation.model_dump_json(indent=1), encoding="utf-8")
        shutil.rmtree(final, ignore_errors=True)
        made.rename(final)
    return validation


def _results(expectations: Sequence[Any], rows: pd.DataFrame) -> list[Any]:
    """Return the result of each expectation, without a context, which takes most of the time."""
    from great_expectations.core.batch import Batch
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.execution_engine.pandas_batch_data import PandasBatchData
    from great_expectations.validator.validator import Validator

    batch: Any = Batch(data=PandasBatchData(engine := PandasExecutionEngine(), rows))
    silent: Any = SimpleNamespace(progress_bars={"globally": False})
    validator = Validator(engine, data_context=silent, batches=[batch])
    checked = validator.graph_validate([one.configuration for one in expectations], dict(_RESULTS))
    return sorted(checked, key=lambda one: one.expectation_config.meta[_POSITION])


def _verdicts(part: TableSuite, results: Sequence[Any]) -> Iterator[Verdict]:
    for entry, one in zip(part.entries, results, strict=True):
        yield Verdict(
            suite=part.suite,
            table=part.table,
            expectation=entry.expectation,
            description=entry.description,
            severity=entry.severity,
            success=bool(one.success),
            observed=_observed(one.result, one.exception_info),
        )


def _build_docs(
    folder: Path,
    run_name: str,
    checked: Iterable[tuple[TableSuite, Sequence[Any], Sequence[Any]]],
) -> None:
    """Write Data Docs: per suite a page of the suite and one of its results, and an index.

    Great Expectations renders the pages; strings are escaped. Its contexts and stores would write
    the same pages, but need twice the time.
    """
    from great_expectations.core.run_identifier import RunIdentifier

    run = RunIdentifier(run_name=run_name, run_time=datetime.now(UTC))
    lines = "".join(_suite_pages(folder, run, *each) for each in checked)
    index = _INDEX.read_text(encoding="utf-8").replace("{run}", run_name).replace("{lines}", lines)
    (folder / "index.html").write_text(index, encoding="utf-8")


def _suite_pages(
    folder: Path, run: Any, part: TableSuite, expectations: Sequence[Any], results: Sequence[Any]
) -> str:
    """Write the pages of a suite and of its results; return their row of the index."""
    import great_expectations as gx
    from great_expectations.render.renderer.page_renderer import (
        ExpectationSuitePageRenderer,
        ValidationResultsPageRenderer,
    )
    from great_expectations.validator.validation_statistics import calc_validation_statistics

    name = f"{part.suite}.{part.table}"
    statistics = calc_validation_statistics(list(results))
    # The pages link each other by such paths.
    own = Path(part.suite, part.table)
    page = Path("validations", own, *run.to_tuple(), f"{part.suite}_{part.table}.html")
    plain = _plain_results(run, part, results, statistics)
    _write_page(folder, page, ValidationResultsPageRenderer().render(plain))
    suite = gx.ExpectationSuite(name=name, expectations=list(expectations))
    suite_page = Path("expectations", f"{own}.html")
    _write_page(folder, suite_page, ExpectationSuitePageRenderer().render(suite))
    outcome = "passed" if statistics.success else "failed"
    link = f'<a href="{quote(page.as_posix())}">{part.table}</a>'
    passed = f"{statistics.successful_expectations} of {len(results)}"
    return (
        f"<tr><td>{part.suite}</td><td>{link}</td>"
        f'<td class="{outcome}">{outcome}</td><td>{passed}</td></tr>\n'
    )


def _plain_results(run: Any, part: TableSuite, results: Sequence[Any], statistics: Any) -> Any:
    """Return results as a store returns them: with plain values, which the view escapes."""
    import great_expectations as gx
    from great_expectations.core import (
        ExpectationSuiteValidationResult,
        expectationSuiteValidationResultSchema,
    )

    whole = ExpectationSuiteValidationResult(
        success=statistics.success,
        results=list(results),
        suite_name=f"{part.suite}.{part.table}",
        statistics=statistics._asdict(),
        meta={
            "great_expectations_version": gx.__version__,
            "run_id": run,
            "batch_spec": {"data_asset_name": part.table},
        },
    )
    return expectationSuiteValidationResultSchema.load(whole.to_json_dict())


def _write_page(folder: Path, path: Path, document: Any) -> None:
    """Write a rendered page, with a link to the index."""
    from elsinore.quality.expectations import page_view

    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    home = "../" * (len(path.parts) - 1) + "index.html"
    (folder / path).write_text(page_view().page(document, home), encoding="utf-8")


def _expectations(part: TableSuite, expectations_dir: Path) -> list[Any]:
    file = expectations_dir / f"{part.suite}.yaml"
    return [_expectation(entry, n, file) for n, entry in enumerate(part.entries)]


def _expectation(entry: Entry, position: int, file: Path) -> Any:
    from great_expectations.compatibility import pydantic as gx_pydantic
    from great_expectations.exceptions import ExpectationNotFoundError
    from great_expectations.expectations.registry import get_expectation_impl

    import elsinore.quality.expectations  # noqa: F401  (registers our own expectations)

    try:
        return get_expectation_impl(entry.expectation)(
            **entry.arguments,
            description=entry.description,
            severity=entry.severity,
            meta={_POSITION: position},
        )
    except ExpectationNotFoundError as error:
        hint = "use an expectation of Great Expectations or Elsinore"
        raise _fault(file, f"unknown expectation {entry.expectation}", hint) from error
    except gx_pydantic.ValidationError as error:
        # `__root__` is what Great Expectations says of several together.
        told = ((one["loc"][0], one["msg"]) for one in error.errors())
        faults = (f"{name}: {said}" if name != "__root__" else said for name, said in told)
        hint = f"correct the arguments of {entry.expectation}"
        raise _fault(file, f"{entry.expectation}: {'; '.join(faults)}", hint) from error


def _observed(result: Mapping[str, Any], exception_info: Mapping[str, Any]) -> str:
    """Return the observation of an expectation as one line."""
    if "raised_exception" not in exception_info:  # by metric, where one of several failed
        exception_info = next(iter(exception_info.values()), {})
    if exception_info.get("raised_exception"):
        return f"could not be checked: {exception_info.get('exception_message')}"
    if result.get("observed_value") is not None:
        return str(result["observed_value"])
    rows, unexpected = result.get("element_count", 0), result.get("unexpected_count", 0)
    if not unexpected:
        return f"{rows} rows checked"
    examples = "; ".join(_example(value) for value in result.get("partial_unexpected_list", [])[:3])
    return f"{unexpected} of {rows} rows: {examples}"


def _example(value: Any) -> str:
    """Return an unexpected value, or unexpected values of several columns, as a short string."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}"[:100] for name, part in value.items())
    return str(value)[:100]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the package's own chatter out of a job's output."""
    # Before its import: it reads this once and otherwise reports to its makers.
    os.environ["GX_ANALYTICS_ENABLED"] = "False"
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"great_expectations|marshmallow")
            yield
    finally:
        logger.setLevel(level)
