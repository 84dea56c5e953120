"""Draw what queries share under a plan: queries as rows of boxes, and merged templates of sets."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from matplotlib.lines import Line2D
from matplotlib.offsetbox import OffsetBox, PaddedBox

from elsinore.executors.plan import RuntimePlan
from elsinore.plot import ink, require_picture
from elsinore.plot.diagram import draw, drawing_of, merged_diagram
from elsinore.plot.ink import BODY, LABEL, Area, below, beside, label, text_width
from elsinore.query.print_query import print_length
from elsinore.sharing.explain import Box, Cut, ExplainedSavings, figure_text
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.sharable import SharableSet, Sharing

#: Maximum number of rows; the queries of the first groups are drawn.
MOST_ROWS = 120
#: Maximum number of characters per line of a set's list of queries.
_LIST_WIDTH = 90
_SETS = (
    "Merged templates of the sharable sets. Labels of arrows are the numbers of their queries; a"
    " Kleene pattern (E+) of several queries is grey; a double ring marks the end of trends."
)
#: Height of a row and of its boxes; gap between boxes of a unit, and padding of a box's text.
_ROW, _BOX, _INNER, _PAD = 25.0, 17.0, 4.0, 5.0
#: Padding of a unit, additional gap between units, and width of a group's tag.
_RIM, _GAP, _TAG = 4.0, 4.0, 24.0
#: Maximum number of characters in a box and in the legend, and of groups in the legend.
_TEXT, _PATTERN, _MOST_GROUPS = 30, 48, 60
#: Colors that differ for color-blind people and are dark enough for white text; they repeat.
_COLOURS = (
    *("#0072b2", "#c75000", "#00805c", "#b0408a", "#6a51a3", "#8c6d1f"),
    *("#17879c", "#b2182b", "#3f5fd0", "#4d7c0f", "#9a4a22", "#5d6d7e"),
)
_KINDS = (
    (Box("Type", 0, 1, frozenset(), negated=False), "computed by the query itself"),
    (Box("Type+", 0, 1, frozenset({"Type"}), negated=False), "Kleene plus"),
    (Box("NOT Type", 0, 1, frozenset(), negated=True), "must not be matched"),
)


@ink.default_style()
def save_sharing(
    plan: StaticPlan,
    cuts: Sequence[Cut],
    savings: ExplainedSavings,
    sharing: Sharing,
    path: Path,
    *,
    runtime: RuntimePlan,
    calendar: bool,
) -> None:
    """Draw queries as rows of boxes, what they share as spans, and the merged templates of sets.

    Args:
        plan: the static plan.
        cuts: how the plan cuts the pattern of each query.
        savings: the savings of its candidates.
        sharing: the sharable sets.
        path: a .svg or .png file to write.
        runtime: the runtime plan of the queries.
        calendar: whether the stream's time is in microseconds; otherwise in ticks without a unit.

    Raises:
        ParameterError: the ending is not supported, or the file cannot be written.
    """
    require_picture(path)
    groups = groups_of(cuts, savings, _named(runtime, sharing))
    order = row_order([cut.query for cut in cuts], groups)
    drawn = [cuts[number] for number in order[:MOST_ROWS]]
    margin = 10.0 + max((text_width(cut.query, BODY, bold=True) for cut in drawn), default=0.0)
    rows = below(*(_row(cut, groups, margin) for cut in drawn))
    parts = [_head(plan, cuts), beside(rows, _legend(groups), gap=2 * ink.BETWEEN, align="top")]
    if sharing.sets:
        blocks = [
            _block(number, found, runtime, calendar=calendar)
            for number, found in enumerate(sharing.sets, 1)
        ]
        parts.append(below(label(_SETS, colour=ink.FAINT), ink.flow(blocks), gap=10.0))
    ink.save_page(below(*parts, gap=20.0), path)


def _head(plan: StaticPlan, cuts: Sequence[Cut]) -> OffsetBox:
    proof = " (proven optimal)" if plan.proven else ""
    number = len(plan.chosen)
    patterns = "1 shared pattern saves" if number == 1 else f"{number} shared patterns save"
    lines = [
        f"Plan {plan.fingerprint[:12]} by {plan.finder}. Numbers are count updates per longest"
        " window. Queries in bold share; parts with equal name and color are computed once."
    ]
    if len(cuts) > MOST_ROWS:
        lines.append(f"{len(cuts) - MOST_ROWS:,} queries with smaller savings are not drawn.")
    return ink.heading(f"{len(cuts)} queries, {patterns} {figure_text(plan.score)}{proof}", lines)


def _block(number: int, found: SharableSet, runtime: RuntimePlan, *, calendar: bool) -> OffsetBox:
    """Return a set's title, lines of text, and merged template."""
    listed = ", ".join(f"{n} {query.name}" for n, query in enumerate(found.queries, 1))
    kinds = ", ".join(f"{kind}+" for kind in found.merged.shared_types)
    keys = ", ".join(found.merged.keys) or "no key"
    pane = print_length(found.pane, calendar=calendar)
    run_by = runtime.executors_of([query.name for query in found.queries])
    run = ", ".join(f"{len(names)} by {executor}" for executor, names in run_by.items())
    lines = [f"partitioned by {keys}; panes of {pane}", f"run: {run}"]
    lines += textwrap.wrap(listed, _LIST_WIDTH)
    title = f"s{number}: {kinds} in {len(found.queries)} queries"
    template = draw(drawing_of(merged_diagram(found)), found.merged.sharers)
    return below(ink.heading(title, lines), template, gap=12.0)


# ---- groups of queries that share


@dataclass(frozen=True)
class Group:
    """A part that several queries share: a chosen candidate, or E+ in a sharable set."""

    name: str  #: the candidate's id, or `s1`, `s2`, ... for the sets
    text: str  #: the pattern
    #: the shared boxes of each query, as a half-open range.
    members: Mapping[str, tuple[int, int]]
    #: the saving, in count updates per longest window; None if unknown.
    net: float | None
    kleene: str | None  #: how E+ is shared; None for a candidate


@dataclass(frozen=True, slots=True)
class Unit:
    """Adjacent boxes of a row: all boxes of a group, or a single private box."""

    boxes: tuple[Box, ...]
    group: int | None


def _named(runtime: RuntimePlan, sharing: Sharing) -> list[tuple[str, SharableSet, str]]:
    """Return the sets that run together, named after their sharable set: s1, or s1a and s1b."""
    set_of = {q.name: f"s{n}" for n, found in enumerate(sharing.sets, 1) for q in found.queries}
    held = [[query.name for query in found.queries] for found, _ in runtime.kleene]
    names = [next((set_of[name] for name in each if name in set_of), "s") for each in held]
    letters = [
        ascii_lowercase[names[:n].count(name) % 26] if names.count(name) > 1 else ""
        for n, name in enumerate(names)
    ]
    together = zip(names, letters, runtime.kleene, strict=True)
    return [(name + letter, found, how) for name, letter, (found, how) in together]


def groups_of(
    cuts: Sequence[Cut], savings: ExplainedSavings, sharing: Sequence[tuple[str, SharableSet, str]]
) -> tuple[Group, ...]:
    """Return the chosen candidates by descending saving, then the E+ that queries share.

    Args:
        cuts: how the plan cuts the pattern of each query.
        savings: the savings of the plan's candidates.
        sharing: per set of queries that run together: its name, the set, and how it shares.
    """
    by_name = {cut.query: cut for cut in cuts}
    groups = []
    for each in savings.shared:
        candidate = each.candidate
        members = {
            place.query: _boxes_at(by_name[place.query], place.start, place.stop)
            for place in candidate.shared_occurrences
        }
        text = f"({', '.join(candidate.pattern)})"
        groups.append(Group(candidate.id, text, members, each.net, None))
    for name, found, how in sharing:
        groups += _kleene_groups(name, found, how, by_name)
    return tuple(groups)


def row_order(queries: Sequence[str], groups: Sequence[Group]) -> list[int]:
    """Return the positions of the queries from top to bottom, ordered by their groups.

    Queries of the first groups come first, and queries without groups come last. Queries with the
    same groups keep their order.
    """
    held = [[n for n, group in enumerate(groups) if name in group.members] for name in queries]
    return sorted(range(len(queries)), key=lambda place: (not held[place], held[place]))


def units_of(cut: Cut, groups: Sequence[Group]) -> tuple[Unit, ...]:
    """Return the units of a row, from left to right."""
    begins = {
        group.members[cut.query][0]: (number, group.members[cut.query][1])
        for number, group in reversed(list(enumerate(groups)))
        if cut.query in group.members
    }
    boxes, units, at = cut.boxes, [], 0
    while at < len(boxes):
        number, stop = begins.get(at, (None, at + 1))
        units.append(Unit(boxes[at:stop], number))
        at = stop
    return tuple(units)


def _boxes_at(cut: Cut, start: int, stop: int) -> tuple[int, int]:
    """Return the boxes that cover positions `start` to `stop - 1`, as a half-open range."""
    inside = [n for n, box in enumerate(cut.boxes) if box.start < stop and start < box.stop]
    return inside[0], inside[-1] + 1


def _kleene_groups(
    name: str, found: SharableSet, how: str, by_name: Mapping[str, Cut]
) -> list[Group]:
    """Return a group per E+ of a set; if a box of a query has several E+, only the first counts."""
    merged, groups = found.merged, []
    taken: set[tuple[str, int]] = set()
    for state, queries in merged.sharers.items():
        members = {}
        for number in queries:
            query = found.queries[number].name
            own = merged.templates[number].states[merged.states[state].members[number]]
            at = min(own.positions)
            place = _boxes_at(by_name[query], at, at + 1)
            if (query, place[0]) not in taken:
                taken.add((query, place[0]))
                members[query] = place
        if len(members) > 1:
            text = f"{merged.states[state].type}+"
            groups.append(Group(name, text, members, None, how))
    return groups


# ---- boxes


def _row(cut: Cut, groups: Sequence[Group], margin: float) -> OffsetBox:
    """Return a query's name, then its units with lines between them."""
    units = units_of(cut, groups)
    shares = any(unit.group is not None for unit in units)
    parts: list[OffsetBox] = [label(cut.query, bold=shares, width=margin, height=_ROW)]
    for unit in units:
        if len(parts) > 1:
            line = Area(_GAP, _BOX)
            ends = [-_RIM, _GAP + _RIM], [_BOX / 2, _BOX / 2]
            line.put(Line2D(*ends, color=ink.LINE, linewidth=0.8))
            parts.append(line)
        parts.append(_unit(unit, groups))
    return beside(*parts)


def _unit(unit: Unit, groups: Sequence[Group]) -> OffsetBox:
    """Return adjacent boxes; shared ones have a background and the group's name in its color."""
    shared = unit.group is not None
    colour = ink.LINE if unit.group is None else _colour(unit.group)
    boxes = [_box(box, colour) for box in unit.boxes]
    if unit.group is not None:
        boxes.insert(0, _tag(unit.group, groups[unit.group]))
    ground = {"facecolor": colour, "alpha": 0.28, "linewidth": 0}
    return PaddedBox(beside(*boxes, gap=_INNER), _RIM, draw_frame=shared, patch_attrs=ground)


def _legend(groups: Sequence[Group]) -> OffsetBox:
    """Return the groups with their savings, then the kinds of boxes."""
    listed = [
        f"{_shortened(group.text, _PATTERN)} in {len(group.members)} queries"
        for group in groups[:_MOST_GROUPS]
    ]
    width = ink.block_width(listed, BODY) + 8.0
    lines = []
    for number, (group, text) in enumerate(zip(groups, listed, strict=False)):
        told = figure_text(group.net) if group.net is not None else group.kleene or ""
        what = label(told, colour=ink.FAINT if group.kleene else ink.TEXT)
        tag = _tag(number, group)
        lines.append(beside(tag, label(text, width=width, height=_ROW), what, gap=8.0))
    if len(groups) > _MOST_GROUPS:
        more = f"and {len(groups) - _MOST_GROUPS} more"
        lines.append(beside(Area(_TAG, _ROW), label(more, colour=ink.FAINT), gap=8.0))
    for box, text in _KINDS:
        meaning = label(text, colour=ink.FAINT, height=_ROW)
        lines.append(beside(_box(box, ink.LINE), meaning, gap=10.0))
    kinds = below(*lines[-len(_KINDS) :])
    return below(below(*lines[: -len(_KINDS)]), kinds, gap=_ROW) if groups else kinds


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _colour(group: int) -> str:
    return _COLOURS[group % len(_COLOURS)]


def _tag(number: int, group: Group) -> Area:
    """Return a group's name in its color; round for E+."""
    colour = _colour(number)
    tag = _capsule(_TAG, colour, colour, round_=group.kleene is not None)
    size = LABEL if len(group.name) < 4 else LABEL - 2.0
    tag.write((_TAG / 2, _BOX / 2), group.name, size, colour="white", bold=True, align="center")
    return tag


def _box(box: Box, colour: str) -> Area:
    """Return a part of a pattern: round for E+, red for NOT."""
    text = _shortened(box.text, _TEXT)
    edge, fill = (ink.CROSSED, ink.NEGATIVE_FILL) if box.negated else (colour, "white")
    area = _capsule(text_width(text, LABEL) + 2 * _PAD, edge, fill, round_=bool(box.kleene))
    written = ink.CROSSED if box.negated else ink.TEXT
    area.write((area.width / 2, _BOX / 2), text, LABEL, colour=written, align="center")
    return area


def _capsule(width: float, edge: str, fill: str, *, round_: bool) -> Area:
    area = Area(width, _BOX)
    radius = _BOX / 2 - 0.1 if round_ else 1.5
    area.capsule((width / 2, _BOX / 2), width, _BOX, radius, facecolor=fill, edgecolor=edge,
                 linewidth=1.1)  # fmt: skip
    return area
