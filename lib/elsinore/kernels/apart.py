"""Functions that are compiled by themselves, and called by their address from other kernels.

What Numba compiles contains all that it calls, which is optimised again at every level of calls.
A function that is called by address is compiled once. Its arguments are integers and borrowed
tuples (`borrowed`), its result is an integer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from elsinore.kernels.compiled import by_address

#: The type of integer arguments.
INTEGER = types.int64


@cache
def address_of(function: Callable[..., int], *kinds: types.Type) -> int:
    """The address of a function, compiled for arguments of the given types or read from the cache.

    Args:
        function: plain Python that Numba can compile.
        kinds: types of its arguments.
    """
    return by_address(function, kinds, INTEGER)


@intrinsic
def call(_typing: Any, address: types.Type, arguments: types.Type) -> Any:
    """Call the function at an address with a tuple of arguments."""
    kinds = tuple(arguments)
    wanted = [INTEGER if isinstance(kind, types.Integer) else kind for kind in kinds]

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        pointer, packed = args
        values = [
            context.cast(builder, builder.extract_value(packed, n), kinds[n], kind)
            for n, kind in enumerate(wanted)
        ]
        parts = [context.get_value_type(kind) for kind in wanted]
        function = ir.FunctionType(context.get_value_type(INTEGER), parts)
        return builder.call(builder.inttoptr(pointer, function.as_pointer()), values)

    return INTEGER(types.int64, arguments), generate
