"""What faulty files, lines and values most likely are, and what to write instead."""

from __future__ import annotations

import re
from json import JSONDecodeError

import pyarrow as pa

_AS_PARQUET = "convert it to Parquet, as by pyarrow.parquet.write_table"
#: First bytes, what a file that has them is, and what to do with it where it should be text.
_KINDS = {
    b"\x1f\x8b": ("packed by gzip", "let its name end in .gz, as in events.csv.gz"),
    b"\x28\xb5\x2f\xfd": ("packed by zstd", "let its name end in .zst, as in events.csv.zst"),
    b"PK\x03\x04": ("a zip archive, as Excel's files are", "unpack it, or save it as CSV"),
    b"\xd0\xcf\x11\xe0": ("a file of Excel", "save it as CSV"),
    b"PAR1": ("a Parquet file", "let its name end in .parquet"),
    **dict.fromkeys((b"ARROW1", b"FEA1"), ("a file of Arrow, also called Feather", _AS_PARQUET)),
    b"ORC": ("an ORC file", _AS_PARQUET),
    b"Obj\x01": ("an Avro file", _AS_PARQUET),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), ("UTF-16 text", "files are UTF-8")),
}
#: How files begin, by the ends of their names.
MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".parquet": b"PAR1"}


#: Advice by file extension, for files that are not recognized by their first bytes.
_BY_NAME = {
    **dict.fromkeys(
        (".tsv", ".tab"), "write commas instead of tabs, as by `tr '\\t' ,`, into a .csv"
    ),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".orc", ".avro"), _AS_PARQUET),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), "save it as CSV"),
}


def odd_name(name: str) -> str | None:
    """Return advice for a file whose name has an unsupported format; else None."""
    return next((hint for end, hint in _BY_NAME.items() if name.lower().endswith(end)), None)


def odd_file(head: bytes, wanted: bytes = b"") -> tuple[str, str] | None:
    """What a file is that does not begin as `wanted`, and what to do; None if it may be that."""
    if re.fullmatch(rb"[\t\r\n -~]+", head):  # one that begins PAR1, too
        named = "let its name end in .csv or .jsonl"
        return (f"is text, not {_KINDS[wanted][0]}", named) if wanted else None
    begins = next((begins for begins in _KINDS if head.startswith(begins)), wanted)
    return (f"is {_KINDS[begins][0]}", _KINDS[begins][1]) if begins != wanted else None


_PART = "the line is not one JSON object; a line is one event (`jq -c .` makes them)"
#: What is no JSON, by how the line begins and, in a new one, what stands around the fault (a NUL).
_JSON = {
    r'("[^"]*"\s*:|[}\]]).*': _PART,
    r'([^{\[}\]"\0]+,|"[^"\0]*"\s*,).*': "the line looks like CSV; let the file's name end in .csv",
    r".*\0(True|False|None)\b.*": "JSON writes true, false and null, at column {}",
    r".*\0'.*": "JSON has double quotes at column {}",
    r".*(,\s*\0\s*|\0,\s*)[}\]].*": "a ',' too many before column {}",
    r".*\}\s*\0\s*,\s*": "a ',' follows the object at column {}; leave it out",
    r".*\}\s*\0.*": "more follows the object at column {}; a line is one event (`jq -c .`)",
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
    at = error.pos
    if before := _before_object(line, at):
        return f"{before} precedes the object; a line is one JSON object"
    seen = f"{line[:200].lstrip()}\n{line[max(0, at - 20) : at]}\0{line[at : at + 20]}"
    found = (told for sign, told in _JSON.items() if re.fullmatch(sign, seen, re.DOTALL))
    return next(found, "it is no JSON from column {} on").replace("{}", str(error.colno))


#: What to write in the place of texts, by the types that they should have.
_VALUES = (
    ("long|double", r"[+-]?[0-9]+(\.[0-9]+)?",
     "it is in quotes; quoted_numbers: true in the schema allows that"),
    ("long|double", r"(?i)null|none|n/?a|\\n|-", "what is missing is an empty cell (null in JSON)"),
    ("long|double", r".*\d\D.*|\D+\d.*", "a number stands alone and has a point, as in 1234.5"),
    ("boolean", ".*", "it is true or false"),
    ("string", "an object", "field: a.b reads what is in it, as in field: user.id"),
    ("instant", r"[+-]?\d+(\.\d+)?", "an attribute has no unit: write it as 2025-03-03T08:30:00Z"),
    ("instant", ".*", "as in 2025-03-03T08:30:00Z or 2025-03-03T09:30:00+01:00"),
)  # fmt: skip


def how_to_write(text: str, kind: str) -> str:
    """What to write for a value that is none of its type, to be said after a fault."""
    rows = (row for row in _VALUES if kind in row[0].split("|"))
    found = (hint for _, sign, hint in rows if re.fullmatch(sign, text[:60], re.DOTALL))
    return next((f"; {hint}" for hint in found), "")


#: Arrow's types, what people call their values, and what to make of these.
_COLUMNS = {
    "list|large_list|fixed_size_list": ("a list", "make a text of it, or an event of each part"),
    "struct|map": ("an object", "field: a.b reads what is in it"),
    "duration|.*interval": ("a length of time", "make a number of it, as of seconds"),
    "binary|large_binary|fixed_size_binary": ("a piece of bytes", "make a text of it"),
    "time32|time64": ("a time of day", "join it with its date"),
    "timestamp|date": ("a time", "declare a timestamp, or make a number of it"),
    ".*period.*": ("a period", "make a time of it, in pandas by .dt.to_timestamp()"),
}


def odd_column(of: pa.DataType, noun: str) -> str:
    """What to say of a column of Arrow's that can be no such thing."""
    told = (row for sign, row in _COLUMNS.items() if re.match(rf"({sign})(\W|\d|$)", str(of)))
    what, hint = next(told, (f"a {of}", ""))
    return f"{what} is {noun}{hint and f'; {hint}'}"
