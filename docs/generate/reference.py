"""The reference pages that are generated from declarations in the code, by their path in docs/.

The pages are committed, so that a repository host shows them and links to them work in a checkout.
`tests/unit/docs` compares them with the code. Generation needs neither Java nor a running Airflow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from docs.generate import (
    alerts,
    cli,
    configuration,
    error_codes,
    expectations,
    metrics,
    python_names,
    tables,
)

MARK = "<!-- Generated from code: `make reference` writes this page. Do not edit it. -->\n\n"

PAGES: dict[str, Callable[[], str]] = {
    "alerts.md": alerts.page,
    "cli.md": cli.page,
    "configuration.md": configuration.page,
    "error-codes.md": error_codes.page,
    "expectations.md": expectations.page,
    "metrics.md": metrics.page,
    "python.md": python_names.page,
    "tables.md": tables.page,
}


def write(directory: Path) -> None:
    """Write all generated pages into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (directory / name).write_text(MARK + page(), encoding="utf-8")
