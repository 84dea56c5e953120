"""How every kernel is compiled: cached on disk, and without counting references.

Kernels take arrays and write to arrays; they make none, so that nothing in them needs to be kept
alive. With reference counting each helper that gets a tuple of arrays counts all of them up and
down, atomically: 780 ns an event for `A+` with COUNT(*), against 28 ns without.

Helpers are optimised once, and loops are not written out several times. Numba brings every function
through all of LLVM, and makes machine code of it, also of those that nobody calls but what they are
inlined into. There they are linked and optimised again, at every level of calls. And LLVM takes
each loop for a long one, worth four versions of it unrolled; most of greta's run over one to three
carriers, and most lanes are tens.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from llvmlite import binding as llvm
from numba import config, njit, types
from numba.core import typed_passes, untyped_passes
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher

#: Passes of Numba's for what no kernel contains, a tenth of the time that compiling takes.
_NEEDLESS = frozenset((
    untyped_passes.WithLifting, untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction, untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls, untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads, typed_passes.NopythonRewrites,
))  # fmt: skip


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

    def finalize(self) -> None:
        """Nothing is linked in: a kernel links what its helpers call, each once."""
        self._raise_if_finalized()
        self._finalized = True


class Whole(JITCodeLibrary):
    """Code with that of all its helpers in it."""

    def finalize(self) -> None:
        """Links in the helpers, and theirs."""
        for library in (linked := self._linking_libraries):  # grows on the way
            if isinstance(library, Fragment):
                linked += [other for other in library._linking_libraries if other not in linked]
                self._reload_init.update(library._reload_init)
        super().finalize()


class Lean(Whole):
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


class _LeanPipeline(Compiler):
    """Compiles to a kind of library, without the needless passes."""

    library: type[JITCodeLibrary]

    def define_pipelines(self) -> Any:
        """Numba's, but for these."""
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
    """A compiler to that kind of library."""
    return type(f"{library.__name__}Compiler", (_LeanPipeline,), {"library": library})


class Helper(CPUDispatcher):
    """A function that is compiled once for signed integers of any width, and for constants.

    Numba's own are compiled anew for each width, and each constant that somebody calls them with.
    """

    def compile(self, sig: Any) -> Any:
        """The code for some types of arguments."""
        return super().compile(tuple(map(_widest, sig)))


def _widest(kind: Any) -> Any:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


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

    def signatures(self, target_context: Any) -> list[Any]:
        """What there is compiled code for, of the present source and this processor."""
        found, codegen = self._cache_file._load_index(), target_context.codegen()
        return [key[0] for key in found if key == self._index_key(key[0], codegen)]


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


def load_kernels() -> None:
    """Loads the imported kernels that the cache holds, for processes to be forked from this one.

    It takes 0.8 s, as it would in each of these. Kernels by address are loaded where they are used.
    """
    for each in _KERNELS:
        for signature in each._cache.signatures(each.targetctx):
            each.compile(signature)


def kernel(function: Any, *, library: type[JITCodeLibrary] = Lean, nogil: bool = False) -> Any:
    """A kernel of its own, called from Python."""
    options = {"pipeline_class": compiler_to(library), "nogil": nogil}
    compiled: Any = njit(cache=True, _nrt=False, no_cfunc_wrapper=True, **options)(function)
    if not config.DISABLE_JIT:  # then it is the function itself
        compiled._cache = QuickCache(function)
        _KERNELS.append(compiled)
    return compiled


def by_address(function: Any, arguments: tuple[Any, ...], result: Any) -> int:
    """The address of a kernel that other kernels call, compiled or read from the cache.

    Not a lean one: Hamlet's run over blocks and many lanes, and took a quarter longer so.
    """
    compiled: Any = CFunc(function, (arguments, result), {}, {"_nrt": False}, compiler_to(Once))
    compiled._cache = QuickCache(function)
    compiled.compile()
    _BY_ADDRESS.append(compiled)  # which keeps its code
    return int(compiled.address)


def helper(
    function: Any, *, library: type[JITCodeLibrary] = Fragment, forceinline: bool = True
) -> Any:
    """A part of kernels, called by them alone."""
    if config.DISABLE_JIT:
        return function
    options = {
        "nopython": True, "_nrt": False, "forceinline": forceinline,
        "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    }  # fmt: skip
    return Helper(function, targetoptions=options, pipeline_class=compiler_to(library))


#: A kernel that threads may run side by side: it lets go of Python's lock.
unlocked = partial(kernel, nogil=True)

#: A kernel of loops that are too short for SIMD.
brief = partial(kernel, library=Brief)

#: A small helper of loops that become SIMD only if they are optimised before they are inlined.
ripened = partial(helper, library=Whole)

#: A helper that is too long to be compiled into each place that calls it. What is not said here it
#: takes over from its callers: it would be compiled into each place that an inlined one calls it.
outlined = partial(helper, forceinline=False)

#: A small helper, compiled into each place that calls it.
inlined = helper
