"""What is drawn of a query or of a sharable set, a place for it, and its ink on Matplotlib axes.

Circles stand in a row, in the order of the pattern. An arrow to the next one is straight; arrows
that skip circles, and loops, run above the row, those that lead back below it. Everything is in
points; x grows to the right and y downwards.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from math import hypot, sqrt
from pathlib import Path
from typing import TYPE_CHECKING

from elsinore.plot import ink
from elsinore.plot.ink import Point
from elsinore.query.automaton import Ways
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound, print_pattern
from elsinore.query.syntax import Semantics
from elsinore.sharing.merged import anonymous_condition
from elsinore.sharing.sharable import SharableSet
from elsinore.template.build import WHOLE, carried_keys, template_parts
from elsinore.template.describe import NOTES, Words
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import (
    TREND,
    Condition,
    Every,
    Never,
    Open,
    Reaches,
    Template,
    Transition,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a line of a label.
_LABEL_WIDTH = 32
#: Characters of a line of a label, and the most lines that one takes.
_WIDTH, _MOST_LINES = 34, 6


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a label; a `crossed` one names what must not be matched."""

    text: str
    crossed: bool = False


@dataclass(frozen=True, slots=True)
class Circle:
    """A state: its aliases, and below them its type where that differs; END states are `double`."""

    name: str
    note: str
    double: bool


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a circle to a circle; from nowhere (None) to a START, or from an END to nowhere."""

    earlier: int | None
    later: int | None
    label: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    """One automaton: the trends of a template, or the matches of a NOT."""

    caption: str
    circles: tuple[Circle, ...]
    arrows: tuple[Arrow, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """A query: its name, lines of text below that, and its automata."""

    title: str
    lines: tuple[str, ...]
    diagrams: tuple[Diagram, ...]


def sheet_of(query: BoundQuery) -> Sheet:
    """What is to be drawn of a query; words alone where it has no template."""
    lines = textwrap.wrap(print_pattern(query.pattern), 76)
    if query.semantics is not Semantics.ANY:
        lines.append(f"SEMANTICS {query.semantics}")
    try:
        parts = template_parts(query)
    except NotUnambiguous as reason:
        lines += textwrap.wrap(f"no template: {reason}", 76)
        return Sheet(query.name, tuple(lines), ())
    diagrams: dict[Diagram, None] = {}
    for side, template in parts:
        keys = ", ".join(carried_keys(query, template)) or "no key"
        carrying = f"trends that carry {keys}"
        captions = [side] if side != WHOLE else []
        captions += [carrying] if len({t.keys for _, t in parts}) > 1 else []
        words = Words(query, template)
        if any(words.notes(number) for number in template.trend_states) and NOTES not in lines:
            lines.append(NOTES)
        diagrams |= dict.fromkeys(_diagrams(words, ", ".join(captions)))
    return Sheet(query.name, tuple(lines), tuple(diagrams))


def _diagrams(words: Words, caption: str) -> Iterator[Diagram]:
    yield _diagram(words, TREND, caption)
    for guard, found in sorted(words.nots.items(), key=lambda each: each[1].number):
        inside = f", inside NOT {found.inside}" if found.inside is not None else ""
        yield _diagram(words, guard, f"{found.name}{inside}: {print_pattern(found.body)}")


def _diagram(words: Words, guard: int, caption: str) -> Diagram:
    template = words.template
    numbers = [n for n, state in enumerate(template.states) if state.guard == guard]
    place = {number: index for index, number in enumerate(numbers)}
    arrows = [
        Arrow(None, place[n], tuple(_start_label(words, n))) for n in template.starts if n in place
    ]
    arrows += [
        Arrow(place[t.earlier], place[t.later], tuple(_label(words, t)))
        for t in template.transitions
        if t.earlier in place
    ]
    arrows += [
        Arrow(place[n], None, _crossed(words, floor.ways))
        for n, floor in template.ends.items()
        if n in place and floor is not None
    ]
    circles = tuple(_circle(words, template, number) for number in numbers)
    return Diagram(caption, circles, tuple(arrows), negative=guard != TREND)


def _circle(words: Words, template: Template, number: int) -> Circle:
    name, kind = words.plain_name(number), words.kind(number)
    notes = words.notes(number)
    below = [kind] if kind != name else []
    below += [f"[{notes}]"] if notes else []
    return Circle(name, "\n".join(below), number in template.ends)


def _start_label(words: Words, number: int) -> Iterator[Line]:
    floor, bar = words.template.starts[number], words.template.bars.get(number)
    if floor is not None:
        yield from _crossed(words, floor.ways)
    if bar is not None:
        yield from _lines(words.present(bar.ways, "before"))


def _label(words: Words, transition: Transition) -> Iterator[Line]:
    if transition.condition is not None:
        yield from _condition_lines(words, transition.condition)
    elif transition.floor is not None:
        yield from _crossed(words, transition.floor.ways)


def _condition_lines(words: Words, condition: Condition) -> Iterator[Line]:
    """Lines that all have to hold; what the semantics ask of every pair is left out."""
    match condition:
        case Every(parts):
            for part in parts:
                yield from _condition_lines(words, part)
        case Open():
            return
        case Reaches(floor):
            yield from _crossed(words, floor.ways)
        case Never(part):
            yield from _lines(f"not: {words.condition(part)}")
        case _:
            yield from _lines(words.condition(condition))


def _crossed(words: Words, ways: Ways) -> tuple[Line, ...]:
    if frozenset() in ways:
        return ()
    text = ", or else ".join(words.guards(way) for way in sorted(ways, key=sorted))
    return tuple(Line(line, crossed=True) for line in textwrap.wrap(text, _LABEL_WIDTH))


def _lines(text: str) -> Iterator[Line]:
    """Wrapped lines; what goes on stands further in."""
    for line in textwrap.wrap(text, _LABEL_WIDTH, subsequent_indent="   "):
        yield Line(line)


def merged_diagram(found: SharableSet) -> Diagram:
    """Each event type once; arrows are labelled by the numbers of the queries that have them.

    An arrow from nowhere leads to where trends of its queries start. END states are double, and
    their note says whose trends end there where it is not all that come there.
    """
    merged = found.merged
    words = [
        Words(_by_types(query), template)
        for query, template in zip(merged.queries, merged.templates, strict=True)
    ]
    every = len(merged.queries)
    arrows = [
        Arrow(None, number, _wrapped([numbers(merged.starts(number), every)]))
        for number in range(len(merged.states))
        if merged.starts(number)
    ]
    arrows += [Arrow(a, b, label) for (a, b), label in _labels(found, words).items()]
    circles = []
    for number, state in enumerate(merged.states):
        ends = merged.ends(number)
        notes = [f"ends {numbers(ends, every)}"] if ends and len(ends) < len(state.members) else []
        notes += _local(found, words, number)
        circles.append(Circle(state.type, "\n".join(notes), bool(ends)))
    return Diagram("", tuple(circles), tuple(arrows), negative=False)


def numbers(queries: Iterable[int], every: int) -> str:
    """Numbers of queries, counted from 1, runs of them as spans; `all` for all of several.

    >>> numbers([0, 1, 2, 4], 7), numbers([0, 1], 2)
    ('1-3, 5', 'all')
    """
    found = sorted(queries)
    if len(found) == every > 1:
        return "all"
    runs: list[list[int]] = []
    for number in found:
        if runs and runs[-1][1] == number:
            runs[-1][1] += 1
        else:
            runs.append([number + 1, number + 1])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _by_types(query: BoundQuery) -> BoundQuery:
    """The query with every position called by its type, as the circles are."""
    positions = tuple(replace(position, alias=position.type) for position in query.positions)
    return replace(query, positions=positions)


def _labels(found: SharableSet, words: list[Words]) -> dict[tuple[int, int], tuple[Line, ...]]:
    """For each pair of states: who has the transition, and what must hold of each pair there."""
    merged = found.merged
    texts: dict[tuple[int, int], dict[str, list[int]]] = {}
    for link in merged.links:
        # the first query's condition: those of the others say the same
        text = ""
        if link.condition is not None:
            first = link.queries[0]
            ends = [merged.states[state].members[first] for state in (link.earlier, link.later)]
            text = next(
                words[first].condition(arrow.condition)
                for arrow in merged.templates[first].transitions
                if arrow.condition is not None
                and [arrow.earlier, arrow.later] == ends
                and anonymous_condition(arrow.condition) == link.condition
            )
        by_text = texts.setdefault((link.earlier, link.later), {})
        by_text.setdefault(text, []).extend(link.queries)
    every = len(merged.queries)
    return {
        ends: _wrapped(
            f"{numbers(queries, every)}: {text}" if text else numbers(queries, every)
            for text, queries in by_text.items()
        )
        for ends, by_text in texts.items()
    }


def _local(found: SharableSet, words: list[Words], number: int) -> Iterator[str]:
    """What the queries ask of single events at a state, where they ask anything."""
    merged, texts = found.merged, dict[str, list[int]]()
    for query, own in merged.states[number].members.items():
        positions = merged.templates[query].states[own].meets
        asked = [
            print_bound(predicate.condition, words[query].query.aliases)
            for predicate in merged.queries[query].local_predicates
            if predicate.position in positions
        ]
        if asked:
            texts.setdefault(" AND ".join(asked), []).append(query)
    every = len(merged.queries)
    lines = [
        line
        for text, queries in texts.items()
        for line in textwrap.wrap(f"{numbers(queries, every)}: {text}", _WIDTH)
    ]
    yield from lines if len(lines) <= _MOST_LINES else [*lines[: _MOST_LINES - 1], "…"]


def _wrapped(texts: Iterable[str]) -> tuple[Line, ...]:
    lines = [
        Line(line)
        for text in texts
        for line in textwrap.wrap(text, _WIDTH, subsequent_indent="   ")
    ]
    return tuple(lines) if len(lines) <= _MOST_LINES else (*lines[: _MOST_LINES - 1], Line("…"))


# ---- places

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
        RADIUS + RING + 2.0 + ink.block_height(notes, ink.NOTE),
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
    return max(2 * RADIUS, ink.text_width(circle.name, ink.NAME) + RADIUS)


def label_width(label: tuple[Line, ...]) -> float:
    """Width of an arrow's label."""
    return max(
        (
            ink.text_width(line.text, ink.LABEL) + (_CROSS if line.crossed else 0.0)
            for line in label
        ),
        default=0.0,
    )


def label_height(label: tuple[Line, ...]) -> float:
    """Height of an arrow's label."""
    return ink.block_height(len(label), ink.LABEL)


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
            capsule_width(circle) / 2 + RING,
            ink.block_width(circle.note.splitlines(), ink.NOTE) / 2,
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
        _draw_arrow(axes, [at(point) for point in stroke])
    fill = ink.NEGATIVE_FILL if drawing.diagram.negative else ink.POSITIVE_FILL
    for circle, point in zip(drawing.diagram.circles, drawing.points, strict=True):
        _draw_circle(axes, circle, at(point), fill)
    for arrow, label in zip(drawing.diagram.arrows, drawing.labels, strict=True):
        _draw_label(axes, at(label), arrow.label)


def _draw_circle(axes: Axes, circle: Circle, at: Point, fill: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = at
    for ring in (RING, 0.0) if circle.double else (0.0,):
        radius, width = RADIUS + ring, capsule_width(circle) + 2 * ring
        axes.add_patch(
            FancyBboxPatch((x - width / 2, y - radius), width, 2 * radius, facecolor=fill,
                           edgecolor=ink.LINE, linewidth=_THICK, zorder=2,
                           boxstyle=f"round,pad=0,rounding_size={radius}")
        )  # fmt: skip
    ink.write(axes, at, circle.name, ink.NAME, align="center")
    for row, note in enumerate(circle.note.splitlines()):
        below = y + RADIUS + 5.0 + ink.NOTE * ink.LEADING * (row + 0.5)
        ink.write(axes, (x, below), note, ink.NOTE, colour=ink.FAINT, align="center", clear=True)


def _draw_arrow(axes: Axes, corners: Sequence[Point]) -> None:
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
                        color=ink.LINE, linewidth=_THICK, shrinkA=0, shrinkB=0)
    )  # fmt: skip


def _towards(corner: Point, other: Point) -> Point:
    """Where the bend at a corner begins, on the way to another point."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = hypot(dx, dy) or 1.0
    part = min(_BEND, length / 2) / length
    return corner[0] + part * dx, corner[1] + part * dy


def _draw_label(axes: Axes, at: Point, label: tuple[Line, ...]) -> None:
    """Lines of text; before what must not be matched stands a crossed-out circle."""
    left = at[0] - label_width(label) / 2
    for row, line in enumerate(label):
        y = at[1] - ink.LABEL * ink.LEADING * (len(label) - row - 0.5)
        x = left + (_CROSS if line.crossed else 0.0)
        colour = ink.CROSSED if line.crossed else ink.TEXT
        ink.write(axes, (x, y), line.text, ink.LABEL, colour=colour, clear=True)
        if line.crossed:
            axes.plot(left + 4.0, y, marker="$⊗$", color=ink.CROSSED, markersize=8.0)


# ---- the templates of queries, saved as a picture


#: Sheets stand side by side up to this width, in points.
_PAGE = 1_000.0
_MARGIN = 24.0
_BETWEEN = 30.0
_LEGEND = (
    "An arrow from nowhere leads to where a trend may start; a double ring is where it may end. "
    "What a crossed circle names must not be matched on the way."
)


@dataclass(frozen=True)
class _Block:
    """A sheet with its drawings and its size in points."""

    sheet: Sheet
    drawings: tuple[Drawing, ...]
    width: float
    height: float


def save_templates(queries: Iterable[BoundQuery], path: Path) -> None:
    """Draw the templates of queries, each below its name and pattern.

    Args:
        queries: in the order in which they are drawn.
        path: a file that ends in .svg or .png.

    Raises:
        ParameterError: another ending, or the file cannot be written.
    """
    ink.require_picture(path)
    blocks = [_block(sheet_of(query)) for query in queries]
    corners, width, height = _corners(blocks)
    figure, axes = ink.page(width, height)
    for block, corner in zip(blocks, corners, strict=True):
        _draw_block(axes, block, corner)
    ink.write(axes, (_MARGIN, height - _MARGIN), _LEGEND, ink.BODY, colour=ink.FAINT)
    ink.save(figure, path)


def _block(sheet: Sheet) -> _Block:
    drawings = tuple(map(drawing_of, sheet.diagrams))
    widths = [
        ink.text_width(sheet.title, ink.TITLE, bold=True),
        ink.block_width(list(sheet.lines), ink.BODY),
    ]
    widths += [drawing.width for drawing in drawings]
    widths += [ink.text_width(diagram.caption, ink.BODY) for diagram in sheet.diagrams]
    height = _heading(sheet) + sum(_caption(d) + d.height + 8.0 for d in drawings)
    return _Block(sheet, drawings, max(widths), height)


def _heading(sheet: Sheet) -> float:
    return ink.TITLE * ink.LEADING + ink.block_height(len(sheet.lines), ink.BODY) + 8.0


def _caption(drawing: Drawing) -> float:
    return ink.BODY * ink.LEADING + 4.0 if drawing.diagram.caption else 0.0


def _corners(blocks: Sequence[_Block]) -> tuple[list[Point], float, float]:
    """The upper left corner of each block, line by line, and the size of the page."""
    corners: list[Point] = []
    x, y, lowest, widest = _MARGIN, _MARGIN, _MARGIN, ink.text_width(_LEGEND, ink.BODY)
    for block in blocks:
        if x > _MARGIN and x + block.width > _MARGIN + _PAGE:
            x, y = _MARGIN, lowest + _BETWEEN
        corners.append((x, y))
        x += block.width + 2 * _BETWEEN
        lowest = max(lowest, y + block.height)
        widest = max(widest, x - 2 * _BETWEEN - _MARGIN)
    return corners, widest + 2 * _MARGIN, lowest + _BETWEEN + 2 * _MARGIN


def _draw_block(axes: Axes, block: _Block, corner: Point) -> None:
    x, y = corner
    ink.write(axes, (x, y + ink.TITLE * ink.LEADING / 2), block.sheet.title, ink.TITLE, bold=True)
    y += ink.TITLE * ink.LEADING
    for line in block.sheet.lines:
        ink.write(axes, (x, y + ink.BODY * ink.LEADING / 2), line, ink.BODY, colour=ink.FAINT)
        y += ink.BODY * ink.LEADING
    y += 8.0
    for drawing in block.drawings:
        if drawing.diagram.caption:
            colour = ink.CROSSED if drawing.diagram.negative else ink.FAINT
            at = (x, y + ink.BODY * ink.LEADING / 2)
            ink.write(axes, at, drawing.diagram.caption, ink.BODY, colour=colour)
        y += _caption(drawing)
        draw(axes, drawing, (x, y))
        y += drawing.height + 8.0
