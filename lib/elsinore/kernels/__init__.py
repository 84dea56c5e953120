"""Compiled propagation, windows, edge predicates and wide counts, over arrays alone."""

import hashlib
import os
import tempfile
from pathlib import Path

from numba import config

_HERE = Path(__file__).parent


def _cache_folder() -> Path:
    """Where compiled kernels are kept, one folder for each state of their sources.

    Numba checks the file of the function that it loads, but not the files of the functions
    compiled into it: after a change of one kernel file the others would keep its old code.
    """
    digest = hashlib.sha256()
    for source in sorted(_HERE.glob("*.py")):
        digest.update(source.read_bytes())
    writable = os.access(_HERE, os.W_OK)
    base = _HERE / "__pycache__" if writable else Path(tempfile.gettempdir()) / "elsinore-kernels"
    return base / f"compiled-{digest.hexdigest()[:16]}"


if not os.environ.get("NUMBA_CACHE_DIR"):
    config.CACHE_DIR = str(_cache_folder())
