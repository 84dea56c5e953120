"""Draw the Sharon graph: benefits, conflicts, chosen and pruned candidates."""

from __future__ import annotations

from math import cos, degrees, pi, sin, sqrt
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.lines import Line2D
from matplotlib.offsetbox import OffsetBox
from matplotlib.patches import Circle

from elsinore.plot import ink, require_picture
from elsinore.sharing.graph import SharonGraph
from elsinore.sharing.plan import Fate, PlannedCandidate, StaticPlan

#: Maximum number of vertices that are legible in a circle.
_MOST = 120
#: Maximum number of vertices whose labels have two lines; otherwise, labels are rotated.
_FEW = 20
#: Maximum number of characters of a pattern.
_PATTERN = 44

#: Colors that differ in grayscale and for color-blind people.
_FILL = {Fate.CHOSEN: "#0072b2", Fate.PRUNED: "#d9d9d9", Fate.IN_CONFLICT: "#f7e3b5"}
_LABEL = {
    Fate.CHOSEN: "chosen",
    Fate.PRUNED: "pruned by the reduction",
    Fate.IN_CONFLICT: "in conflict with a chosen one",
}
_DECIDED, _OTHER = "#d55e00", "#999999"


@ink.default_style()
def draw_plan(plan: StaticPlan, path: Path) -> None:
    """Draw the Sharon graph of a plan in a .svg or .png file.

    The vertices are the beneficial candidates. They are arranged in a circle, in the order of
    mining, and their area grows with their benefit. At most 120 vertices are drawn, the largest
    benefits first. A line of text shows how many are not drawn.

    Raises:
        ParameterError: the ending is not supported, or the file cannot be written.
    """
    require_picture(path)
    vertices = [c for c in plan.candidates if c.degree is not None or c.fate is Fate.CHOSEN]
    largest = sorted(vertices, key=lambda c: -_benefit(c))[:_MOST]
    drawn = [candidate for candidate in vertices if candidate in largest]
    head = ink.heading("Sharon graph", _told(plan, len(vertices) - len(drawn)))
    parts = [_graph(drawn), _legend(plan)] if drawn else [ink.label("Nothing to share.")]
    ink.save_page(ink.below(head, *parts, gap=16.0), path)


def _benefit(candidate: PlannedCandidate) -> float:
    """Return the saving in the plan, or if it is not chosen, the benefit for all queries."""
    return candidate.benefit if candidate.shared_benefit is None else candidate.shared_benefit


def _graph(drawn: list[PlannedCandidate]) -> ink.Area:
    """Draw vertices in a circle, lines between candidates in conflict, and the names.

    If there are many vertices, the names are rotated outwards.
    """
    many = len(drawn) > _FEW
    size = ink.NOTE if many else ink.NAME
    texts = [_text(candidate, one_line=many) for candidate in drawn]
    longest = max(ink.text_width(line, size, bold=True) for lines in texts for line in lines)
    radius, widest = max(160.0, len(drawn) * 3.6), sqrt(9_000.0 / max(len(drawn), _FEW))
    out = radius + widest + 12.0
    beside, above = out + longest, out + (longest if many else 30.0)
    area = ink.Area(2 * beside, 2 * above)
    angles = [pi / 2 - 2 * pi * number / len(drawn) for number in range(len(drawn))]

    def at(angle: float, away: float) -> ink.Point:
        return beside + away * cos(angle), above - away * sin(angle)

    _draw_conflicts(area, drawn, [at(angle, radius) for angle in angles])
    largest = max(map(_benefit, drawn))
    for candidate, angle, lines in zip(drawn, angles, texts, strict=True):
        chosen, left = candidate.fate is Fate.CHOSEN, cos(angle) < -1e-9
        part = 0.25 + 0.75 * _benefit(candidate) / largest
        area.put(
            Circle(at(angle, radius), sqrt(part) * widest, edgecolor="black",
                   facecolor=_FILL[candidate.fate], linewidth=2.0 if chosen else 0.8,
                   linestyle="--" if candidate.fate is Fate.PRUNED else "-")
        )  # fmt: skip
        upright = not many and abs(cos(angle)) < 0.2
        half = ink.block_height(len(lines), size) / 2
        x, y = at(angle, out + (half if upright else 0.0))
        for row, line in enumerate(lines):
            area.write(
                (x, y - half + ink.block_height(1, size) * (row + 0.5)), line, size, bold=chosen,
                align="center" if upright else "right" if left else "left",
                turned=degrees(angle) + 180.0 * left if many else 0.0,
            )  # fmt: skip
    return area


def _draw_conflicts(area: ink.Area, drawn: list[PlannedCandidate], points: list[ink.Point]) -> None:
    places = {c.id: [place for each in c.occurrences for place in each.places] for c in drawn}
    graph = SharonGraph.meeting(dict.fromkeys(places, 1.0), places)
    edges = np.argwhere(np.triu(graph.adjacency.toarray())).tolist()
    width = 1.2 if len(edges) < 100 else 0.5
    for ends in edges:
        decided = Fate.CHOSEN in (drawn[end].fate for end in ends)
        area.put(
            Line2D(*zip(*(points[end] for end in ends), strict=True), linewidth=width,
                   color=_DECIDED if decided else _OTHER, alpha=0.8 if decided else 0.45)
        )  # fmt: skip


def _text(candidate: PlannedCandidate, *, one_line: bool) -> list[str]:
    pattern = ", ".join(candidate.pattern)
    if len(pattern) > _PATTERN:
        pattern = f"{pattern[: _PATTERN - 3]}..."
    some = len(candidate.shared_by) < len(candidate.queries) and candidate.shared_by
    sharing = f", {len(candidate.shared_by)} of {len(candidate.queries)} queries" if some else ""
    title = f"{candidate.id}: {_benefit(candidate):,.4g}{sharing}"
    return [f"{title} ({pattern})"] if one_line else [title, f"({pattern})"]


def _legend(plan: StaticPlan) -> OffsetBox:
    fates = [fate for fate in _FILL if any(c.fate is fate for c in plan.candidates)]
    signs: dict[str, Artist] = {
        _LABEL[fate]: Circle((12.0, 7.0), 5.0, facecolor=_FILL[fate], edgecolor="black")
        for fate in fates
    }
    signs["conflict with a chosen one"] = Line2D([0.0, 24.0], [7.0, 7.0], color=_DECIDED)
    signs["other conflict"] = Line2D([0.0, 24.0], [7.0, 7.0], color=_OTHER)
    parts = []
    for text, sign in signs.items():
        area = ink.Area(24.0, 14.0)
        area.put(sign)
        parts.append(ink.beside(area, ink.label(text), gap=6.0))
    return ink.beside(*parts, gap=20.0)


def _told(plan: StaticPlan, left_out: int) -> list[str]:
    bound = "" if plan.bound is None else f", bound {plan.bound:,.6g}"
    lines = [
        f"Plan by {plan.finder}: score {plan.score:,.6g}{bound}"
        f"{' (proven)' if plan.proven else ''}, guaranteed {plan.guaranteed_weight:,.6g}"
    ]
    below = sum(c.fate is Fate.NOT_BENEFICIAL for c in plan.candidates)
    if below:
        are = "candidate is" if below == 1 else "candidates are"
        lines.append(f"{below:,} {are} not beneficial and not drawn")
    if left_out:
        lines.append(f"{left_out:,} vertices of smaller benefit are not drawn")
    return lines
