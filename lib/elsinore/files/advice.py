"""Likely causes of errors in files, records and values, and what to write instead."""

from __future__ import annotations

import re
from json import JSONDecodeError

import pyarrow as pa

_AS_PARQUET = "convert it to Parquet, for example with pyarrow.parquet.write_table"
#: First bytes of files, their format, and advice if text is expected.
_KINDS = {
    b"\x1f\x8b": ("compressed with gzip", "rename it to end in .gz, as in events.csv.gz"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "rename it to end in .zst, as in events.csv.zst"),
    b"PK\x03\x04": ("a zip archive or an Excel file", "unpack it, or save it as CSV"),
    b"\xd0\xcf\x11\xe0": ("an Excel file", "save it as CSV"),
    b"PAR1": ("a Parquet file", "rename it to end in .parquet"),
    **dict.fromkeys((b"ARROW1", b"FEA1"), ("an Arrow (Feather) file", _AS_PARQUET)),
    b"ORC": ("an ORC file", _AS_PARQUET),
    b"Obj\x01": ("an Avro file", _AS_PARQUET),
    **dict.fromkeys(
        (b"\xff\xfe", b"\xfe\xff"), ("UTF-16 text", "convert it: iconv -f utf-16 -t utf-8")
    ),
}
#: How files begin, by the ends of their names.
MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".parquet": b"PAR1"}


#: Advice by file extension, for files that are not recognized by their first bytes.
_BY_NAME = {
    **dict.fromkeys((".tsv", ".tab"), "convert it to CSV, for example with `tr '\\t' ,`"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".orc", ".avro"), _AS_PARQUET),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), "save it as CSV"),
}


def odd_name(name: str) -> str | None:
    """Return advice for a file whose name has an unsupported format; else None."""
    return next((hint for end, hint in _BY_NAME.items() if name.lower().endswith(end)), None)


def odd_file(head: bytes, wanted: bytes = b"") -> tuple[str, str] | None:
    """Return the format of a file that does not begin as `wanted`, and advice; else None."""
    if re.fullmatch(rb"[\t\r\n -~]+", head):  # one that begins PAR1, too
        named = "rename it to end in .csv or .jsonl"
        return (f"is text, not {_KINDS[wanted][0]}", named) if wanted else None
    begins = next((begins for begins in _KINDS if head.startswith(begins)), wanted)
    return (f"is {_KINDS[begins][0]}", _KINDS[begins][1]) if begins != wanted else None


_PART = "the line is not one JSON object; write one event per line with `jq -c .`"
#: Problems of lines that are not JSON, by the line's beginning and the text around the error (NUL).
_JSON = {
    r'("[^"]*"\s*:|[}\]]).*': _PART,
    r'([^{\[}\]"\0]+,|"[^"\0]*"\s*,).*': "the line looks like CSV; rename the file to end in .csv",
    r".*\0(True|False|None)\b.*": "write true, false or null at column {}",
    r".*\0'.*": "write double quotes at column {}",
    r".*(,\s*\0\s*|\0,\s*)[}\]].*": "remove the ',' before column {}",
    r".*\}\s*\0\s*,\s*": "remove the ',' after the object at column {}",
    r".*\}\s*\0.*": "text follows the object at column {}; write one event per line with `jq -c .`",
    r".*\0\s*": _PART,
}


def _before_object(line: str, at: int) -> str | None:
    """Return the problem of a line with a prefix before its object; None without a prefix.

    `at` is the end of the JSON. A prefix that begins as JSON, or as a part of an object, does not
    count.
    """
    before = line[: max(line.find("{"), 0)]
    own = before.strip(" \t")
    if not own or at > len(before) or not line.rstrip().endswith("}"):
        return None
    if own[0] in '"[}]' or own[-1] == ",":  # JSON, or a row of CSV
        return None
    marks = {"\ufeff": "a byte order mark", "\x1e": "a record separator (RFC 7464)"}
    return marks.get(own, repr(before if len(before) <= 40 else before[:40] + "..."))


def json_problem(line: str, error: JSONDecodeError) -> str:
    """Return the problem of a line that is not JSON, and what to write."""
    at, written = error.pos, line.rstrip()
    if before := _before_object(line, at):
        return f"{before} precedes the object; write one JSON object per line"
    is_at_end = at >= len(written) or error.msg.startswith("Unterminated string")
    if written.lstrip().startswith("{") and is_at_end and written[-1] not in "{[,":
        return f"the line ends inside an object, at column {len(written)}"
    seen = f"{line[:200].lstrip()}\n{line[max(0, at - 20) : at]}\0{line[at : at + 20]}"
    found = (problem for sign, problem in _JSON.items() if re.fullmatch(sign, seen, re.DOTALL))
    return next(found, "invalid JSON at column {}").replace("{}", str(error.colno))


#: Hints for strings that are not of the expected type.
_VALUES = (
    ("long", r"[+-]?[0-9]+\.[0-9]*[1-9][0-9]*",
     "declare the attribute as double in the schema, and remove the quotes"),
    ("long|double", r"[+-]?[0-9]+(\.[0-9]+)?",
     "remove the quotes, or set quoted_numbers: true in the schema"),
    ("long|double", r"(?i)null|none|n/?a|\\n|-", "leave the cell empty (null in JSON)"),
    ("long|double", r".*\d\D.*|\D+\d.*", "write only the number, with a point, as in 1234.5"),
    ("boolean", ".*", "write true or false"),
    ("string", "an object", "read a field inside of it with a dot, as in field: user.id"),
    ("instant", r"[+-]?\d+(\.\d+)?", "write a timestamp, as in 2025-03-03T08:30:00Z"),
    ("instant", ".*", "write it as 2025-03-03T08:30:00Z or 2025-03-03T09:30:00+01:00"),
)  # fmt: skip


def how_to_write(text: str, kind: str) -> str:
    """Return what to write for a value of the wrong type, to append to a message."""
    rows = (row for row in _VALUES if kind in row[0].split("|"))
    found = (hint for _, sign, hint in rows if re.fullmatch(sign, text[:60], re.DOTALL))
    return next((f"; {hint}" for hint in found), "")


#: Arrow types, the names of their values, and how to convert them.
_COLUMNS = {
    "list|large_list|fixed_size_list": (
        "a list",
        "convert it to a string, or write an event per element",
    ),
    "struct|map": ("an object", "read a field inside of it with a dot, as in field: user.id"),
    "duration|.*interval": ("a duration", "convert it to a number, for example of seconds"),
    "binary|large_binary|fixed_size_binary": ("a byte string", "convert it to a string"),
    "time32|time64": ("a time of day", "join it with its date"),
    "timestamp|date": ("a timestamp", "declare it as a timestamp, or convert it to a number"),
    ".*period.*": ("a period", "convert it to a timestamp, in pandas with .dt.to_timestamp()"),
}


def odd_column(of: pa.DataType, noun: str) -> str:
    """Return the problem of an Arrow column that cannot have the expected type."""
    rows = (row for sign, row in _COLUMNS.items() if re.match(rf"({sign})(\W|\d|$)", str(of)))
    what, hint = next(rows, (f"a {of}", ""))
    return f"{what} is {noun}{hint and f'; {hint}'}"
