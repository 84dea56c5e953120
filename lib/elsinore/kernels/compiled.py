"""How every kernel is compiled: cached on disk, and without counting references.

Kernels take arrays and write to arrays; they make none, so that nothing in them needs to be kept
alive. With reference counting each helper that gets a tuple of arrays counts all of them up and
down, atomically: 780 ns an event for `A+` with COUNT(*), against 28 ns without.
"""

from __future__ import annotations

from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache


class QuickCache(FunctionCache):
    """Loads a compiled kernel without first loading all that Numba can compile.

    Numba fills its registries (with SciPy's linear algebra among them) before it looks into the
    cache: 0.6 s in each new process, for what linking a finished kernel has no use for. When a
    kernel is not found and must be compiled, the compiler fills them itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, ready to be called; None if there is none."""
        return self._load_overload(sig, target_context)


def kernel(function: Any) -> Any:
    """A kernel of its own, called from Python or from few places."""
    compiled: Any = njit(cache=True, _nrt=False, no_cfunc_wrapper=True)(function)
    if not config.DISABLE_JIT:  # then it is the function itself
        compiled._cache = QuickCache(function)
    return compiled


#: A kernel that threads may run side by side: it lets go of Python's lock.
unlocked = njit(cache=True, nogil=True, _nrt=False, no_cfunc_wrapper=True)

#: A small helper, compiled into each place that calls it.
inlined = njit(
    cache=True, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

#: A helper that is too long to be compiled into each place that calls it.
outlined = njit(cache=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
