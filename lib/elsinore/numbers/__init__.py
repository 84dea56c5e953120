"""Numbers that several executors share: wide counts, scaled sums, rows of accumulators.

This package configures Numba. Only it imports Numba and LLVM.
"""

import os

from elsinore.numbers.cache_location import base_folder, cache_folder

# Numba reads `.numba_config.yaml` in the working directory, on import and whenever it compiles, and
# loads code from the cache directory that the file names. An environment variable overrides it.
os.environ["NUMBA_CACHE_DIR"] = str(base_folder(os.environ.get("NUMBA_CACHE_DIR", "")))

# Without these, the file could turn compilation off, or name classes that choose the cache.
os.environ.setdefault("NUMBA_DISABLE_JIT", "0")
os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "")

from numba import config

config.CACHE_DIR = str(cache_folder(os.environ["NUMBA_CACHE_DIR"]))
