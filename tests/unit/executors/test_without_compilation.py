"""Kernels as plain Python, for debuggers and `make coverage`, return the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

#: The values of the papers, by every way to run a query.
PAPERS = "GRETA or Hamlet or Sharon"


@pytest.mark.slow
def test_the_values_of_the_papers_without_compilation() -> None:
    """`make coverage` runs all golden cases in this way."""
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist",
            "tests/golden/test_goldens.py", "-k", f"worked_out_by_hand and ({PAPERS})",
        ],
        cwd=ROOT, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "compiling kernels" not in done.stderr
