"""Additions to Great Expectations: further expectations, and Data Docs that escape values.

Importing this module makes the expectations known by name. Each looks at all rows of a pandas batch
at once: Great Expectations compares numbers as floats and takes NaN for NULL in pandas; what must
be exact is therefore decided here, in Python and pandas, and only the finding is handed back.
"""

from __future__ import annotations

import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.render.view import DefaultJinjaPageView
from jinja2 import pass_context

from elsinore.errors import ParameterError, PlanError
from elsinore.files.rejection import checked_records, invalid_records
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics
from elsinore.wording import escaped, listed, suggest

#: At most this many rows are named, each in at most this many characters.
MAX_NAMED = 10
MAX_CHARACTERS = 400

#: Number of digits to show of long integers that differ.
_DIGITS = 60


#: An icon of Great Expectations, which needs a font from the network. Values are escaped, so they
#: cannot look like an icon.
_ICON = re.compile(r'<i\s+class="fas (?P<name>fa-[a-z-]+)[^"]*"[^>]*>\s*</i>(?P<said>\s*\w+)?')
_OUTCOMES = {
    "fa-check-circle": ("passed", "passed"),
    "fa-times": ("failed", "failed"),
    "fa-exclamation-triangle": ("failed", "could not be checked"),
}


class Finding(NamedTuple):
    """The result of an expectation for a batch."""

    success: bool  #: whether the rows are as expected
    observed: str  #: what was seen, as text
    unexpected: tuple[str, ...]  #: the first unexpected rows, as text
    #: numbers of rows.
    unexpected_count: int
    element_count: int


def shorten(text: str) -> str:
    """Shorten a string for a page, because counts can have very many digits."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 20]}...({len(text)} long)"


class FrameExpectation(BatchExpectation, ABC):
    """An expectation on a pandas batch as a whole."""

    @abstractmethod
    def find(self, frame: pd.DataFrame) -> Finding:
        """Look at all rows; must not change them."""

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:
        try:
            found = self.find(execution_engine.dataframe)
        except (AttributeError, KeyError) as error:
            lacking = getattr(error, "name", None) or error.args[0]
            hint = "use a table with this column in expectations/"
            raise ParameterError(f"the table has no column {lacking}", hint=hint) from error
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


class RowsExpectation(FrameExpectation, ABC):
    """No row is wrong; `noun` says what rows are."""

    noun: ClassVar[str]

    @abstractmethod
    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield a description of each wrong row."""

    def size(self, frame: pd.DataFrame) -> int:
        """Return the number of checked rows."""
        return len(frame)

    def find(self, frame: pd.DataFrame) -> Finding:
        """Return the finding, with the first wrong rows."""
        texts, rows = [shorten(text) for text in self.wrong(frame)], self.size(frame)
        observed = f"{rows} {self.noun} checked"
        if texts:
            more = "; ..." if len(texts) > MAX_NAMED else ""
            observed = f"{len(texts)} of {rows} {self.noun}: {'; '.join(texts[:3])}{more}"
        return Finding(not texts, observed, tuple(texts[:MAX_NAMED]), len(texts), rows)


class ExpectRecordsToAddUp(RowsExpectation):
    """Every record of an ingested hour was accepted, repeats another record, or was rejected.

    The ledger has the numbers of records and of rejected records, the table `events` has the
    accepted ones, and `quarantine` has the rejected ones.
    """

    noun = "ingested hours"

    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield the hours whose numbers do not add up."""
        for row in frame.itertuples():
            faults = []
            if row.repeated < 0:
                faults.append(
                    f"{row.records} records, but {row.accepted} accepted + {row.bad_records} "
                    "rejected"
                )
            # A later ingest that failed has replaced the rows in quarantine only.
            if row.quarantined != row.bad_records and not row.has_failed:
                faults.append(f"{row.bad_records} rejected, but quarantine has {row.quarantined}")
            if faults:
                yield ", and ".join(f"hour {row.file_hour}: {fault}" for fault in faults)


class ExpectPlansToBeWhatWasWritten(RowsExpectation):
    """Each body reads back as statistics or as a plan, and its fingerprints are the row's."""

    noun = "statistics and plans"

    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield a description of each row whose fingerprint differs from its body."""
        for row in frame.to_dict("records"):
            name = f"{row['kind']} {str(row['fingerprint'])[:12]}"
            reader: Any = Statistics if row["kind"] == "statistics" else StaticPlan
            names = ["fingerprint"]
            if reader is StaticPlan:
                names += ["workload_fingerprint", "statistics_fingerprint"]
            try:
                body = reader.from_json(str(row["body"]))
            except PlanError as error:
                yield f"{name}: {error}"
                continue
            other = [column for column in names if row[column] != getattr(body, column)]
            if other:
                yield f"{name}: {', '.join(other)} differ from the body"


class ExpectQuarantinedShareToBeAtMost(RowsExpectation):
    """At most `share` (0 to 1) of the records of each hour are invalid.

    Empty files are in quarantine, but are not invalid; records of ignored
    types do not count at all.
    """

    noun = "ingested hours"
    share: float = pydantic.Field(ge=0, le=1)

    success_keys: ClassVar[tuple[str, ...]] = ("share",)

    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield the hours with larger shares."""
        for row in frame.itertuples():
            reasons = json.loads(row.reasons)
            share = invalid_records(reasons) / max(checked_records(int(row.records), reasons), 1)
            if share > self.share:
                yield f"hour {row.file_hour}: {share:.1%} invalid"


class ExpectHoursToBeOfUsualSize(RowsExpectation):
    """Every hour has a file, and at least a tenth of the usual records of its hour of the week.

    The usual number is in the column `usual_records`, NULL if it is unknown.
    """

    noun = "ingested hours"

    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield hours without a file, and hours with too few records."""
        for row in frame.itertuples():
            if not row.file_count:
                yield f"hour {row.file_hour}: no file"
            elif pd.notna(row.usual_records) and 10 * row.records < row.usual_records:
                usual = f"usually {row.usual_records:.0f}"
                yield f"hour {row.file_hour}: {row.records} records, {usual}"


class ExpectPublishedToEqualReference(RowsExpectation):
    """No checked row is a mismatch; each mismatch is reported with query, group, window and values.

    The comparison set the column `mismatch` (exactly for integers); this expectation reads only
    this column. A checked row without a value in it counts as a mismatch.
    """

    noun = "aggregates"

    def size(self, frame: pd.DataFrame) -> int:
        """Return the number of checked rows."""
        return int((frame["status"] == "checked").sum())

    def wrong(self, frame: pd.DataFrame) -> Iterator[str]:
        """Yield a description of each mismatch."""
        mismatch = frame["mismatch"].astype("boolean")
        # Mismatches count with any status.
        unknown = (frame["status"] == "checked") & mismatch.isna()
        for row in frame[mismatch.fillna(False) | unknown].itertuples():
            yield (
                f"query {row.query}, group {row.group_key}, window [{row.window_start}, "
                f"{row.window_end}), {row.aggregate}: "
                f"published {_value(row.published_exact, row.published_value)}, "
                f"reference {_value(row.reference_exact, row.reference_value)}"
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
        """Look up the counts of the rule; an unknown rule is an error."""
        if self.rule not in (rules := list(frame["rule"])):
            hint = suggest(self.rule, rules) or f"use one of {listed(rules)}"
            raise ParameterError(f"the table has no rule {self.rule}", hint=hint)
        (found,) = frame[frame["rule"] == self.rule].itertuples()
        broken, rows = int(found.broken), int(found.rows)
        if not broken:
            return Finding(True, f"{rows} rows checked", (), 0, rows)
        observed = f"{broken} of {rows} rows: {found.examples}"
        return Finding(False, observed, (found.examples,), broken, rows)


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
        return Finding(False, f"no result was checked: {text}", (), len(frame), len(frame))


class EscapedPageView(DefaultJinjaPageView):
    """Pages that load nothing and run nothing; blocks with a type of their own render as before.

    Every plain text is escaped, also control and bidirectional characters.

    The pages of Great Expectations 1.24 put unexpected and observed values into table cells as they
    are (its templates end in `.j2`, which its own choice of what to escape leaves out), so an event
    id like `<script>` would run in the reader's browser.
    """

    def __init__(self) -> None:
        super().__init__(custom_views_directory=str(Path(__file__).with_name("templates")))

    def page(self, document: Any, home: str) -> str:
        """Return a page of Data Docs; `home` is the path from it to the first page."""
        text: str = self.render(document, template="data_docs.html.j2", home=home)
        return _ICON.sub(_in_words, escaped(text))

    @pass_context
    def render_content_block(
        self,
        jinja_context: Any,
        content_block: Any,
        index: Any = None,
        content_block_id: Any = None,
        render_to_markdown: bool = False,
    ) -> Any:
        """Render one block as HTML, with escaped strings."""
        block = content_block
        if isinstance(block, str):
            return html.escape(block)
        if isinstance(block, list):
            block = [html.escape(part) if isinstance(part, str) else part for part in block]
        return super().render_content_block(
            jinja_context, block, index, content_block_id, render_to_markdown
        )


def _in_words(icon: re.Match[str]) -> str:
    kind, word = _OUTCOMES[icon["name"]]
    said = icon["said"]  # at the head of a page
    return f'<span class="{kind}">{said.strip() if said else word}</span>'


@cache
def page_view() -> EscapedPageView:
    """Return the page view of this process, which keeps its compiled templates."""
    return EscapedPageView()
