"""What we add to Great Expectations: expectations of our own, and Data Docs that escape values.

Importing this module makes the expectations known by name. Each looks at all rows of a pandas batch
at once: Great Expectations compares numbers as floats and takes NaN for NULL in pandas; what must
be exact is therefore decided here, in Python and pandas, and only the finding is handed back.
"""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.view import DefaultJinjaPageView
from jinja2 import pass_context

from elsinore.errors import PlanError
from elsinore.files.rejection import bad_lines, judged_lines
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics

#: At most this many rows are named, each in at most this many characters.
MAX_NAMED = 10
MAX_CHARACTERS = 400

_FRAME = "elsinore.frame"
#: Of long integers that differ, this many digits of each are shown.
_DIGITS = 60


class FrameMetric(TableMetricProvider):
    """The whole batch as a pandas DataFrame; lives in memory only, never in a result."""

    metric_name = _FRAME

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls,  # noqa: N805  (the decorator makes it a class method)
        execution_engine: PandasExecutionEngine,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any],
    ) -> pd.DataFrame:
        frame, _, _ = execution_engine.get_compute_domain(
            domain_kwargs=metric_domain_kwargs, domain_type=MetricDomainTypes.TABLE
        )
        return frame


class Finding(NamedTuple):
    """What an expectation found in a batch.

    Attributes:
        success: whether the rows are as expected.
        observed: what was seen, as text.
        unexpected: the first unexpected rows, as text.
        unexpected_count, element_count: numbers of rows.
    """

    success: bool
    observed: str
    unexpected: tuple[str, ...]
    unexpected_count: int
    element_count: int


def no_row_among(unexpected: Iterable[str], element_count: int, noun: str) -> Finding:
    """The finding that no row should be among `unexpected`; `noun` says what a row is."""
    texts = [shorten(text) for text in unexpected]
    named = tuple(texts[:MAX_NAMED])
    observed = f"{element_count} {noun} checked"
    if texts:
        more = "; ..." if len(texts) > len(named) else ""
        observed = f"{len(texts)} of {element_count} {noun}: {'; '.join(named[:3])}{more}"
    return Finding(not texts, observed, named, len(texts), element_count)


def shorten(text: str) -> str:
    """Text that fits a page, however many digits a count has.

    >>> shorten("1" * 500)[-16:]
    '111...(500 long)'
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 20]}...({len(text)} long)"


class FrameExpectation(BatchExpectation, ABC):
    """An expectation on a pandas batch as a whole; subclasses define `find`."""

    metric_dependencies: ClassVar[tuple[str, ...]] = (_FRAME,)

    @abstractmethod
    def find(self, frame: pd.DataFrame) -> Finding:
        """Look at all rows; must not change them."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        found = self.find(metrics[_FRAME])
        share = 100 * found.unexpected_count / found.element_count if found.element_count else 0.0
        counts = [{"value": text, "count": 1} for text in dict.fromkeys(found.unexpected)]
        return {
            "success": found.success,
            "result": {
                "observed_value": found.observed,
                "element_count": found.element_count,
                "unexpected_count": found.unexpected_count,
                "unexpected_percent": share,
                "partial_unexpected_list": list(found.unexpected),
                "partial_unexpected_counts": counts,
            },
        }


class ExpectLandedRowsToAddUp(FrameExpectation):
    """Every line of a landing was accepted, was a duplicate, or was quarantined.

    Where the batch says how many rows `events` and `quarantine` really hold of a landing (columns
    `event_rows` and `quarantine_rows`), these must be the accepted and quarantined ones.
    """

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare whole numbers, row by row."""
        faults = (_account_faults(row) for row in frame.to_dict("records"))
        wrong = (", and ".join(found) for found in faults if found)
        return no_row_among(wrong, len(frame), "landings")


def _account_faults(row: dict[str, object]) -> list[str]:
    """What does not add up in one landing, as texts."""
    names = ("lines", "accepted", "duplicates", "quarantined", "event_rows", "quarantine_rows")
    number = {name: int(str(row[name])) for name in names if name in row}
    landing = row["landing"]
    found = []
    parts = ("accepted", "duplicates", "quarantined")
    if number["lines"] != sum(number[name] for name in parts):
        spelled = " + ".join(f"{number[name]} {name}" for name in parts)
        found.append(f"landing {landing}: {number['lines']} lines are not {spelled}")
    for stated, table, held in (
        ("accepted", "events", "event_rows"),
        ("quarantined", "quarantine", "quarantine_rows"),
    ):
        if number.get(held, number[stated]) != number[stated]:
            found.append(
                f"landing {landing}: {number[stated]} {stated}, but {table} holds {number[held]}"
            )
    return found


class ExpectPlansToBeWhatWasWritten(FrameExpectation):
    """Each body reads back as statistics or as a plan, and its fingerprints are the row's."""

    def find(self, frame: pd.DataFrame) -> Finding:
        """Read every body anew."""
        texts = (fault for row in frame.to_dict("records") if (fault := _plan_fault(row)))
        return no_row_among(texts, len(frame), "statistics and plans")


def _plan_fault(row: dict[str, object]) -> str | None:
    """What is wrong with one row, or None."""
    name = f"{row['kind']} {str(row['fingerprint'])[:12]}"
    body = str(row["body"])
    try:
        if row["kind"] == "statistics":
            found = {"fingerprint": Statistics.from_json(body).fingerprint}
        else:
            plan = StaticPlan.from_json(body)
            found = {
                "fingerprint": plan.fingerprint,
                "workload_fingerprint": plan.workload_fingerprint,
                "statistics_fingerprint": plan.statistics_fingerprint,
            }
    except PlanError as error:
        return f"{name}: {error}"
    wrong = [column for column, value in found.items() if row[column] != value]
    return f"{name}: {', '.join(wrong)} differ from the body" if wrong else None


class ExpectQuarantinedShareToBeAtMost(FrameExpectation):
    """At most `share` (0 to 1) of the lines of each landing were quarantined.

    Lines that a later one corrects, and empty files, are quarantined too, but they are not bad;
    those of types that the schema passes over are not counted at all.
    """

    share: float = pydantic.Field(ge=0, le=1)

    success_keys: ClassVar[tuple[str, ...]] = ("share",)

    def find(self, frame: pd.DataFrame) -> Finding:
        """Compare each landing's share."""
        reasons = frame["reasons"].map(json.loads)
        bad = reasons.map(bad_lines)
        judged = map(judged_lines, frame["lines"].astype("int64"), reasons)
        lines = pd.Series([*judged], frame.index, "int64")
        shares = bad / lines.where(lines > 0, 1)
        wrong = [
            f"landing {landing}: {share:.1%} quarantined"
            for landing, share in zip(frame["landing"], shares, strict=True)
            if share > self.share
        ]
        return no_row_among(wrong, len(frame), "landings")


class ExpectLandingsToBeOfUsualSize(FrameExpectation):
    """Every landing has a file, and a tenth of the lines that its hour of the week usually has.

    What is usual stands in the column `usual_lines`, NULL where that is not known.
    """

    def find(self, frame: pd.DataFrame) -> Finding:
        """Name the landings without a file and those that are too small."""
        wrong = [
            f"landing {row.landing}: no file" if not row.files else
            f"landing {row.landing}: {row.lines} lines, usually {row.usual_lines:.0f}"
            for row in frame.itertuples()
            if not row.files or (pd.notna(row.usual_lines) and 10 * row.lines < row.usual_lines)
        ]  # fmt: skip
        return no_row_among(wrong, len(frame), "landings")


class ExpectPublishedToEqualReference(FrameExpectation):
    """No checked row is a mismatch; each mismatch is named by query, group, window, both values.

    Equality was decided where the rows were compared, integers exactly; this judges the column
    `mismatch` alone. A checked row of which it is not known whether it differs counts as one.
    """

    def find(self, frame: pd.DataFrame) -> Finding:
        """Name the mismatches."""
        checked = frame["status"] == "checked"
        mismatch = frame["mismatch"].astype("boolean")
        # A mismatch is one whatever the row's status claims.
        wrong = frame[mismatch.fillna(False) | (checked & mismatch.isna())]
        texts = (_describe(row) for row in wrong.to_dict("records"))
        return no_row_among(texts, int(checked.sum()), "aggregates")


def _describe(row: dict[str, Any]) -> str:
    window = f"[{row['window_start']}, {row['window_end']})"
    ours = _value(row["published_exact"], row["published_value"])
    theirs = _value(row["reference_exact"], row["reference_value"])
    return shorten(
        f"query {row['query']}, group {row['group_key']}, window {window}, {row['aggregate']}: "
        f"published {ours}, reference {theirs}"
    )


def _value(exact: Any, value: Any) -> str:
    if isinstance(exact, str):
        if len(exact) <= _DIGITS:
            return exact
        return f"{exact[: _DIGITS // 2]}...{exact[-_DIGITS // 2 :]} ({len(exact)} digits)"
    return "nothing" if pd.isna(value) else repr(float(value))


class ExpectRuleToHold(FrameExpectation):
    """The batch is one of `rules_of_events` and the like; no row breaks the rule of this name."""

    rule: str

    success_keys: ClassVar[tuple[str, ...]] = ("rule",)

    def find(self, frame: pd.DataFrame) -> Finding:
        """Look the counts up; a rule that nobody counted is an error."""
        (found,) = frame[frame["rule"] == self.rule].itertuples()
        observed = f"{found.rows} rows checked"
        if found.broken:
            observed = f"{found.broken} of {found.rows} rows: {found.examples}"
        examples = (found.examples,) if found.broken else ()
        return Finding(not found.broken, observed, examples, int(found.broken), int(found.rows))


class ExpectResultsToBeValidated(FrameExpectation):
    """At least one aggregate was checked; otherwise the results count as not validated."""

    def find(self, frame: pd.DataFrame) -> Finding:
        """Count rows by status, and the reasons of the skipped ones."""
        checked = int((frame["status"] == "checked").sum())
        skipped = frame[frame["status"] == "skipped"]
        reasons = "; ".join(
            f"{reason} ({count})"
            for reason, count in skipped["reason"].value_counts(dropna=False).head(3).items()
        )
        text = f"{checked} checked, {len(skipped)} skipped" + (f": {reasons}" if reasons else "")
        if checked:
            return Finding(True, text, (), 0, len(frame))
        return Finding(False, f"not validated: {text}", (), len(frame), len(frame))


class EscapedPageView(DefaultJinjaPageView):
    """Escapes every plain text; blocks with a type of their own render as before.

    The pages of Great Expectations 1.24 put unexpected and observed values into table cells as they
    are (its templates end in `.j2`, which its own choice of what to escape leaves out), so an event
    id like `<script>` would run in the reader's browser.
    """

    @pass_context
    def render_content_block(
        self,
        jinja_context: Any,
        content_block: Any,
        index: Any = None,
        content_block_id: Any = None,
        render_to_markdown: bool = False,
    ) -> Any:
        """One block as HTML."""
        block = content_block
        if isinstance(block, str):
            return html.escape(block)
        if isinstance(block, list):
            block = [html.escape(part) if isinstance(part, str) else part for part in block]
        return super().render_content_block(
            jinja_context, block, index, content_block_id, render_to_markdown
        )


#: For the configuration of a Data Docs site.
ESCAPED_VIEW = {"module_name": __name__, "class_name": EscapedPageView.__name__}
