"""Number formats that several executors share, and the compilation of kernels.

| module | content |
|---|---|
| `wide` | integers of L 64-bit limbs, and doubles with an exponent |
| `rows` | rows of accumulators, at every precision level: start, add, weigh |
| `arithmetic` | operators and functions of expressions, with SQL's rules for NULL |
| `decimals` | many integers as decimal text |
| `compiled` | decorators for kernels and their helpers |
| `borrowed`, `prefetch` | tuples by reference, calls by address, and loads ahead of use |
| `cache_location` | the directory of compiled code |

Formats of one executor are in its folder: `executors.linear.kernels.digits` and `planes`,
`executors.graph.kernels.words`. A new kind of accumulator needs its operations in `rows`.

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
