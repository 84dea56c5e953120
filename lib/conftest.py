"""Examples of docstrings are run where there are any.

To look for them pytest imports a module, and with some of them Airflow.
"""

from __future__ import annotations

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Whether a file is passed over; None: whoever else decides."""
    is_source = collection_path.suffix == ".py"
    return True if is_source and ">>> " not in collection_path.read_text("utf-8") else None
