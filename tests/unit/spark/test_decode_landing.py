"""Lines of a landing: how the workers decode them, without a session."""

from __future__ import annotations

import pyarrow as pa

from elsinore.catalog.load_schema import read_schema
from elsinore.lake.landing_zone import _decode

SCHEMA = read_schema("""\
stream: s
time: {field: p.ts, unit: ms}
type: {field: p.type}
other_types: ignore
quoted_numbers: true
types: {A: {n: {type: long, field: p.count}}}
""")


def test_ignored_types_are_quarantined_as_such_and_envelopes_are_read() -> None:
    lines = [
        '{"p": {"ts": "1740996000000", "type": "A", "count": "7"}}',
        '{"p": {"type": "B"}}',
        '{"p": {"ts": 1740996000000}}',
        "nothing",
    ]
    columns = {"file": ["f"] * 4, "position": [3, 5, 7, 9], "line": lines}
    batch = _decode(pa.table(columns), pa.array(["2025-03-03T10"] * 4), SCHEMA)
    assert batch["position"].to_pylist() == [3, 5, 7, 9]
    assert batch["line"].to_pylist() == lines
    assert batch["n"].to_pylist() == [7, None, None, None]
    codes = [None, "ignored_type", "missing_type", "bad_json"]
    assert batch["reason_code"].to_pylist() == codes
    assert batch["reason"][1].as_py() == "the schema does not list its type"
