"""Pass tuples of arrays by reference, and call functions by address, in compiled kernels.

Numba passes a tuple of arrays by value: each number of each array is an argument. A call in the
Hamlet kernels had 400 arguments, and a burst of one event took 4 microseconds. By reference it
takes a tenth of that. A kernel that is called from Python borrows its tuples once. The functions
that it calls read a field when they need it. A field that is a tuple is a reference, too.

Numba compiles called functions into their caller and optimizes them again at each call level. A
function that is called by address is compiled once. Its arguments are integers and borrowed
tuples, and its result is an integer.

If compilation is disabled, a borrowed tuple is the tuple itself, and an address is the function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from llvmlite import ir
from numba import _dispatcher, config, typeof
from numba.core import cgutils, types
from numba.core.extending import models, register_model
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import lower_getattr_generic

from elsinore.numbers.compiled import by_address, intrinsic

_NAMED_TUPLE: Any = types.BaseNamedTuple  # type: ignore[attr-defined]


class Borrowed(types.Type):
    """A reference to a named tuple, valid while the kernel that borrowed it runs."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype: Any = dtype
        super().__init__(name=f"Borrowed({dtype})")


_TYPES: dict[bytes, Borrowed] = {}


def borrowed_types(*tuples: NamedTuple) -> list[Borrowed]:
    """Return the types of references to named tuples of arrays.

    They are cached by fingerprint, because Numba needs half a millisecond to find the type of 80
    arrays.
    """
    if config.DISABLE_JIT:  # nothing is compiled for them
        return [Borrowed(types.void)] * len(tuples)
    found = []
    for each in tuples:
        mark = _dispatcher.compute_fingerprint(each)
        if mark not in _TYPES:
            _TYPES[mark] = Borrowed(typeof(each))
        found.append(_TYPES[mark])
    return found


register_model(Borrowed)(models.PointerModel)


@infer_getattr
class _Fields(AttributeTemplate):
    key = Borrowed

    def generic_resolve(self, reference: Borrowed, name: str) -> types.Type | None:
        if name not in reference.dtype.fields:
            return None
        return _field_type(reference.dtype, name)


def _field_type(dtype: Any, name: str) -> types.Type:
    field = dtype.types[dtype.fields.index(name)]
    return Borrowed(field) if isinstance(field, _NAMED_TUPLE) else field


@lower_getattr_generic(Borrowed)
def _read_field(context: Any, builder: ir.IRBuilder, typ: Borrowed, value: Any, name: str) -> Any:
    place = typ.dtype.fields.index(name)
    pointer = cgutils.gep_inbounds(builder, value, 0, place)
    if isinstance(_field_type(typ.dtype, name), Borrowed):
        return pointer
    model = context.data_model_manager[typ.dtype.types[place]]
    return model.load_from_data_pointer(builder, pointer)


@intrinsic(plain=lambda value: value)
def borrow(_typing: Any, value: types.Type) -> Any:
    """Return a reference to a named tuple; its fields are read as in the tuple."""

    def store(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        manager = context.data_model_manager
        place = cgutils.alloca_once(builder, manager[signature.args[0]].get_data_type())
        _store(manager, builder, signature.args[0], args[0], place)
        return place

    return Borrowed(value)(value), store


def _store(manager: Any, builder: ir.IRBuilder, kind: Any, value: Any, place: Any) -> None:
    """Store a tuple field by field, because the compiler does not split one store of all fields."""
    for number, field in enumerate(kind.types):
        part = builder.extract_value(value, number)
        target = cgutils.gep_inbounds(builder, place, 0, number)
        if isinstance(field, _NAMED_TUPLE):
            _store(manager, builder, field, part, target)
        else:
            builder.store(manager[field].as_data(builder, part), target)


# ---- functions that are compiled separately and called by address

#: The type of integer arguments and of results.
INTEGER = types.int64


@cache
def address_of(function: Callable[..., int], *kinds: types.Type) -> Any:
    """Return the address of a function that is compiled for given types of arguments.

    The code is compiled, or loaded from the cache (`compiled.by_address`).

    Args:
        function: plain Python that Numba can compile.
        kinds: types of its arguments.
    """
    return by_address(function, kinds, INTEGER)


@intrinsic(plain=lambda function, arguments: function(*arguments))
def call(_typing: Any, address: types.Type, arguments: Any) -> Any:
    """Call the function at an address with a tuple of arguments; return its integer."""
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
