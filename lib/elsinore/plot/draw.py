"""Puts a drawing on Matplotlib axes whose unit is the point, y growing downwards."""

from __future__ import annotations

from math import atan2, cos, pi, sin
from typing import TYPE_CHECKING

from elsinore.plot.diagram import Circle, Line
from elsinore.plot.drawing import (
    CROSS,
    LOOP,
    RADIUS,
    RING,
    STUB,
    Drawing,
    capsule_width,
    label_width,
)
from elsinore.plot.ink import (
    CROSSED,
    FAINT,
    FONT,
    LABEL,
    LEADING,
    LINE,
    NAME,
    NEGATIVE_FILL,
    NOTE,
    POSITIVE_FILL,
    TEXT,
)
from elsinore.plot.layout import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

_THICK = 1.1
#: A quarter of a circle as a cubic curve: how far its inner points lie from its ends, in radii.
_ARC = 0.5523
#: How far from the level side of a circle a line may meet it, in radians.
_STEEPEST = 0.9
#: A stretch of no length would leave an arrow's head without a direction.
_SHORTEST = 0.1


def draw(axes: Axes, drawing: Drawing, corner: Point) -> None:
    """Draw circles, arrows and labels, the upper left corner at a point."""
    pen = _Pen(axes, drawing, corner)
    for number, circle in enumerate(drawing.diagram.circles):
        pen.circle(number, circle)
    for index in range(len(drawing.ways)):
        pen.way(index)
    for loop in drawing.loops:
        assert loop.later is not None
        pen.loop(loop.later, loop.label)


def write(
    axes: Axes, at: Point, text: str, size: float, *, colour: str = TEXT, bold: bool = False
) -> None:
    """A line of text whose left end and middle are at a point."""
    weight = "bold" if bold else "normal"
    axes.text(
        *at, text, size=size, color=colour, weight=weight, family=FONT, ha="left",
        va="center_baseline", parse_math=False,
    )  # fmt: skip


class _Pen:
    def __init__(self, axes: Axes, drawing: Drawing, corner: Point) -> None:
        self.axes = axes
        self.drawing = drawing
        self.corner = corner

    def at(self, point: Point) -> Point:
        return point[0] + self.corner[0], point[1] + self.corner[1]

    def circle(self, number: int, circle: Circle) -> None:
        x, y = self.at(self.drawing.placed.points[number])
        width = capsule_width(circle)
        fill = NEGATIVE_FILL if self.drawing.diagram.negative else POSITIVE_FILL
        self._capsule(x, y, width, RADIUS, fill)
        if circle.double:
            self._capsule(x, y, width + 2 * RING, RADIUS + RING, "none")
        self._centred(x, y, circle.name, NAME, TEXT)
        for row, note in enumerate(circle.note.splitlines()):
            below = y + RADIUS + 5.0 + NOTE * LEADING * (row + 0.5)
            self._centred(x, below, note, NOTE, FAINT)

    def _capsule(self, x: float, y: float, width: float, radius: float, fill: str) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path

        flat, arm = width / 2 - radius, radius * _ARC
        right, left = x + flat, x - flat
        points = [(left, y - radius), (right, y - radius)]
        points += [(right + arm, y - radius), (right + radius, y - arm), (right + radius, y)]
        points += [(right + radius, y + arm), (right + arm, y + radius), (right, y + radius)]
        points += [(left, y + radius)]
        points += [(left - arm, y + radius), (left - radius, y + arm), (left - radius, y)]
        points += [(left - radius, y - arm), (left - arm, y - radius), (left, y - radius)]
        half = [Path.LINETO] + [Path.CURVE4] * 6
        path = Path(points, [Path.MOVETO, *half, *half])
        self.axes.add_patch(PathPatch(path, facecolor=fill, edgecolor=LINE, linewidth=_THICK))

    def _centred(self, x: float, y: float, text: str, size: float, colour: str) -> None:
        self.axes.text(
            x, y, text, size=size, color=colour, family=FONT, ha="center",
            va="center_baseline", parse_math=False,
        )  # fmt: skip

    # ---- arrows

    def way(self, index: int) -> None:
        """An arrow along the stretches of its line, with its label above the middle one."""
        arrow, earlier, later = self.drawing.ways[index]
        placed = self.drawing.placed
        stretches = [(self.at(a), self.at(b)) for a, b in placed.lines[index]]
        x, y = self.at(placed.labels[index])
        stub = max(label_width(arrow.label), STUB) / 2
        if arrow.earlier is None:
            stretches[0] = (x - stub, y), stretches[0][1]
        else:
            stretches.insert(0, self._port(earlier, stretches[0][0]))
        if arrow.later is None:
            stretches[-1] = stretches[-1][0], (x + stub, y)
        else:
            stretches.append(self._port(later, stretches[-1][1])[::-1])
        self._arrow(stretches)
        self._label(x, y - 3.0, arrow.label)

    def _port(self, number: int, towards: Point) -> tuple[Point, Point]:
        """From where a line meets a circle, level to the edge of the circle's column.

        It meets the circle nearer to the level side than the line comes from.
        """
        x, y = self.at(self.drawing.placed.points[number])
        circle = self.drawing.diagram.circles[number]
        radius = RADIUS + (RING if circle.double else 0.0)
        flat = capsule_width(circle) / 2 - RADIUS
        side = 1.0 if towards[0] > x else -1.0
        across = max(abs(towards[0] - x) - flat, 1.0)
        angle = max(-_STEEPEST, min(_STEEPEST, 0.8 * atan2(towards[1] - y, across)))
        height = y + radius * sin(angle)
        edge = x + side * self.drawing.placed.halves[number]
        return (x + side * (flat + radius * cos(angle)), height), (edge, height)

    def _arrow(self, stretches: list[tuple[Point, Point]]) -> None:
        """Level stretches, and curves from one to the next."""
        from matplotlib.path import Path

        vertices, codes = [stretches[0][0]], [Path.MOVETO]
        for number, (begin, end) in enumerate(stretches):
            if number:
                here = vertices[-1]
                bend = (begin[0] - here[0]) / 2
                vertices += [(here[0] + bend, here[1]), (begin[0] - bend, begin[1]), begin]
                codes += [Path.CURVE4] * 3
            if abs(end[0] - begin[0]) > _SHORTEST:
                vertices.append(end)
                codes.append(Path.LINETO)
        self._stroke(Path(vertices, codes))

    def loop(self, number: int, label: tuple[Line, ...]) -> None:
        """An arrow from a circle to itself, above it."""
        from matplotlib.path import Path

        circle = self.drawing.diagram.circles[number]
        x, y = self.at(self.drawing.placed.points[number])
        radius = RADIUS + (RING if circle.double else 0.0)
        lean = pi / 5
        dx, dy = radius * sin(lean), radius * cos(lean)
        rise = LOOP * 1.15
        vertices = [
            (x + dx, y - dy),
            (x + dx * 2.1, y - dy - rise),
            (x - dx * 2.1, y - dy - rise),
            (x - dx, y - dy),
        ]
        self._stroke(Path(vertices, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]))
        self._label(x, y - RADIUS - LOOP, label)

    def _stroke(self, path: Path) -> None:
        from matplotlib.patches import FancyArrowPatch

        self.axes.add_patch(
            FancyArrowPatch(
                path=path, arrowstyle="-|>,head_length=5,head_width=2.4", mutation_scale=1,
                color=LINE, linewidth=_THICK, shrinkA=0, shrinkB=0,
            )
        )  # fmt: skip

    # ---- labels

    def _label(self, x: float, bottom: float, label: tuple[Line, ...]) -> None:
        """Lines of text that stand on a line."""
        left = x - label_width(label) / 2
        for row, line in enumerate(label):
            y = bottom - LABEL * LEADING * (len(label) - row - 0.5)
            indent = CROSS if line.crossed else 0.0
            colour = CROSSED if line.crossed else TEXT
            if line.crossed:
                self._cross(left + CROSS / 2 - 1.5, y)
            write(self.axes, (left + indent, y), line.text, LABEL, colour=colour)

    def _cross(self, x: float, y: float) -> None:
        """A crossed-out circle: what must not be matched."""
        from matplotlib.patches import Circle as Ring

        radius, arm = 3.4, 2.4
        self.axes.add_patch(
            Ring((x, y), radius, facecolor="white", edgecolor=CROSSED, linewidth=1.0)
        )
        for way in (-1.0, 1.0):
            self.axes.plot(
                [x - arm, x + arm], [y - way * arm, y + way * arm], color=CROSSED, linewidth=1.0
            )
