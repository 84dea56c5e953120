"""A diagram with a place for everything: what is left is to put ink on it."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.plot.diagram import Arrow, Circle, Diagram, Line
from elsinore.plot.ink import LABEL, NAME, NOTE, block_height, block_width, text_width
from elsinore.plot.layout import Box, Placed, layout

RADIUS = 15.0
#: The outer ring of END states stands off by this.
RING = 3.0
#: How far a loop at one circle rises above it.
LOOP = 22.0
#: Width of the cross before what must not be matched.
CROSS = 11.0
#: Length of the arrows from and to nowhere, beside their labels.
STUB = 14.0


@dataclass(frozen=True)
class Drawing:
    """A diagram and its layout.

    Attributes:
        diagram: what is drawn.
        placed: circles come first in `points`, then the far ends of arrows from and to nowhere.
        ways: the arrows that have a line in `placed`, in the order of its lines, with their ends.
        loops: the arrows from a circle to itself.
    """

    diagram: Diagram
    placed: Placed
    ways: tuple[tuple[Arrow, int, int], ...]
    loops: tuple[Arrow, ...]


def drawing_of(diagram: Diagram) -> Drawing:
    """A place for every circle, arrow and label of a diagram."""
    loops = tuple(a for a in diagram.arrows if a.earlier is not None and a.earlier == a.later)
    boxes = [_circle_box(c, [a for a in loops if a.later == n])
             for n, c in enumerate(diagram.circles)]  # fmt: skip
    ways: list[tuple[Arrow, int, int]] = []
    for arrow in diagram.arrows:
        if arrow in loops:
            continue
        ends = []
        for end in (arrow.earlier, arrow.later):
            ends.append(len(boxes) if end is None else end)
            boxes += [Box(2.0, 2.0, 2.0)] if end is None else []
        ways.append((arrow, ends[0], ends[1]))
    labels = [_label_box(arrow) for arrow, _, _ in ways]
    placed = layout(boxes, [(earlier, later) for _, earlier, later in ways], labels)
    return Drawing(diagram, placed, tuple(ways), loops)


def capsule_width(circle: Circle) -> float:
    """Width of the rounded shape around a state's name: a circle where the name is short."""
    return max(2 * RADIUS, text_width(circle.name, NAME) + RADIUS)


def label_width(label: tuple[Line, ...]) -> float:
    """Width of an arrow's label."""
    return max(
        (text_width(line.text, LABEL) + (CROSS if line.crossed else 0.0) for line in label),
        default=0.0,
    )


def _circle_box(circle: Circle, loops: list[Arrow]) -> Box:
    notes = circle.note.splitlines()
    up, width = RADIUS + RING, max(capsule_width(circle) + 2 * RING, block_width(notes, NOTE))
    for loop in loops:
        up += LOOP + block_height(len(loop.label), LABEL)
        width = max(width, label_width(loop.label))
    return Box(width, up, RADIUS + RING + 2.0 + block_height(len(notes), NOTE))


def _label_box(arrow: Arrow) -> Box:
    """Room for a label above its line; without one there is room for the arrow alone."""
    stub = STUB if arrow.earlier is None or arrow.later is None else 6.0
    if not arrow.label:
        return Box(stub, 3.0, 3.0)
    return Box(label_width(arrow.label) + 4.0, block_height(len(arrow.label), LABEL) + 2.0, 3.0)
