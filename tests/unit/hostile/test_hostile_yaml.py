"""YAML made to cost much: refused soon. What it may say at all is in `test_load_schema`."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import SchemaError
from tests.unit.hostile.measure import refused_cheaply

HEAD = "stream: s\ntime: {field: t, unit: us}\ntype: {field: k}\ntypes:\n"
LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)

COSTLY = {
    "a billion laughs": (LAUGHS, "2:10: aliases are not allowed"),
    "an alias of itself": ("a: &a [*a]\n", "1:8: aliases are not allowed"),
    "lists": ("[" * 99_999, "1:52: is nested deeper than 50"),
    "mappings": ("{a: " * 24_000, "is nested deeper than 50"),
    "indents": ("".join(" " * n + "a:\n" for n in range(400)), ""),
    "a long key": ("k" * 99_000 + ": 1\n", ""),
    "a long text": ("stream: " + "s" * 99_000 + "\n", "stream"),
    "a long limit": (HEAD + f"  A: {{x: {{type: long, min: {'y' * 90_000}}}}}\n", "is not a long"),
    "a long unit": (f"stream: s\ntime: {{field: t, unit: {'u' * 90_000}}}\n", "time.unit"),
    "a long number": (HEAD + f"  A: {{x: {{type: long, min: {'9' * 90_000}}}}}\n", ""),
    "a long unknown key": (HEAD + f"  A: {{x: {{type: long, {'z' * 90_000}: 1}}}}\n", ""),
    "a long tag": (f"stream: !!{'t' * 90_000} x\n", "tag"),
    "a long key that is twice": ("stream: {" + ("? " + "k" * 40_000 + "\n") * 2 + "}", ""),
    "many types of one fault": (HEAD + "".join(f"  A{n}: {{x: int}}\n" for n in range(1_000)), ""),
    "code": ("stream: !!python/object/new:os.system [true]\n", "1:9"),
    "a class": ("stream: !!python/name:os.system\n", "1:9"),
    "a date for a name": ("stream: 2013-01-01\n", "stream"),
    "bytes": ("stream: !!binary c3RyZWFt\n", "tag"),
    "NUL": ("stream: a\0b\n", "not valid YAML"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), COSTLY.values(), ids=COSTLY.keys())
def test_refused_cheaply_and_on_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    error = refused_cheaply(SchemaError, lambda: load_schema(path))
    assert message in str(error)
    assert error.exit_code == 2


def test_a_file_is_read_no_further_than_the_largest_schema(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no space
    error = refused_cheaply(SchemaError, lambda: load_schema(path))
    assert "is larger than 100000 bytes" in str(error)


@pytest.mark.parametrize(
    "name",
    [
        "../x", "/etc", "a/b", "a\\\\b", "s3a:x", "a.b", "a b", "a`b", "a;b", "a'b", "a--b", "$a",
        "\u0430", "\uff21", "a\u200b", "a\\n", "a\\0", "x" * 64,
    ],
)  # fmt: skip
def test_names_are_no_paths_and_no_sql(tmp_path: Path, name: str) -> None:
    path = tmp_path / "s.yaml"
    for text in (
        HEAD.replace("stream: s", f'stream: "{name}"') + "  A: {x: long}\n",
        HEAD + f'  "{name}": {{x: long}}\n',
        HEAD + f'  A: {{"{name}": long}}\n',
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SchemaError) as caught:
            load_schema(path)
        assert str(caught.value).isprintable()
