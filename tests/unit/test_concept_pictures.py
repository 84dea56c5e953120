"""The committed pictures of the concept pages are those that the script draws."""

from __future__ import annotations

import json
import re
from html import escape
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.papers.draw import OTHERS, OURS, draw_overview
from benchmarks.papers.figures import EXPERIMENTS, Point
from benchmarks.papers.measure import MEMORY, Found
from benchmarks.papers.online import ONLINE
from benchmarks.pictures.draw import PICTURES, falling, speeds
from benchmarks.pictures.svg import WIDTH
from elsinore.cli.main import run_command

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
#: Below this many pixels at a width of 390, text cannot be read on a phone.
LEGIBLE = 12


@pytest.mark.parametrize("name", PICTURES)
def test_the_committed_picture_is_current(name: str) -> None:
    committed = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert committed == PICTURES[name]().written(), "run python -m benchmarks.pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_text_is_legible_on_a_phone_and_lies_inside(name: str) -> None:
    picture = ElementTree.fromstring(PICTURES[name]().written())
    texts = list(picture.iter("{http://www.w3.org/2000/svg}text"))
    assert texts
    for text in texts:
        size = float(text.get("font-size", "0"))
        assert size * 390 / WIDTH >= LEGIBLE
        assert 0 < float(text.get("y", "0")) < float(picture.get("height", "0"))


def test_the_trends_are_those_that_the_query_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "docs" / "example")
    assert (
        run_command(["run", "rides.sase", "--schema", "rides.yaml", "--input", "rides.jsonl"]) == 0
    )
    row = json.loads(capsys.readouterr().out)
    assert row["values"]["COUNT(*)"] == len(falling(speeds()))
    drawn = PICTURES["trends"]().written()
    labels = re.findall(r">(\d(?:-\d)*)</text>", drawn)
    assert len([label for label in labels if "-" in label]) == len(falling(speeds())) - 4


def test_falling_lists_every_subset_that_falls() -> None:
    slow = [value for value in speeds() if value < 10]
    every = [c for n in range(1, len(slow) + 1) for c in combinations(slow, n)]
    assert falling(speeds()) == [c for c in every if sorted(set(c), reverse=True) == list(c)]


def test_the_overview_labels_what_is_ours_and_what_was_re_implemented(tmp_path: Path) -> None:
    experiment = next(each for each in EXPERIMENTS if each.name == "every-system")
    found = {name: Found(seconds=[1.0], megabytes=[1.0]) for name in experiment.systems}
    rest = {name: found[name] for name in experiment.systems if name in ONLINE}
    lost = dict.fromkeys(set(found) - set(rest), MEMORY)
    points = [Point(experiment.values[0], 1, found), Point(experiment.values[1], 1, rest, lost)]
    draw_overview(experiment, points, tmp_path / "overview.svg", 4)
    drawn = (tmp_path / "overview.svg").read_text(encoding="utf-8")
    committed = (FOLDER / "papers-overview.svg").read_text(encoding="utf-8")
    for label in (OURS, OTHERS, *experiment.systems):
        assert f">{escape(label, quote=False)}</text>" in drawn
        assert f">{escape(label, quote=False)}</text>" in committed
