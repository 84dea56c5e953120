"""The content, the layout and the drawing of the template of a query or a sharable set.

Circles are in a row, in the order of the pattern. An arrow to the next circle is straight. Arrows
that skip circles, and loops, are above the row; arrows that lead back are below it. All lengths are
in points; x grows to the right and y downwards.
"""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise
from math import hypot, sqrt

from matplotlib.offsetbox import OffsetBox
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from elsinore.plot import ink, require_picture
from elsinore.plot.ink import Point
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound, print_pattern
from elsinore.query.syntax import Semantics
from elsinore.sharing.sharable import SharableSet
from elsinore.template.build import WHOLE, carried_keys, template_parts
from elsinore.template.describe import NOTES, Words
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import TREND, Condition, Every, Floor, Never, Open, Reaches

#: Maximum number of characters of a label's line, and of its lines.
_WIDTH, _MOST_LINES = 34, 6
#: Prefix of lines that name a NOT.
CROSS = "⨂ "
#: Lines of an arrow's label.
Label = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Circle:
    """A state: its aliases, and below them its type if it differs; END states are `double`."""

    name: str
    note: str
    double: bool


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow between two circles.

    `earlier` is None for an arrow to a START state. `later` is None for an arrow from an END state.
    """

    earlier: int | None
    later: int | None
    label: Label


@dataclass(frozen=True, slots=True)
class Diagram:
    """One automaton: the trends of a template, or the matches of a NOT."""

    caption: str
    circles: tuple[Circle, ...]
    arrows: tuple[Arrow, ...]
    negative: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """A query: its name, lines of text below the name, and its automata."""

    title: str
    lines: tuple[str, ...]
    diagrams: tuple[Diagram, ...]


def sheet_of(query: BoundQuery) -> Sheet:
    """Return the content of a query's picture; only text if it has no template."""
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
        carrying = f"trends with {keys}"
        captions = [side] if side != WHOLE else []
        captions += [carrying] if len({t.keys for _, t in parts}) > 1 else []
        words = Words(query, template)
        if any(words.notes(number) for number in template.trend_states) and NOTES not in lines:
            lines.append(NOTES)
        diagrams |= dict.fromkeys(_diagrams(words, ", ".join(captions)))
    return Sheet(query.name, tuple(lines), tuple(diagrams))


def _diagrams(words: Words, caption: str) -> Iterator[Diagram]:
    yield _diagram(words, TREND, caption)
    for guard, found in words.nots.items():
        yield _diagram(words, guard, found.title)


def _diagram(words: Words, guard: int, caption: str) -> Diagram:
    template = words.template
    numbers = [n for n, state in enumerate(template.states) if state.guard == guard]
    place = {number: index for index, number in enumerate(numbers)}
    arrows = []
    for number in filter(place.__contains__, template.starts):
        bar = template.bars.get(number)
        label = _crossed(words, template.starts[number])
        label += _wrapped([words.present(bar.ways, "before")]) if bar is not None else ()
        arrows.append(Arrow(None, place[number], label))
    for step in template.transitions:
        if step.earlier in place:
            label = tuple(_condition_lines(words, step.condition))
            arrows.append(Arrow(place[step.earlier], place[step.later], label))
    arrows += [
        Arrow(place[number], None, _crossed(words, floor))
        for number, floor in template.ends.items()
        if number in place and floor is not None
    ]
    circles = tuple(_circle(words, number) for number in numbers)
    return Diagram(caption, circles, tuple(arrows), negative=guard != TREND)


def _circle(words: Words, number: int) -> Circle:
    name, kind, notes = words.plain_name(number), words.kind(number), words.notes(number)
    below = [kind] if kind != name else []
    below += [f"[{notes}]"] if notes else []
    return Circle(name, "\n".join(below), number in words.template.ends)


def _condition_lines(words: Words, condition: Condition) -> Iterator[str]:
    """Yield a line per condition; conditions of the semantics on every pair are left out."""
    match condition:
        case Every(parts):
            for part in parts:
                yield from _condition_lines(words, part)
        case Open():
            return
        case Reaches(floor):
            yield from _crossed(words, floor)
        case Never(part):
            yield from _wrapped([f"not: {words.condition(part)}"])
        case _:
            yield from _wrapped([words.condition(condition)])


def _crossed(words: Words, floor: Floor | None) -> Label:
    """Return the lines that name the NOT that must not be matched."""
    if floor is None or frozenset() in floor.ways:
        return ()
    text = ", or else ".join(words.guards(way) for way in sorted(floor.ways, key=sorted))
    return tuple(CROSS + line for line in _wrapped([text]))


def _wrapped(texts: Iterable[str], most: int | None = None) -> Label:
    """Return lines of a label, at most `most`; continuation lines are indented."""
    lines = [
        line for text in texts for line in textwrap.wrap(text, _WIDTH, subsequent_indent="   ")
    ]
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], "…"]
    return tuple(lines)


def merged_diagram(found: SharableSet) -> Diagram:
    """Return the merged template of a set: each event type once, arrows with numbers of queries.

    An arrow without a source leads to the states where trends of its queries start. END states are
    double. They have a note with the queries whose trends end there if these are not all queries of
    the state.
    """
    merged = found.merged
    words = [
        Words(_by_types(query), template)
        for query, template in zip(merged.queries, merged.templates, strict=True)
    ]
    every = len(merged.queries)
    arrows = [
        Arrow(None, number, _wrapped([numbers(merged.starts(number), every)], _MOST_LINES))
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
    """Return numbers of queries as text, counted from 1, with ranges.

    The text is `all` if there are several queries and all are meant.

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
    """Return the query with its types as aliases, as in the names of circles."""
    positions = tuple(replace(position, alias=position.type) for position in query.positions)
    return replace(query, positions=positions)


def _labels(found: SharableSet, words: list[Words]) -> dict[tuple[int, int], Label]:
    """Return the label of each pair of states: the conditions, with the queries of each."""
    merged = found.merged
    texts: dict[tuple[int, int], dict[str, list[int]]] = {}
    for link in merged.links:
        # The condition of the first query represents the equal conditions of the others.
        text = words[link.queries[0]].condition(link.condition)
        by_text = texts.setdefault((link.earlier, link.later), {})
        by_text.setdefault(text, []).extend(link.queries)
    return {ends: _told(by_text, len(merged.queries)) for ends, by_text in texts.items()}


def _told(by_text: Mapping[str, Sequence[int]], every: int) -> Label:
    """Return texts with the numbers of their queries; for an empty text, only the numbers."""
    listed = [(numbers(queries, every), text) for text, queries in by_text.items()]
    return _wrapped((f"{who}: {text}" if text else who for who, text in listed), _MOST_LINES)


def _local(found: SharableSet, words: list[Words], number: int) -> Label:
    """Return the conditions of the queries on single events at a state."""
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
    return _told(texts, len(merged.queries))


# ---- layout

RADIUS = 15.0
#: Distance of the outer ring of END states.
RING = 3.0
#: Minimum distance between circles, and the margin of a label between two circles.
_GAP, _BESIDE = 34.0, 16.0
#: Length of arrows with one free end in the row; width and height if they are slanted.
_STUB, _SLANT = 26.0, 18.0
#: Distance between arrows above or below the row, without their labels.
_LIFT = 12.0
#: Horizontal distance from a circle's center at which arrows leave and enter it above and below.
_PORT = 8.0
#: Radius of an arrow's corners.
_BEND = 7.0
_THICK = 1.1
_SHARED_FILL = "#d7dde1"


@dataclass(frozen=True)
class Drawing:
    """A diagram and its layout."""

    diagram: Diagram
    points: tuple[Point, ...]  #: the centers of its circles
    #: the corners of each arrow, from its tail to its head.
    strokes: tuple[tuple[Point, ...], ...]
    labels: tuple[Point, ...]  #: the center of the lower edge of each arrow's label
    width: float
    height: float


def drawing_of(diagram: Diagram) -> Drawing:
    """Return the layout of a diagram: the position of every circle, arrow and label."""
    columns = _columns(diagram)
    by_way: dict[_Way, list[Arrow]] = {way: [] for way in _Way}
    for arrow in diagram.arrows:
        by_way[_way(arrow, len(columns) - 1)].append(arrow)
    notes = max((len(circle.note.splitlines()) for circle in diagram.circles), default=0)
    up = (
        max([RADIUS + RING, *(3.0 + label_height(a.label) for a in by_way[_Way.LEVEL])]) + _LIFT / 2
    )
    slanted = [RADIUS + _SLANT + label_height(a.label) for a in by_way[_Way.ASLANT]]
    down = max([RADIUS + RING + 2.0 + ink.block_height(notes, ink.NOTE), *slanted])
    rise, top = _tracks(by_way[_Way.ABOVE], columns, up)
    fall, bottom = _tracks(by_way[_Way.BELOW], columns, down + _LIFT / 2)
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
    """Return the width of the rounded shape around a state's name; a circle for a short name."""
    return max(2 * RADIUS, ink.text_width(circle.name, ink.NAME) + RADIUS)


def label_width(label: Label) -> float:
    """Return the width of an arrow's label."""
    return ink.block_width(label, ink.LABEL)


def label_height(label: Label) -> float:
    """Return the height of an arrow's label."""
    return ink.block_height(len(label), ink.LABEL)


class _Way(Enum):
    """The course of an arrow.

    It is in the row, below the row with one end free, or above or below the circles that it passes.
    """

    LEVEL, ASLANT, ABOVE, BELOW = range(4)


def _way(arrow: Arrow, last: int) -> _Way:
    """Return the course of an arrow among circles up to number `last`."""
    earlier, later = arrow.earlier, arrow.later
    if earlier is None or later is None:
        return _Way.LEVEL if later == 0 or earlier == last else _Way.ASLANT
    if later == earlier + 1:
        return _Way.LEVEL
    return _Way.ABOVE if later >= earlier else _Way.BELOW


def _columns(diagram: Diagram) -> list[tuple[float, float, float]]:
    """Return the center of each circle's column, and its extent to the left and to the right."""
    columns: list[tuple[float, float, float]] = []
    end, last = 0.0, len(diagram.circles) - 1
    ways = {(arrow.earlier, arrow.later): arrow.label for arrow in diagram.arrows}

    def width(earlier: int | None, later: int | None) -> float:
        return label_width(ways.get((earlier, later), ()))

    for number, circle in enumerate(diagram.circles):
        half = max(
            capsule_width(circle) / 2 + RING,
            ink.block_width(circle.note.splitlines(), ink.NOTE) / 2,
        )
        slanted = capsule_width(circle) / 2 + _SLANT
        left = max(half, slanted) if number > 0 and (None, number) in ways else half
        right = max(half, slanted) if number < last and (number, None) in ways else half
        before = number - 1
        below = width(before, None) + width(None, number)
        gap = max(_GAP, width(before, number) + _BESIDE, below + _BESIDE) if number else 0.0
        end += gap + left
        columns.append((end, left, right))
        end += right
    return columns


def _tracks(
    arrows: Iterable[Arrow], columns: Sequence[tuple[float, float, float]], start: float
) -> tuple[dict[Arrow, float], float]:
    """Return the distance of each arrow from the row, and of the end of the last one.

    Short arrows are next to the row.
    """
    spans: dict[Arrow, tuple[float, float]] = {}
    for arrow in arrows:
        ends = [columns[end][0] for end in (arrow.earlier, arrow.later) if end is not None]
        half = max((max(ends) - min(ends)) / 2, label_width(arrow.label) / 2) + _PORT + 2.0
        spans[arrow] = sum(ends) / 2 - half, sum(ends) / 2 + half
    tracks: list[list[Arrow]] = []
    for arrow in sorted(spans, key=lambda each: spans[each][1] - spans[each][0]):
        left, right = spans[arrow]
        apart = (t for t in tracks if all(spans[o][1] <= left or right <= spans[o][0] for o in t))
        track = next(apart, None)
        if track is None:
            tracks.append(track := [])
        track.append(arrow)
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
    """Return the corners of an arrow and the position of its label; y is 0 in the row."""
    width, tall = label_width(arrow.label), label_height(arrow.label)
    circles = [
        (columns[n], diagram.circles[n]) for n in (arrow.earlier, arrow.later) if n is not None
    ]
    if height is not None:
        side = 1.0 if height > 0 else -1.0
        (tail, earlier), (head, later) = circles
        begin, end = tail[0] + side * _PORT, head[0] - side * _PORT
        corners = (
            (begin, -side * _edge(earlier)), (begin, -height), (end, -height),
            (end, -side * _edge(later)),
        )  # fmt: skip
        below = -height - 2.0 if side > 0 else -height + tall + 2.0
        return corners, ((begin + end) / 2, below)
    if len(circles) == 2:
        (tail, earlier), (head, later) = circles
        corner = tail[0] + _reach(earlier), head[0] - _reach(later)
        return ((corner[0], 0.0), (corner[1], 0.0)), (sum(corner) / 2, -3.0)
    ((column, circle),) = circles
    side = -1.0 if arrow.earlier is None else 1.0
    if _way(arrow, len(columns) - 1) is _Way.LEVEL:
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
    """Return the distance from a circle's center to its side."""
    return capsule_width(circle) / 2 + (RING if circle.double else 0.0)


def _edge(circle: Circle) -> float:
    """Return the distance from a circle's center up to its edge, at the port of arrows."""
    radius = RADIUS + (RING if circle.double else 0.0)
    beyond = max(_PORT - (capsule_width(circle) / 2 - RADIUS), 0.0)
    return sqrt(radius * radius - beyond * beyond)


# ---- drawing


def draw(drawing: Drawing, shared: Iterable[int] = ()) -> ink.Area:
    """Draw circles, arrows and labels; the `shared` circles have a gray background."""
    area, diagram = ink.Area(drawing.width, drawing.height), drawing.diagram
    for circle, point in ((diagram.circles[n], drawing.points[n]) for n in shared):
        out = 2 * (RING + 7.0)
        area.capsule(point, capsule_width(circle) + out, 2 * RADIUS + out, 8.0,
                     facecolor=_SHARED_FILL, linewidth=0)  # fmt: skip
    for stroke in drawing.strokes:
        _draw_arrow(area, stroke)
    fill = ink.NEGATIVE_FILL if diagram.negative else ink.POSITIVE_FILL
    for circle, point in zip(diagram.circles, drawing.points, strict=True):
        _draw_circle(area, circle, point, fill)
    for arrow, at in zip(diagram.arrows, drawing.labels, strict=True):
        _draw_label(area, at, arrow.label)
    return area


def _draw_circle(area: ink.Area, circle: Circle, at: Point, fill: str) -> None:
    for ring in (RING, 0.0) if circle.double else (0.0,):
        radius, width = RADIUS + ring, capsule_width(circle) + 2 * ring
        area.capsule(at, width, 2 * radius, radius, facecolor=fill, edgecolor=ink.LINE,
                     linewidth=_THICK)  # fmt: skip
    area.write(at, circle.name, ink.NAME, align="center")
    for row, note in enumerate(circle.note.splitlines()):
        below = at[1] + RADIUS + 5.0 + ink.NOTE * ink.LEADING * (row + 0.5)
        area.write((at[0], below), note, ink.NOTE, colour=ink.FAINT, align="center", clear=True)


def _draw_arrow(area: ink.Area, corners: Sequence[Point]) -> None:
    """Draw a line with round corners and an arrowhead."""
    vertices, codes = [corners[0]], [Path.MOVETO]
    for (before, corner), (_, after) in pairwise(pairwise(corners)):
        vertices += [_towards(corner, before), corner, _towards(corner, after)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    path = Path([*vertices, corners[-1]], [*codes, Path.LINETO])
    area.put(
        FancyArrowPatch(path=path, arrowstyle="-|>,head_length=5,head_width=2.4", mutation_scale=1,
                        color=ink.LINE, linewidth=_THICK, shrinkA=0, shrinkB=0)
    )  # fmt: skip


def _towards(corner: Point, other: Point) -> Point:
    """Return the start of the bend at a corner, in the direction of another point."""
    dx, dy = other[0] - corner[0], other[1] - corner[1]
    length = hypot(dx, dy) or 1.0
    part = min(_BEND, length / 2) / length
    return corner[0] + part * dx, corner[1] + part * dy


def _draw_label(area: ink.Area, at: Point, label: Label) -> None:
    left = at[0] - label_width(label) / 2
    for row, line in enumerate(label):
        y = at[1] - ink.LABEL * ink.LEADING * (len(label) - row - 0.5)
        colour = ink.CROSSED if line.startswith(CROSS) else ink.TEXT
        area.write((left, y), line, ink.LABEL, colour=colour, clear=True)


# ---- the templates of queries, saved as a picture


_LEGEND = (
    "An arrow without a source marks a possible start of a trend; a double ring marks an end. "
    "Patterns next to a crossed circle must not be matched on the way."
)


@ink.default_style()
def save_templates(queries: Iterable[BoundQuery], path: pathlib.Path) -> None:
    """Draw the templates of queries in a .svg or .png file.

    Raises:
        ParameterError: the ending is not supported, or the file cannot be written.
    """
    require_picture(path)
    sheets = ink.flow(_drawn(sheet_of(query)) for query in queries)
    legend = ink.label(_LEGEND, colour=ink.FAINT)
    ink.save_page(ink.below(sheets, legend, gap=ink.BETWEEN), path)


def _drawn(sheet: Sheet) -> OffsetBox:
    parts = [ink.heading(sheet.title, sheet.lines)]
    for diagram in sheet.diagrams:
        drawn = [draw(drawing_of(diagram))]
        if diagram.caption:
            colour = ink.CROSSED if diagram.negative else ink.FAINT
            drawn.insert(0, ink.label(diagram.caption, colour=colour))
        parts.append(ink.below(*drawn, gap=4.0))
    return ink.below(*parts, gap=8.0)
