"""The page and the notebook of the library do what they say."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "library.md"
NOTEBOOK = ROOT / "docs" / "library.ipynb"


def test_examples_of_the_page_give_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert (done.failed, done.attempted > 15) == (0, True)


def test_the_notebook_runs_and_its_last_cell_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code in one namespace, as a kernel runs it; what it shows can be shown."""
    monkeypatch.chdir(ROOT / "docs")
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = 0
    for number, cell in enumerate(cells):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not committed"
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec(compile("\n".join(lines), f"cell {number}", "exec"), names)
        try:
            found = eval(compile(last, f"cell {number}", "eval"), names)
        except SyntaxError:
            exec(compile(last, f"cell {number}", "exec"), names)
            continue
        shown += hasattr(found, "_repr_html_") and bool(found._repr_html_())
    assert shown >= 5
    assert names["total"] == 11
