"""How LLVM is spent: helpers are optimised once, and loops are not written out several times.

Numba brings every function through all of LLVM, and makes machine code of it, also of those that
nobody calls but what they are inlined into. There they are optimised again, at every level of
calls. And LLVM takes each loop for a long one, worth four versions of it unrolled; most of greta's
run over one to three carriers, and most lanes are tens.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
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
