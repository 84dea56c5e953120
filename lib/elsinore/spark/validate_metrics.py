"""Names of the figures that validation reports of single queries."""

from __future__ import annotations

#: How metrics begin that count a query's results, and those of them that were checked.
RESULTS_OF, CHECKED_OF = "results of ", "checked of "


def is_of_coverage(metric: str) -> bool:
    """Whether a metric counts the results of one query.

    >>> is_of_coverage("checked of cascades"), is_of_coverage("checked_results")
    (True, False)
    """
    return metric.startswith((RESULTS_OF, CHECKED_OF))
