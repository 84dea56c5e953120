"""How every kernel is compiled: cached on disk, and without counting references.

Kernels take arrays and write to arrays; they make none, so that nothing in them needs to be kept
alive. With reference counting each helper that gets a tuple of arrays counts all of them up and
down, atomically: 780 ns an event for `A+` with COUNT(*), against 28 ns without.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc

from elsinore.kernels.fragments import BriefCompiler, FragmentCompiler, LeanCompiler, OnceCompiler


class QuickCache(FunctionCache):
    """Loads a compiled kernel without first loading all that Numba can compile.

    Numba fills its registries (with SciPy's linear algebra among them) before it looks into the
    cache: 0.6 s in each new process, for what linking a finished kernel has no use for. When a
    kernel is not found and must be compiled, the compiler fills them itself.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, ready to be called; None if there is none."""
        return self._load_overload(sig, target_context)


_KERNELS: list[Any] = []
_BY_ADDRESS: list[Any] = []


def compiled_kernels() -> dict[str, set[str]]:
    """The types of arguments for which each kernel is compiled and loaded, by its name."""
    found = {
        f"{kernel.__module__}.{kernel.__name__}": {str(types) for types in kernel.signatures}
        for kernel in _KERNELS
    }
    for kernel in _BY_ADDRESS:
        name = f"{kernel._pyfunc.__module__}.{kernel._pyfunc.__name__}"
        found.setdefault(name, set()).add(str(kernel._sig))
    return found


def kernel(function: Any, **options: Any) -> Any:
    """A kernel of its own, called from Python."""
    options = {"pipeline_class": LeanCompiler, **options}
    compiled: Any = njit(cache=True, _nrt=False, no_cfunc_wrapper=True, **options)(function)
    if not config.DISABLE_JIT:  # then it is the function itself
        compiled._cache = QuickCache(function)
        _KERNELS.append(compiled)
    return compiled


def by_address(function: Any, arguments: tuple[Any, ...], result: Any) -> int:
    """The address of a kernel that other kernels call, compiled or read from the cache.

    Not a lean one: Hamlet's run over blocks and many lanes, and took a quarter longer so.
    """
    compiled: Any = CFunc(function, (arguments, result), {}, {"_nrt": False}, OnceCompiler)
    compiled._cache = QuickCache(function)
    compiled.compile()
    _BY_ADDRESS.append(compiled)  # which keeps its code
    return int(compiled.address)


#: A kernel that threads may run side by side: it lets go of Python's lock.
unlocked = partial(kernel, nogil=True)

#: A kernel of loops that are too short for SIMD.
brief = partial(kernel, pipeline_class=BriefCompiler)

#: A small helper of loops that become SIMD only if they are optimised before they are inlined.
ripened = partial(
    njit, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
)

#: A helper that is too long to be compiled into each place that calls it.
outlined = partial(
    njit, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    pipeline_class=FragmentCompiler,
)  # fmt: skip

#: A small helper, compiled into each place that calls it.
inlined = partial(outlined, forceinline=True)
