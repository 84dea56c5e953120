"""What the DAGs make and read, under the names that others can schedule on."""

from __future__ import annotations

from airflow.sdk import Asset

#: Data-quality pages, one a run and one a day.
REPORTS = "quality_reports"

_GROUP = "elsinore"


def assets(*names: str) -> list[Asset]:
    """The assets of tables of the lake, named as the tables are, or of `REPORTS`."""
    return [Asset(name, group=_GROUP) for name in names]
