"""Convert Arrow extension types to the plain types that values are read from."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

#: The columns of the 32 hexadecimal digits of a UUID in its text, 8-4-4-4-12.
_DIGITS = [at for at in range(36) if at not in (8, 13, 18, 23)]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def without_extensions(table: pa.Table) -> pa.Table:
    """Return a table whose extension types are plain, also inside structs, lists and dictionaries.

    UUIDs become text such as `550e8400-e29b-41d4-a716-446655440000`. Values that are stored as text
    or bytes, such as JSON, become strings or bytes. Other types stay: the number that pandas stores
    for a period is not a value.
    """
    for index, field in enumerate(table.schema):
        if _has_extension(field.type):
            kind = plain_type(field.type)
            chunks = [_plain(chunk) for chunk in table[index].chunks]
            table = table.set_column(index, field.name, pa.chunked_array(chunks, kind))
    return table


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that `without_extensions` gives to a column of a type."""
    return _plain(pa.nulls(0, kind)).type if _has_extension(kind) else kind


def _has_extension(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return isinstance(kind, pa.UuidType | pa.Bool8Type) or _is_text(kind.storage_type)
    if types.is_dictionary(kind):
        return _has_extension(kind.value_type)
    return any(_has_extension(kind.field(index).type) for index in range(kind.num_fields))


def _is_text(kind: pa.DataType) -> bool:
    texts = types.is_string, types.is_large_string, types.is_string_view
    return any(test(kind) for test in (*texts, types.is_binary, types.is_large_binary))


def _plain(array: pa.Array) -> pa.Array:
    kind = array.type
    if not _has_extension(kind):
        return array
    if isinstance(kind, pa.UuidType):
        return _uuid_texts(array.storage)
    if isinstance(kind, pa.Bool8Type):
        return array.storage.cast(pa.bool_())
    if isinstance(kind, pa.BaseExtensionType):
        return array.storage
    if types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(array.indices, _plain(array.dictionary))
    if types.is_struct(kind):
        fields = [_plain(field) for field in array.flatten()]
        return pa.StructArray.from_arrays(fields, kind.names, mask=array.is_null())
    if types.is_list(kind) or types.is_large_list(kind):
        first = array.offsets[0]  # of a slice; `from_arrays` takes none with a mask
        offsets, values = pc.subtract(array.offsets, first), array.values[first.as_py() :]
        return type(array).from_arrays(offsets, _plain(values), mask=array.is_null())
    # No attribute can be read from maps and other lists.
    texts = [None if value is None else str(value) for value in array.to_pylist()]
    return pa.array(texts, pa.string())


def _uuid_texts(stored: pa.Array) -> pa.Array:
    """Return the texts of UUIDs that are stored as 16 bytes each."""
    count = len(stored)
    raw = np.frombuffer(stored.buffers()[1] or b"", np.uint8)
    raw = raw[stored.offset * 16 : (stored.offset + count) * 16].reshape(count, 16)
    texts = np.full((count, 36), ord("-"), np.uint8)
    texts[:, _DIGITS] = _HEX[np.stack((raw >> 4, raw & 15), axis=2).reshape(count, 32)]
    offsets = np.arange(count + 1, dtype=np.int32) * 36
    buffers = pa.py_buffer(offsets), pa.py_buffer(texts.tobytes())
    whole = pa.StringArray.from_buffers(count, *buffers)
    return pc.if_else(stored.is_valid(), whole, pa.scalar(None, pa.string()))
