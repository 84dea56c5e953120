"""The Sharon graph as a picture: benefits, conflicts, what was chosen and what was pruned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elsinore.plot import require_picture
from elsinore.plot.ink import save
from elsinore.sharing.candidates import Place
from elsinore.sharing.plan import Fate, PlannedCandidate, StaticPlan

#: More vertices than these do not fit around a circle legibly.
_MOST = 120
#: Up to so many have labels of two lines; those of more are turned outwards.
_FEW = 20
#: Longest pattern that is written out.
_PATTERN = 44

#: Sizes of type in points.
_TITLE_TYPE, _TYPE, _SMALL_TYPE = 11, 10, 7

#: Colours that stay apart for colour-blind eyes and in grey.
_FILL = {Fate.CHOSEN: "#0072b2", Fate.PRUNED: "#d9d9d9", Fate.IN_CONFLICT: "#f7e3b5"}
_LABEL = {
    Fate.CHOSEN: "chosen",
    Fate.PRUNED: "pruned by the reduction",
    Fate.IN_CONFLICT: "in conflict with a chosen one",
}


def draw_plan(plan: StaticPlan, path: Path) -> None:
    """Draw the plan's Sharon graph in a .svg or .png file; ParameterError: it cannot be written.

    The vertices, the beneficial candidates, stand around a circle in the order of mining; their
    area follows their benefit. The 120 of largest benefit are drawn; a line says how many are not.
    """
    require_picture(path)
    vertices = [c for c in plan.candidates if c.degree is not None or c.fate is Fate.CHOSEN]
    largest = sorted(vertices, key=lambda c: -_benefit(c))[:_MOST]
    drawn = [candidate for candidate in vertices if candidate in largest]
    many = len(drawn) > _FEW
    radius = max(2.2, len(drawn) * 0.05)
    across, along = _room(drawn, many=many)
    title = _title(plan, len(vertices) - len(drawn))
    width = max(map(len, title)) * _TITLE_TYPE * 0.66 / 72
    height = 2 * (radius + along) + 1.4 if drawn else 1.2
    size = max(2 * (radius + across), width), height
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle("\n".join(title), fontsize=_TITLE_TYPE)
    axes: Any = figure.add_subplot(aspect="equal")
    axes.set_axis_off()
    if drawn:
        axes.set_xlim(-1 - across / radius, 1 + across / radius)
        axes.set_ylim(-1 - along / radius, 1 + along / radius)
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(drawn)) / len(drawn)
        points = np.column_stack([np.cos(angles), np.sin(angles)])
        _draw_conflicts(axes, drawn, points)
        _draw_vertices(axes, drawn, points)
        _write_labels(axes, drawn, angles, many=many)
        _write_legend(figure, plan)
    else:
        axes.text(0.5, 0.5, "There is nothing to share.", ha="center", fontsize=_TYPE)
    save(figure, path)


def _room(drawn: list[PlannedCandidate], *, many: bool) -> tuple[float, float]:
    """Inches for the labels beside, and above and below, the circle."""
    texts = (line for c in drawn for line in _text(c, one_line=many).split("\n"))
    longest = max(map(len, texts), default=0)
    size = _SMALL_TYPE if many else _TYPE
    length = 0.4 + longest * size * 0.66 / 72
    return length, length if many else 1.0


def _benefit(candidate: PlannedCandidate) -> float:
    """What the plan saves by it, or what sharing it among all queries would."""
    return candidate.benefit if candidate.shared_benefit is None else candidate.shared_benefit


def _conflicts(drawn: list[PlannedCandidate]) -> list[tuple[int, int]]:
    """Pairs that meet at a position of a query, as places in the list."""
    meeting: dict[Place, list[int]] = {}
    for number, candidate in enumerate(drawn):
        for occurrence in candidate.occurrences:
            for place in occurrence.places:
                meeting.setdefault(place, []).append(number)
    return sorted({(a, b) for ids in meeting.values() for a in ids for b in ids if a < b})


def _draw_conflicts(axes: Any, drawn: list[PlannedCandidate], points: Any) -> None:
    edges = _conflicts(drawn)
    width = 1.2 if len(edges) < 100 else 0.5
    for left, right in edges:
        decided = Fate.CHOSEN in (drawn[left].fate, drawn[right].fate)
        axes.plot(
            *points[[left, right]].T,
            color="#d55e00" if decided else "#999999",
            linewidth=width, alpha=0.8 if decided else 0.45, zorder=1,
        )  # fmt: skip


def _draw_vertices(axes: Any, drawn: list[PlannedCandidate], points: Any) -> None:
    largest = max((_benefit(candidate) for candidate in drawn), default=1.0)
    room = 1400 if len(drawn) <= _FEW else 28_000 / len(drawn)
    for candidate, (x, y) in zip(drawn, points, strict=True):
        axes.scatter(
            x, y, s=room * (0.25 + 0.75 * _benefit(candidate) / largest),
            color=_FILL[candidate.fate], edgecolor="black", zorder=2,
            linestyle="--" if candidate.fate is Fate.PRUNED else "-",
            linewidth=2.0 if candidate.fate is Fate.CHOSEN else 0.8,
        )  # fmt: skip


def _write_labels(axes: Any, drawn: list[PlannedCandidate], angles: Any, *, many: bool) -> None:
    """Names with benefits beside the circle, turned outwards where there are many."""
    away = 1.08 if many else 1.2
    for candidate, angle in zip(drawn, angles, strict=True):
        x, y = away * np.cos(angle), away * np.sin(angle)
        left = np.cos(angle) < -1e-9
        middle = not many and abs(np.cos(angle)) < 0.2
        turned = np.degrees(angle) + (180 if left else 0)
        axes.text(
            x, y, _text(candidate, one_line=many),
            ha="center" if middle else "right" if left else "left",
            va="center" if many or not middle else "bottom" if y > 0 else "top",
            rotation=turned if many else 0, rotation_mode="anchor",
            fontsize=_SMALL_TYPE if many else _TYPE,
            fontweight="bold" if candidate.fate is Fate.CHOSEN else "normal",
        )  # fmt: skip


def _text(candidate: PlannedCandidate, *, one_line: bool) -> str:
    pattern = ", ".join(candidate.pattern)
    if len(pattern) > _PATTERN:
        pattern = f"{pattern[: _PATTERN - 3]}..."
    some = len(candidate.shared_by) < len(candidate.queries) and candidate.shared_by
    sharing = f", {len(candidate.shared_by)} of {len(candidate.queries)} queries" if some else ""
    title = f"{candidate.id}: {_benefit(candidate):,.4g}{sharing}"
    return f"{title} ({pattern})" if one_line else f"{title}\n({pattern})"


def _write_legend(figure: Any, plan: StaticPlan) -> None:
    fates = [fate for fate in _FILL if any(c.fate is fate for c in plan.candidates)]
    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=10, markeredgecolor="black",
               markerfacecolor=_FILL[fate], label=_LABEL[fate])
        for fate in fates
    ]  # fmt: skip
    handles.append(Line2D([], [], color="#d55e00", label="conflict with a chosen one"))
    handles.append(Line2D([], [], color="#999999", label="other conflict"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)


def _title(plan: StaticPlan, left_out: int) -> list[str]:
    bound = "" if plan.bound is None else f", bound {plan.bound:,.6g}"
    lines = [
        f"Sharon graph; plan by {plan.finder}: score {plan.score:,.6g}{bound}"
        f"{' (proven)' if plan.proven else ''}, guaranteed {plan.guaranteed_weight:,.6g}"
    ]
    below = sum(c.fate is Fate.NOT_BENEFICIAL for c in plan.candidates)
    if below:
        are = "candidate is" if below == 1 else "candidates are"
        lines.append(
            f"{below:,} {are} not beneficial and no {'vertex' if below == 1 else 'vertices'}"
        )
    if left_out:
        lines.append(f"{left_out:,} vertices of smaller benefit are not drawn")
    return lines
