"""Draws the legend beside the rows: what is shared, what that saves, and the kinds of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elsinore.plot.draw import write
from elsinore.plot.draw_sharing import BOX, Rows, colour_of, draw_box, span, tag, tint
from elsinore.plot.ink import BODY, FAINT, block_width, text_width
from elsinore.plot.layout import Point
from elsinore.plot.sharing_columns import TAG, box_width
from elsinore.plot.sharing_rows import Group
from elsinore.sharing.explain import Box, figure_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 21.0
_BAR = 110.0
#: More groups than these are not listed.
_MOST_GROUPS = 60
#: Longest pattern that is written out, in characters.
_PATTERN = 48
_KINDS = (
    (Box("Type", 0, 1, frozenset(), negated=False), False, "computed by the query itself"),
    (Box("Type", 0, 1, frozenset(), negated=False), True, "computed once for all on the span"),
    (Box("Type+", 0, 1, frozenset({"Type"}), negated=False), False, "Kleene plus"),
    (Box("NOT Type", 0, 1, frozenset(), negated=True), False, "must not be matched"),
)


@dataclass(frozen=True)
class Legend:
    """What is listed beside the rows: the groups with their savings, and the kinds of boxes."""

    groups: tuple[Group, ...]
    kinds: tuple[bool, bool, bool, bool]

    @classmethod
    def of(cls, rows: Rows) -> Legend:
        """The legend of rows: the groups and the kinds of boxes that are among them."""
        units = [unit for row in rows.units for unit in row]
        boxes = [(unit.group is not None, box) for unit in units for box in unit.boxes]
        kinds = (
            any(not shared for shared, _ in boxes),
            any(shared for shared, _ in boxes),
            any(box.kleene for _, box in boxes),
            any(box.negated for _, box in boxes),
        )
        return cls(rows.groups, kinds)

    @property
    def lines(self) -> list[str]:
        """A line for each group that is listed."""
        return [_line(group) for group in self.groups[:_MOST_GROUPS]]

    @property
    def width(self) -> float:
        """Of the whole."""
        texts = [text_width(text, BODY) + 60.0 for _, _, text in _KINDS]
        return max(self.bars + _BAR + 80.0, *texts)

    @property
    def bars(self) -> float:
        """Where the bars begin."""
        return TAG + 24.0 + block_width(self.lines, BODY)

    @property
    def height(self) -> float:
        """Of the whole."""
        more = len(self.groups) > _MOST_GROUPS
        return _ROW * (len(self.lines) + more + sum(self.kinds) + 1)


def draw_legend(axes: Axes, legend: Legend, corner: Point) -> None:
    """Groups with bars as long as they save, then the kinds of boxes."""
    x, y = corner[0], corner[1] + _ROW / 2
    largest = max((group.net or 0.0 for group in legend.groups), default=0.0)
    for number, (group, line) in enumerate(zip(legend.groups, legend.lines, strict=False)):
        tag(axes, number, group, (x, y))
        write(axes, (x + TAG + 8.0, y), line, BODY)
        _saving(axes, number, group, largest, (x + legend.bars, y))
        y += _ROW
    if len(legend.groups) > _MOST_GROUPS:
        more = f"and {len(legend.groups) - _MOST_GROUPS} more"
        write(axes, (x + TAG + 8.0, y), more, BODY, colour=FAINT)
        y += _ROW
    y += _ROW / 2
    for (box, shared, text), drawn in zip(_KINDS, legend.kinds, strict=True):
        if drawn:
            width = box_width(box.text)
            if shared:
                span(axes, 0, (x, y), width, BOX)
            draw_box(axes, box, (x, y), colour_of(0), shared=shared)
            write(axes, (x + width + 10.0, y), text, BODY, colour=FAINT)
            y += _ROW


def _saving(axes: Axes, number: int, group: Group, largest: float, at: Point) -> None:
    from matplotlib.patches import Rectangle

    if group.kleene:
        write(axes, at, "decided burst by burst", BODY, colour=FAINT)
    elif group.net is not None and largest > 0:
        length = _BAR * max(group.net, 0.0) / largest
        axes.add_patch(
            Rectangle((at[0], at[1] - 5.0), length, 10.0, linewidth=0,
                      facecolor=tint(colour_of(number), 0.3))
        )  # fmt: skip
        write(axes, (at[0] + length + 5.0, at[1]), figure_text(group.net), BODY)


def _line(group: Group) -> str:
    text = group.text if len(group.text) <= _PATTERN else f"{group.text[: _PATTERN - 1]}…"
    return f"{text} in {len(group.members)} queries"
