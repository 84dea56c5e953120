"""The kept results as a picture: how each figure stands to its bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import bar_text
from benchmarks.claim import number
from benchmarks.results import Result

_MET, _SHORT = "#0072b2", "#d55e00"
_ROW, _WIDTH = 0.34, 12.5
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def draw_results(results: Sequence[Result], path: Path) -> None:
    """Draw a bar for each result that has one, from where it is claimed to where it is."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawn = [result for result in results if result.headroom is not None]
    # a fixed salt and no date: the same results give the same file
    with rc_context({"svg.hashsalt": "elsinore", "font.size": 9}):
        figure = Figure(figsize=(_WIDTH, 1.2 + _ROW * max(len(drawn), 1)), layout="constrained")
        axes: Any = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_yticks(range(len(drawn)), [result.claim for result in drawn])
        axes.tick_params(axis="y", length=0)
        axes.axvline(1.0, color="#1a1a1a", linewidth=1.2, zorder=3)
        for place, result in enumerate(drawn):
            _draw(axes, place, result)
        heads = [result.headroom or 1.0 for result in drawn] or [1.0]
        axes.set_xlim(low := min(*heads, 0.5) / 1.5, high := max(*heads, 2.0) * 1.5)
        axes.set_xticks([tick for tick in _TICKS if low < tick < high])
        axes.xaxis.set_major_formatter(lambda value, _: np.format_float_positional(value, trim="-"))
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("times better than the bar, which is 1 (logarithmic)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color="#e4e8ea", linewidth=0.6)
        axes.set_axisbelow(True)
        met = sum((result.headroom or 0.0) >= 1 for result in drawn)
        axes.set_title(f"{met} of {len(drawn)} bars are met", loc="left", fontweight="bold")
        figure.savefig(path, metadata={"Date": None})


def _draw(axes: Any, place: int, result: Result) -> None:
    assert result.headroom is not None
    assert result.figure is not None
    met = result.headroom >= 1
    colour = _MET if met else _SHORT
    axes.barh(place, result.headroom - 1, left=1, height=0.6, color=colour)
    text = f"{number(result.figure)}, {bar_text(result)} {result.unit}"
    # beside the picture, where no bar reaches
    axes.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center",
                  color=colour, fontweight="normal" if met else "bold")  # fmt: skip
