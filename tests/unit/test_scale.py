"""The benchmark of scale: what it expects, what it runs, and the page that it writes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import pages
from benchmarks.scale import cell
from benchmarks.scale.cell import Cell, expected_rows, run_part
from benchmarks.scale.cluster import Slice
from benchmarks.scale.page import Found, write_page

CELLS = [
    Cell(1_000_000, 1, 1, 0.5, 0.4, 240.0, 100),
    Cell(1_000_000, 1, 2, 0.25, 0.5, 239.0, 100),
    Cell(10_000_000, 1, 1, 5.0, 4.0, 241.0, 1_000),
]


def test_rows_by_hand() -> None:
    """20 queries reach 51 windows each; the next has the threshold 1: all but windows 0 and 50."""
    assert expected_rows(0, 51, 21) == 20 * 51 + 49
    assert expected_rows(0, 25, 21) + expected_rows(25, 51, 21) == expected_rows(0, 51, 21)


def test_parts_make_the_rows_of_the_whole() -> None:
    """Each run holds its counts and their number against closed forms itself."""
    whole = run_part(30_000, 42, 0, 1)["rows"]
    assert whole == sum(run_part(30_000, 42, part, 2)["rows"] for part in range(2))
    assert whole == 20 * 3 + 20 * 2 + 2  # thresholds 0, 1 and 2, windows 0, 1 and 2


def test_a_wrong_count_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell, "BURST", 29)
    events = cell._events
    monkeypatch.setattr(cell, "_events", lambda *given: _with_burst(events, 30, *given))
    with pytest.raises(AssertionError):
        run_part(10_000, 1, 0, 1)


def _with_burst(events, burst, *given):  # type: ignore[no-untyped-def]
    expected, cell.BURST = cell.BURST, burst
    try:
        return events(*given)
    finally:
        cell.BURST = expected


@pytest.mark.slow
def test_the_page_keeps_the_text_around_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "internals").mkdir()
    (tmp_path / "internals" / "scale.md").write_text(
        f"before\n{pages._BEGIN}\nold\n{pages._END}\nafter\n"
    )
    slices = [Slice("local", 100, 7, 2_700, 1.5, 300.0, "ab" * 32)]
    write_page(Found(CELLS, slices, "a machine"), tmp_path)
    text = (tmp_path / "internals" / "scale.md").read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| 1 | 1,000,000 | 2 | 0.25 | 4 | 0.5 | 2 | 239 | 100 |" in text
    assert "| local | 100 | 7 | 1.5 | 300 | abababababab |" in text
    # 10^12 / 86,400 s are 11.57 million a second, at 2.5 million a second and core; three times
    # that at the peak; 27 bytes an event.
    assert "| 1 | 2,500,000 | 4.63 | 13.9 |" in text
    assert "27 bytes in `events`: 27 TB a day." in text
    picture = (tmp_path / "pictures" / "scale.svg").read_text()
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
