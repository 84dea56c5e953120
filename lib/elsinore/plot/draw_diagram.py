"""A place for everything of a diagram, and its ink on Matplotlib axes.

Circles stand in a row, in the order of the pattern. An arrow to the next one is straight; arrows
that skip circles, and loops, run above the row, those that lead back below it. Everything is in
points; x grows to the right and y downwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import hypot, sqrt
from typing import TYPE_CHECKING

from elsinore.plot.diagram import Arrow, Circle, Diagram, Line
from elsinore.plot.ink import (
    CROSSED,
    FAINT,
    LABEL,
    LEADING,
    LINE,
    NAME,
    NEGATIVE_FILL,
    NOTE,
    POSITIVE_FILL,
    TEXT,
    Point,
    block_height,
    block_width,
    text_width,
    write,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RADIUS = 15.0
#: The outer ring of END states stands off by this.
RING = 3.0
#: Width of the cross before what must not be matched.
_CROSS = 11.0
#: Between circles at least, and beside a label between two.
_GAP, _BESIDE = 34.0, 16.0
#: Length of the arrows from and to nowhere, to each side where they are aslant.
_STUB, _SLANT = 26.0, 18.0
#: From one arrow above or below the row to the next, beside their labels.
_LIFT = 12.0
#: How far from a circle's middle arrows leave it upwards and downwards, and come in.
_PORT = 8.0
#: Radius of an arrow's corners.
_BEND = 7.0
_THICK = 1.1


@dataclass(frozen=True)
class Drawing:
    """A diagram and its layout.

    Attributes:
        diagram: what is drawn.
        points: the middles of its circles.
        strokes: for each arrow the corners that it passes, from its tail to its head.
        labels: for each arrow the middle of its label's lower edge.
        width, height: of the whole.
    """

    diagram: Diagram
    points: tuple[Point, ...]
    strokes: tuple[tuple[Point, ...], ...]
    labels: tuple[Point, ...]
    width: float
    height: float


def drawing_of(diagram: Diagram) -> Drawing:
    """A place for every circle, arrow and label of a diagram."""
    columns = _columns(diagram)
    level = [arrow for arrow in diagram.arrows if _is_level(arrow, len(columns))]
    aslant = [arrow for arrow in diagram.arrows if _is_aslant(arrow, len(columns))]
    notes = max((len(circle.note.splitlines()) for circle in diagram.circles), default=0)
    up = max([RADIUS + RING, *(3.0 + label_height(a.label) for a in level)]) + _LIFT / 2
    down = max(
        RADIUS + RING + 2.0 + block_height(notes, NOTE),
        *(RADIUS + _SLANT + label_height(arrow.label) for arrow in aslant),
        0.0,
    )
    over = [a for a in diagram.arrows if a.earlier is not None and a.later is not None
            and a not in level]  # fmt: skip
    rise, top = _tracks([a for a in over if _skips(a)], columns, up)
    fall, bottom = _tracks([a for a in over if not _skips(a)], columns, down + _LIFT / 2)
    heights = rise | {arrow: -below for arrow, below in fall.items()}
    routes = [_route(arrow, diagram, columns, heights.get(arrow)) for arrow in diagram.arrows]
    sides = [
        (x - width / 2, x + width / 2)
        for arrow, (_, (x, _)) in zip(diagram.arrows, routes, strict=True)
        if (width := label_width(arrow.label))
    ]
    edges = [(x - left, x + right) for x, left, right in columns] + sides
    edges += [(x, x) for stroke, _ in routes for x, _ in stroke]
    shift = 2.0 - min((left for left, _ in edges), default=0.0)

    def at(point: Point) -> Point:
        return point[0] + shift, point[1] + top

    return Drawing(
        diagram,
        tuple(at((x, 0.0)) for x, _, _ in columns),
        tuple(tuple(map(at, stroke)) for stroke, _ in routes),
        tuple(at(label) for _, label in routes),
        max((right for _, right in edges), default=0.0) + shift + 2.0,
        top + max(bottom, down),
    )


def capsule_width(circle: Circle) -> float:
    """Width of the rounded shape around a state's name: a circle where the name is short."""
    return max(2 * RADIUS, text_width(circle.name, NAME) + RADIUS)


def label_width(label: tuple[Line, ...]) -> float:
    """Width of an arrow's label."""
    return max(
        (text_width(line.text, LABEL) + (_CROSS if line.crossed else 0.0) for line in label),
        default=0.0,
    )


def label_height(label: tuple[Line, ...]) -> float:
    """Height of an arrow's label."""
    return block_height(len(label), LABEL)


def _is_level(arrow: Arrow, circles: int) -> bool:
    """Whether an arrow runs in the row: to the next circle, into the first, out of the last."""
    if arrow.earlier is None:
        return arrow.later == 0
    return arrow.later == (None if arrow.earlier == circles - 1 else arrow.earlier + 1)


def _is_aslant(arrow: Arrow, circles: int) -> bool:
    """Whether an arrow from or to nowhere has a circle beside it in the row."""
    return None in (arrow.earlier, arrow.later) and not _is_level(arrow, circles)


def _skips(arrow: Arrow) -> bool:
    assert arrow.earlier is not None
    assert arrow.later is not None
    return arrow.later >= arrow.earlier


def _columns(diagram: Diagram) -> list[tuple[float, float, float]]:
    """The middle of each circle's column, and how far the column reaches to its left and right."""
    columns: list[tuple[float, float, float]] = []
    end = 0.0
    for number, circle in enumerate(diagram.circles):
        half = max(
            capsule_width(circle) / 2 + RING, block_width(circle.note.splitlines(), NOTE) / 2
        )
        slanted = capsule_width(circle) / 2 + _SLANT
        ways = {(arrow.earlier, arrow.later): arrow.label for arrow in diagram.arrows}
        enters, leaves = (None, number) in ways and number > 0, (number, None) in ways
        leaves = leaves and number < len(diagram.circles) - 1
        left, right = max(half, slanted * enters), max(half, slanted * leaves)
        gap = 0.0
        if number:
            below = label_width(ways.get((number - 1, None), ())) + label_width(
                ways.get((None, number), ())
            )
            straight = label_width(ways.get((number - 1, number), ()))
            gap = max(_GAP, straight + _BESIDE, below + _BESIDE)
        end += gap + left
        columns.append((end, left, right))
        end += right
    return columns


def _tracks(
    arrows: Iterable[Arrow], columns: Sequence[tuple[float, float, float]], start: float
) -> tuple[dict[Arrow, float], float]:
    """How far from the row each arrow runs, short ones next to it, and where the last one ends."""
    spans: dict[Arrow, tuple[float, float]] = {}
    for arrow in arrows:
        ends = [columns[end][0] for end in (arrow.earlier, arrow.later) if end is not None]
        half = max((max(ends) - min(ends)) / 2, label_width(arrow.label) / 2) + _PORT + 2.0
        spans[arrow] = sum(ends) / 2 - half, sum(ends) / 2 + half
    tracks: list[list[Arrow]] = []
    for arrow in sorted(spans, key=lambda each: spans[each][1] - spans[each][0]):
        left, right = spans[arrow]
        for number in count():
            if number == len(tracks):
                tracks.append([])
            if all(spans[o][1] <= left or right <= spans[o][0] for o in tracks[number]):
                tracks[number].append(arrow)
                break
    places: dict[Arrow, float] = {}
    for track in tracks:
        start += _LIFT
        places |= dict.fromkeys(track, start)
        start += max(label_height(arrow.label) for arrow in track)
    return places, start + 4.0


def _route(
    arrow: Arrow,
    diagram: Diagram,
    columns: Sequence[tuple[float, float, float]],
    height: float | None,
) -> tuple[tuple[Point, ...], Point]:
    """The corners of an arrow and the place of its label, the row being at 0."""
    width, tall = label_width(arrow.label), label_height(arrow.label)
    ends = [None if end is None else (columns[end], diagram.circles[end])
            for end in (arrow.earlier, arrow.later)]  # fmt: skip
    if height is not None:
        side = 1.0 if height > 0 else -1.0
        (tail, earlier), (head, later) = (end for end in ends if end is not None)
        begin, end = tail[0] + side * _PORT, head[0] - side * _PORT
        corners = (
            (begin, -side * _edge(earlier)), (begin, -height), (end, -height),
            (end, -side * _edge(later)),
        )  # fmt: skip
        below = -height - 2.0 if side > 0 else -height + tall + 2.0
        return corners, ((begin + end) / 2, below)
    if None not in ends:
        (tail, earlier), (head, later) = (end for end in ends if end is not None)
        corner = tail[0] + _reach(earlier), head[0] - _reach(later)
        return ((corner[0], 0.0), (corner[1], 0.0)), (sum(corner) / 2, -3.0)
    ((column, circle),) = (end for end in ends if end is not None)
    side = -1.0 if arrow.earlier is None else 1.0
    if _is_level(arrow, len(columns)):
        near = column[0] + side * _reach(circle)
        far = near + side * max(_STUB, width)
        stroke, label = ((near, 0.0), (far, 0.0)), ((near + far) / 2, -3.0)
    else:
        low = RADIUS * sqrt(0.5) + (RING if circle.double else 0.0)
        near = column[0] + side * (capsule_width(circle) / 2 - RADIUS + low)
        far = column[0] + side * column[1 if side < 0 else 2]
        stroke = ((near, low), (far, low + _SLANT))
        label = (far + side * width / 2, low + _SLANT + tall)
    return (stroke[::-1] if side < 0 else stroke), label


def _reach(circle: Circle) -> float:
    """From a circle's middle to its side."""
    return capsule_width(circle) / 2 + (RING if circle.double else 0.0)


def _edge(circle: Circle) -> float:
    """From a circle's middle up to its edge at the place where arrows leave."""
    radius = RADIUS + (RING if circle.double else 0.0)
    beyond = max(_PORT - (capsule_width(circle) / 2 - RADIUS), 0.0)
    return sqrt(radius * radius - beyond * beyond)


# ---- ink


def draw(axes: Axes, drawing: Drawing, corner: Point) -> None:
    """Draw circles, arrows and labels, the upper left corner at a point."""

    def at(point: Point) -> Point:
        return point[0] + corner[0], point[1] + corner[1]

    for stroke in drawing.strokes:
        _arrow(axes, [at(point) for point in stroke])
    fill = NEGATIVE_FILL if drawing.diagram.negative else POSITIVE_FILL
    for circle, point in zip(drawing.diagram.circles, drawing.points, strict=True):
        _circle(axes, circle, at(point), fill)
    for arrow, label in zip(drawing.diagram.arrows, drawing.labels, strict=True):
        _label(axes, at(label), arrow.label)


def _circle(axes: Axes, circle: Circle, at: Point, fill: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = at
    for ring in (RING, 0.0) if circle.double else (0.0,):
        radius, width = RADIUS + ring, capsule_width(circle) + 2 * ring
        axes.add_patch(
            FancyBboxPatch((x - width / 2, y - radius), width, 2 * radius, facecolor=fill,
                           edgecolor=LINE, linewidth=_THICK, zorder=2,
                           boxstyle=f"round,pad=0,rounding_size={radius}")
        )  # fmt: skip
    write(axes, at, circle.name, NAME, align="center")
    for row, note in enumerate(circle.note.splitlines()):
        below = y + RADIUS + 5.0 + NOTE * LEADING * (row + 0.5)
        write(axes, (x, below), note, NOTE, colour=FAINT, align="center", clear=True)


def _arrow(axes: Axes, corners: Sequence[Point]) -> None:
    """A line with round corners and a head."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    vertices, codes = [corners[0]], [Path.MOVETO]
    for (before, corner), (_, after) in pairwise(pairwise(corners)):
        vertices += [_towards(corner, before), corner, _towards(corner, after)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    path = Path([*vertices, corners[-1]], [*codes, Path.LINETO])
    axes.add_patch(
        FancyArrowPatch(path=path, arrowstyle="-|>,head_length=5,head_width=2.4", mutation_scale=1,
                        color=LINE, linewidth=_THICK, shrinkA=0, shrinkB=0)
    )  # fmt: skip


def _towards(corner: Point, other: Point) -> Point:
    """Where the bend at a corner begins, on the way to another point."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = hypot(dx, dy) or 1.0
    part = min(_BEND, length / 2) / length
    return corner[0] + part * dx, corner[1] + part * dy


def _label(axes: Axes, at: Point, label: tuple[Line, ...]) -> None:
    """Lines of text; before what must not be matched stands a crossed-out circle."""
    left = at[0] - label_width(label) / 2
    for row, line in enumerate(label):
        y = at[1] - LABEL * LEADING * (len(label) - row - 0.5)
        x = left + (_CROSS if line.crossed else 0.0)
        colour = CROSSED if line.crossed else TEXT
        write(axes, (x, y), line.text, LABEL, colour=colour, clear=True)
        if line.crossed:
            axes.plot(left + 4.0, y, marker="$⊗$", color=CROSSED, markersize=8.0)
