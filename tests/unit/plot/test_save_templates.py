"""Pictures as files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from elsinore.errors import ParameterError
from elsinore.plot.save_templates import save_templates
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({name: {"v": "long"} for name in "ABN"})
QUERY = bound_query(
    "RETURN COUNT(*) PATTERN SEQ(A+, NOT N, B) WHERE A.v < NEXT(A).v WITHIN 5", SCHEMA
)


def test_svg_holds_every_text_and_is_the_same_each_time(tmp_path: Path) -> None:
    save_templates([QUERY], tmp_path / "a.svg")
    save_templates([QUERY], tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    for written in ("q", "SEQ(A+, NOT N, B)", "A.v &lt; NEXT(A).v", "NOT 1", "NOT 1: N"):
        assert f"<!-- {written} -->" in text


def test_png_is_one_whatever_the_case_of_its_ending(tmp_path: Path) -> None:
    save_templates([QUERY, QUERY], tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.svg.txt"])
def test_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=r"is no picture \(let it end in .svg or .png\)"):
        save_templates([QUERY], tmp_path / name)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"cannot write .*: No such file"):
        save_templates([QUERY], tmp_path / "none" / "a.svg")


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    program = "import sys, elsinore.plot.save_templates; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]
