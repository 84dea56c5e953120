"""Compile kernels: cached on disk, and without reference counts.

Kernels read and write arrays but create none, so they need no reference counts. With them, each
helper that receives a tuple of arrays counts all arrays up and down atomically. That takes 780 ns
per event for `A+` with COUNT(*), compared with 28 ns without.

Helpers are optimized once, and loops are not unrolled. By default, Numba runs every function
through all LLVM passes and emits its machine code, even if the function is only inlined into
others. The callers link and optimize it again, at each call level. LLVM also assumes that loops
are long, and unrolls each one four times. Most loops of greta run over one to three accumulators,
and most runs of lanes have tens.

With `NUMBA_DISABLE_JIT=1` kernels run as plain Python, for a debugger and for `make coverage`. The
results are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import binding as llvm
from numba import config, njit, types
from numba.core import typed_passes, untyped_passes
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic as numba_intrinsic

#: Numba's passes for constructs that no kernel contains: a tenth of the compile time.
_NEEDLESS = frozenset((
    untyped_passes.WithLifting, untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction, untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls, untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads, typed_passes.NopythonRewrites,
))  # fmt: skip


class Fragment(JITCodeLibrary):
    """The code of a helper before optimization, for the kernels that call it."""

    @property
    def codegen(self) -> Any:
        """Return this object, because Numba only calls `set_env` of it."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing: a fragment has no executable code and no environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: a fragment has no address, it only runs as a part of kernels."""
        self._ensure_finalized()
        return 0

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Finalize without linking; a kernel links each helper that it needs once."""
        self._raise_if_finalized()
        self._finalized = True


class Whole(JITCodeLibrary):
    """Code that contains the code of all its helpers."""

    def finalize(self) -> None:
        """Link the helpers, and the helpers that they call."""
        for library in (linked := self._linking_libraries):  # grows during the loop
            if isinstance(library, Fragment):
                linked += [other for other in library._linking_libraries if other not in linked]
                self._reload_init.update(library._reload_init)
        super().finalize()


class Lean(Whole):
    """A kernel whose loops become SIMD but are not unrolled."""

    simd, unrolled = True, False

    def _optimize_final_module(self) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_interleaving = options.loop_unrolling = self.unrolled
        options.loop_vectorization, options.slp_vectorization = self.simd, self.unrolled
        builder = llvm.PassBuilder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


class Once(Lean):
    """A kernel that runs through all LLVM passes once; Numba runs them three times."""

    unrolled = True

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout


class Brief(Lean):
    """A kernel whose loops are too short for SIMD."""

    simd = False


class _LeanPipeline(Compiler):
    """Compiles to one kind of library, without the needless passes."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        """Return Numba's pipeline without the needless passes."""
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = self.library(codegen, name)
        self.state.library.enable_object_caching()
        (full,) = super().define_pipelines()
        lean = PassManager(full.pipeline_name)
        for each, text in full.passes:
            if each not in _NEEDLESS:
                lean.add_pass(each, text)
        lean.finalize()
        return [lean]


def compiler_to(library: type[JITCodeLibrary]) -> type[Compiler]:
    """Return a compiler that produces a kind of library."""
    return type(f"{library.__name__}Compiler", (_LeanPipeline,), {"library": library})


class Helper(CPUDispatcher):
    """A function that is compiled once for signed integers of any width, and for constants.

    A Numba function is compiled again for each width, and for each constant argument.
    """

    def compile(self, sig: Any) -> Any:
        """Return the code for argument types; signed integers are widened to int64."""
        return super().compile(tuple(map(_widest, sig)))


def _widest(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


class QuickCache(FunctionCache):
    """Loads a compiled kernel without loading everything that Numba can compile.

    Numba fills its registries (for example with SciPy's linear algebra) before it reads the cache.
    That takes 0.6 s in each new process, and a compiled kernel does not need it. If a kernel is
    missing, the compiler fills the registries, and a message on stderr announces the compilation.
    """

    #: True if this process has printed the message, or must not print it.
    told = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature, ready to be called; None if there is none."""
        found = self._load_overload(sig, target_context)
        if found is None and not QuickCache.told:
            QuickCache.told = True
            text = "elsinore: compiling kernels, once on this machine (some 10 to 60 s)"
            print(text, file=sys.stderr, flush=True)
        return found

    def signatures(self, target_context: Any) -> list[Any]:
        """Return the signatures that the cache holds for the current source and this processor."""
        found, codegen = self._cache_file._load_index(), target_context.codegen()
        return [key[0] for key in found if key == self._index_key(key[0], codegen)]


_KERNELS: list[Any] = []
_BY_ADDRESS: list[Any] = []


def compiled_kernels() -> dict[str, set[str]]:
    """Return the argument types for which each kernel is compiled and loaded, by its name."""
    found = {
        f"{kernel.__module__}.{kernel.__name__}": {str(types) for types in kernel.signatures}
        for kernel in _KERNELS
    }
    for kernel in _BY_ADDRESS:
        name = f"{kernel._pyfunc.__module__}.{kernel._pyfunc.__name__}"
        found.setdefault(name, set()).add(str(kernel._sig))
    return found


def load_kernels() -> None:
    """Load the imported kernels that the cache holds, for processes that are forked from this one.

    It takes 0.8 s, as it would in each of these processes. Kernels that are called by address are
    loaded when they are first used.
    """
    for each in _KERNELS:
        for signature in each._cache.signatures(each.targetctx):
            each.compile(signature)


def kernel(function: Any, *, library: type[JITCodeLibrary] = Lean, nogil: bool = False) -> Any:
    """Compile a kernel that is called from Python.

    Args:
        function: plain Python that Numba can compile.
        library: kind of its code.
        nogil: whether the kernel releases Python's lock.
    """
    if config.DISABLE_JIT:
        return _like_compiled(function)
    options = {"pipeline_class": compiler_to(library), "nogil": nogil}
    compiled: Any = njit(cache=True, _nrt=False, no_cfunc_wrapper=True, **options)(function)
    compiled._cache = QuickCache(function)
    _KERNELS.append(compiled)
    return compiled


def _like_compiled(function: Any) -> Any:
    """Return a kernel as plain Python that, like compiled code, overflows without a warning."""
    return np.errstate(all="ignore")(function)


def by_address(function: Any, arguments: tuple[Any, ...], result: Any) -> Any:
    """Return the address of a kernel that other kernels call; compiled, or loaded from the cache.

    If compilation is disabled, the function itself takes the place of its address.

    Its library is `Once`: Hamlet's kernels run over blocks and many lanes, and took a quarter
    longer with `Lean`.
    """
    if config.DISABLE_JIT:
        return function
    compiled: Any = CFunc(function, (arguments, result), {}, {"_nrt": False}, compiler_to(Once))
    compiled._cache = QuickCache(function)
    compiled.compile()
    _BY_ADDRESS.append(compiled)  # keeps the code alive
    return int(compiled.address)


def helper(
    function: Any, *, library: type[JITCodeLibrary] = Fragment, forceinline: bool = True
) -> Any:
    """Compile a part of kernels that only kernels call.

    Args:
        function: plain Python that Numba can compile.
        library: kind of its code.
        forceinline: whether each call is inlined.
    """
    if config.DISABLE_JIT:
        return function
    options = {
        "nopython": True, "_nrt": False, "forceinline": forceinline,
        "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    }  # fmt: skip
    return Helper(function, targetoptions=options, pipeline_class=compiler_to(library))


def intrinsic(*, plain: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a function that generates LLVM code for its calls in kernels.

    Args:
        plain: a function with the same effect, which is called if compilation is disabled.
    """

    def decorate(generator: Callable[..., Any]) -> Any:
        return plain if config.DISABLE_JIT else numba_intrinsic(generator)

    return decorate


#: A kernel that threads can run in parallel: it releases Python's lock.
unlocked = partial(kernel, nogil=True)

#: A kernel of loops that are too short for SIMD.
brief = partial(kernel, library=Brief)

#: A small helper whose loops become SIMD only if they are optimized before inlining.
ripened = partial(helper, library=Whole)

#: A helper that is too long to be inlined at each call. The option is explicit, because the helper
#: would otherwise inherit it from an inlined caller.
outlined = partial(helper, forceinline=False)

#: A small helper, inlined at each call.
inlined = helper
