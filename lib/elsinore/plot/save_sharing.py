"""Draws who shares what under a plan and saves it as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

from elsinore.engine.plan import RuntimePlan
from elsinore.plot.diagram import (
    RADIUS,
    RING,
    Drawing,
    capsule_width,
    draw,
    drawing_of,
    merged_diagram,
)
from elsinore.plot.draw_sharing import (
    Group,
    Rows,
    draw_legend,
    draw_rows,
    groups_of,
    legend_size,
    row_order,
    units_of,
)
from elsinore.plot.ink import (
    BODY,
    FAINT,
    LEADING,
    TITLE,
    Point,
    block_height,
    block_width,
    page,
    require_picture,
    save,
    text_width,
    write,
)
from elsinore.query.print_query import print_length
from elsinore.sharing.explain import Cut, ExplainedSavings, figure_text
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.sharable import SharableSet, Sharing, kleene_sharers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More rows than these are not drawn; those that share most are.
MOST_ROWS = 120
_MARGIN, _BETWEEN = 24.0, 34.0
#: Characters of a line of a set's list of queries.
_LIST_WIDTH = 90
_SHARED_FILL = "#d7dde1"
_SETS = (
    "Merged templates of the sharable sets: arrows are labelled by the numbers of the queries that"
    " have them; what several queries repeat (E+) is grey; a double ring is where trends end."
)


@dataclass(frozen=True)
class _Block:
    """A set: its title, lines of text below that, and its merged template."""

    title: str
    lines: tuple[str, ...]
    drawing: Drawing
    shared: tuple[int, ...]

    @property
    def width(self) -> float:
        widths = [text_width(self.title, TITLE, bold=True), self.drawing.width]
        return max(*widths, block_width(list(self.lines), BODY))

    @property
    def heading(self) -> float:
        return TITLE * LEADING + block_height(len(self.lines), BODY) + 12.0

    @property
    def height(self) -> float:
        return self.heading + self.drawing.height


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
    """Draw queries as rows of boxes, what they share as spans, and the sets' merged templates.

    Args:
        plan: the plan, for the title.
        cuts: of every query.
        savings: what the chosen candidates save.
        sharing: the sharable sets.
        path: a file that ends in .svg or .png.
        runtime: which queries of a set run together, and how.
        calendar: whether the stream's time is in microseconds, not in ticks of no unit.

    Raises:
        ParameterError: another ending, or the file cannot be written.
    """
    require_picture(path)
    run_by = [runtime.executors_of([q.name for q in found.queries]) for found in sharing.sets]
    groups = groups_of(cuts, savings, _named(runtime, sharing))
    rows, left_out = _ordered_rows(cuts, groups)
    listed, tall = legend_size(rows.groups)
    blocks = [
        _block(number, found, each, calendar=calendar)
        for number, (found, each) in enumerate(zip(sharing.sets, run_by, strict=True), 1)
    ]
    head = _head(plan, len(cuts), left_out)
    beside = rows.width + 2 * _BETWEEN
    top = _MARGIN + TITLE * LEADING + block_height(len(head) - 1, BODY) + 14.0
    below = top + max(rows.height, tall) + _BETWEEN
    texts = [text_width(head[0], TITLE, bold=True), block_width(list(head[1:]), BODY)]
    texts += [text_width(_SETS, BODY)] if blocks else []
    width = max(beside + listed, *texts)
    corners, widest, bottom = _corners(blocks, below + BODY * LEADING + 10.0, width)
    width = max(width, widest) + 2 * _MARGIN
    height = (bottom if blocks else below) + _MARGIN
    figure, axes = page(width, height)
    _write_head(axes, head)
    draw_rows(axes, rows, (_MARGIN, top))
    draw_legend(axes, rows.groups, (_MARGIN + beside, top))
    if blocks:
        write(axes, (_MARGIN, below), _SETS, BODY, colour=FAINT)
    for block, corner in zip(blocks, corners, strict=True):
        _draw_block(axes, block, corner)
    save(figure, path)


def _named(runtime: RuntimePlan, sharing: Sharing) -> list[tuple[str, SharableSet, str]]:
    """What runs together, under the name of the set that it is of: s1, or s1a and s1b."""
    set_of = {q.name: f"s{n}" for n, found in enumerate(sharing.sets, 1) for q in found.queries}
    held = [[query.name for query in found.queries] for found, _ in runtime.kleene]
    names = [next((set_of[name] for name in each if name in set_of), "s") for each in held]
    letters = [
        ascii_lowercase[names[:n].count(name) % 26] if names.count(name) > 1 else ""
        for n, name in enumerate(names)
    ]
    together = zip(names, letters, runtime.kleene, strict=True)
    return [(name + letter, found, how) for name, letter, (found, how) in together]


def _ordered_rows(cuts: Sequence[Cut], groups: tuple[Group, ...]) -> tuple[Rows, int]:
    """The rows, and how many are left out."""
    order = row_order([cut.query for cut in cuts], groups)
    drawn = [cuts[number] for number in order[:MOST_ROWS]]
    units = tuple(units_of(cut, groups) for cut in drawn)
    return Rows(tuple(cut.query for cut in drawn), units, groups), len(cuts) - len(drawn)


def _head(plan: StaticPlan, queries: int, left_out: int) -> tuple[str, ...]:
    proof = " (proven optimal)" if plan.proven else ""
    saved = f"{figure_text(plan.score)}{proof}"
    number = len(plan.chosen)
    patterns = "1 shared pattern saves" if number == 1 else f"{number} shared patterns save"
    lines = [
        f"{queries} queries, {patterns} {saved}",
        f"Plan {plan.fingerprint[:12]} by {plan.finder}; figures are count updates per longest"
        " window. Queries in bold share; what has one name and colour is computed once.",
    ]
    if left_out:
        lines.append(f"{left_out:,} queries that share less are not drawn.")
    return tuple(lines)


def _write_head(axes: Axes, head: tuple[str, ...]) -> None:
    y = _MARGIN + TITLE * LEADING / 2
    write(axes, (_MARGIN, y), head[0], TITLE, bold=True)
    y += (TITLE + BODY) * LEADING / 2
    for line in head[1:]:
        write(axes, (_MARGIN, y), line, BODY, colour=FAINT)
        y += BODY * LEADING


def _block(
    number: int, found: SharableSet, run_by: Mapping[str, Sequence[str]], *, calendar: bool
) -> _Block:
    listed = ", ".join(f"{n} {query.name}" for n, query in enumerate(found.queries, 1))
    kinds = ", ".join(f"{t}+" for t in dict.fromkeys(
        found.merged.states[state].type for state in kleene_sharers(found)))  # fmt: skip
    keys = ", ".join(found.merged.keys) or "no key"
    pane = print_length(found.pane) if calendar else str(found.pane)
    run = ", ".join(f"{len(names)} by {executor}" for executor, names in run_by.items())
    head = [f"partitioned by {keys}; panes of {pane}", f"run: {run}"]
    lines = [*head, *textwrap.wrap(listed, _LIST_WIDTH)]
    drawing = drawing_of(merged_diagram(found))
    title = f"s{number}: {kinds} in {len(found.queries)} queries"
    return _Block(title, tuple(lines), drawing, found.merged.kleene)


def _corners(
    blocks: Sequence[_Block], top: float, width: float
) -> tuple[list[Point], float, float]:
    """The upper left corner of each block, line by line, the widest line, and the lower end."""
    corners: list[Point] = []
    x, y, bottom, widest = _MARGIN, top, top, 0.0
    for block in blocks:
        if x > _MARGIN and x + block.width > _MARGIN + width:
            x, y = _MARGIN, bottom
        corners.append((x, y))
        bottom = max(bottom, y + block.height + _BETWEEN)
        widest = max(widest, x + block.width - _MARGIN)
        x += block.width + 2 * _BETWEEN
    return corners, widest, bottom


def _draw_block(axes: Axes, block: _Block, corner: Point) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = corner
    write(axes, (x, y + TITLE * LEADING / 2), block.title, TITLE, bold=True)
    for number, line in enumerate(block.lines):
        at = y + TITLE * LEADING + BODY * LEADING * (number + 0.5)
        write(axes, (x, at), line, BODY, colour=FAINT)
    y += block.heading
    for state in block.shared:
        middle, down = block.drawing.points[state]
        half = capsule_width(block.drawing.diagram.circles[state]) / 2 + RING + 7.0
        tall = RADIUS + RING + 7.0
        axes.add_patch(
            FancyBboxPatch((x + middle - half, y + down - tall), 2 * half, 2 * tall,
                           boxstyle="round,pad=0,rounding_size=8", facecolor=_SHARED_FILL,
                           linewidth=0, zorder=0.2)
        )  # fmt: skip
    draw(axes, block.drawing, (x, y))
