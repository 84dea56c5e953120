"""How every kernel is compiled: cached on disk, and without counting references.

Kernels take arrays and write to arrays; they make none, so that nothing in them needs to be kept
alive. With reference counting each helper that gets a tuple of arrays counts all of them up and
down, atomically: 780 ns an event for `A+` with COUNT(*), against 28 ns without.

Helpers are optimised once, and loops are not written out several times. Numba brings every function
through all of LLVM, and makes machine code of it, also of those that nobody calls but what they are
inlined into. There they are optimised again, at every level of calls. And LLVM takes each loop for
a long one, worth four versions of it unrolled; most of greta's run over one to three carriers, and
most lanes are tens.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from llvmlite import binding as llvm
from numba import config, njit
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class Fragment(JITCodeLibrary):
    """The code of a helper as it was written, for the kernels that call it to make use of."""

    @property
    def codegen(self) -> Any:
        """Itself: what runs a library asks it to `set_env`."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Nothing: no code, no environment of it."""

    def get_pointer_to_function(self, name: str) -> int:
        """None: it runs as a part of others."""
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class Lean(JITCodeLibrary):
    """A kernel whose loops become SIMD, but no loop is written out several times."""

    simd, unrolled = True, False

    def _optimize_final_module(self) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_interleaving = options.loop_unrolling = self.unrolled
        options.loop_vectorization, options.slp_vectorization = self.simd, self.unrolled
        builder = llvm.PassBuilder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class Once(Lean):
    """A kernel that is brought through all of LLVM, but once: Numba does so three times."""

    unrolled = True

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout


class Brief(Lean):
    """A kernel whose loops are too short for SIMD."""

    simd = False


class FragmentCompiler(Compiler):
    """Compiles to a `Fragment`."""

    library: type[JITCodeLibrary] = Fragment

    def define_pipelines(self) -> Any:
        """Numba's, into that library."""
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = self.library(codegen, name)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class LeanCompiler(FragmentCompiler):
    """Compiles to a `Lean` kernel."""

    library = Lean


class OnceCompiler(FragmentCompiler):
    """Compiles to a `Once` kernel."""

    library = Once


class BriefCompiler(FragmentCompiler):
    """Compiles to a `Brief` kernel."""

    library = Brief


class QuickCache(FunctionCache):
    """Loads a compiled kernel without first loading all that Numba can compile.

    Numba fills its registries (with SciPy's linear algebra among them) before it looks into the
    cache: 0.6 s in each new process, for what linking a finished kernel has no use for. When a
    kernel is not found and must be compiled, the compiler fills them itself, and people are told.
    """

    #: Whether they were told in this process, or need not be.
    told = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature, ready to be called; None if there is none."""
        found = self._load_overload(sig, target_context)
        if found is None and not QuickCache.told:
            QuickCache.told = True
            text = "elsinore: compiling kernels, once on this machine (some 10 to 60 s)"
            print(text, file=sys.stderr, flush=True)
        return found


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

#: A helper that is too long to be compiled into each place that calls it. What is not said here it
#: takes over from its callers: it would be compiled into each place that an inlined one calls it.
outlined = partial(
    njit, _nrt=False, forceinline=False, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    pipeline_class=FragmentCompiler,
)  # fmt: skip

#: A small helper, compiled into each place that calls it.
inlined = partial(outlined, forceinline=True)
