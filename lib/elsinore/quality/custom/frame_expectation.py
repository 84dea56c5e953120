"""Base of our own expectations: each looks at all rows of a pandas batch at once.

Great Expectations compares numbers as floats and takes NaN for NULL in pandas; what must be exact
is therefore decided here, in Python and pandas, and only the finding is handed back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.renderer_configuration import (
    RendererConfiguration,
    RendererValueType,
)

#: At most this many rows are named, each in at most this many characters.
MAX_NAMED = 10
MAX_CHARACTERS = 400

_FRAME = "elsinore.frame"


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


@dataclass(frozen=True, slots=True)
class Finding:
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

    @classmethod
    def of_rows(cls, unexpected: Iterable[str], element_count: int, *, noun: str) -> Finding:
        """The finding that no row should be among `unexpected`; `noun` says what a row is."""
        texts = [shorten(text) for text in unexpected]
        named = tuple(texts[:MAX_NAMED])
        observed = f"{element_count} {noun} checked"
        if texts:
            more = "; ..." if len(texts) > len(named) else ""
            observed = f"{len(texts)} of {element_count} {noun}: {'; '.join(named[:3])}{more}"
        return cls(not texts, observed, named, len(texts), element_count)


def shorten(text: str) -> str:
    """Text that fits a page, however many digits a count has.

    >>> shorten("1" * 500)[-16:]
    '111...(500 long)'
    """
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[: MAX_CHARACTERS - 20]}...({len(text)} long)"


class FrameExpectation(BatchExpectation, ABC):
    """An expectation on a pandas batch as a whole; subclasses define `find` and `sentence`."""

    metric_dependencies: ClassVar[tuple[str, ...]] = (_FRAME,)
    #: What is expected, as a sentence; Data Docs show a suite's own description instead.
    sentence: ClassVar[str]

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

    @classmethod
    def _prescriptive_template(
        cls, renderer_configuration: RendererConfiguration
    ) -> RendererConfiguration:
        renderer_configuration.add_param(
            name="sentence", param_type=RendererValueType.STRING, value=cls.sentence
        )
        renderer_configuration.template_str = "$sentence"
        return renderer_configuration
