"""Load memory that a kernel will read soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from elsinore.numbers.compiled import intrinsic


@intrinsic(plain=lambda array, index: None)
def prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Begin to load `array[index]` (one dimension, contiguous) into the nearest cache.

    Numba has no function for it.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(target.data, [arguments[1]])
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = number(0), number(3), number(1)
        builder.call(call, [address, read, keep, data])
        return context.get_dummy_value()

    return types.void(array, index), generate
