"""Draw Hamlet's decisions over event time: the length of each burst, and whether it is shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from elsinore.plot import require_picture
from elsinore.plot.ink import BODY, FAINT, FONT, TEXT, TITLE, default_style, save

#: Maximum number of bursts that are drawn as dots; more are drawn as cells of a grid.
MOST_DOTS = 3_000
#: Number of columns and rows of the grid, and of time ranges with a share.
_ACROSS, _UP, _STRETCHES = 120, 16, 80
#: Colors for no sharing queries, some, and all; also for color-blind people.
_NONE, _SOME, _ALL = "#d55e00", "#e8b730", "#0072b2"
_SAVED = "#1a1a1a"
_KINDS = (("shared by none", _NONE), ("by some queries", _SOME), ("by all", _ALL))
_WIDTH, _HEIGHT = 11.0, 4.2
_MILLISECOND = 1e6  # nanoseconds


@dataclass(frozen=True)
class SetDecisions:
    """Decisions of one sharable set, a row per burst."""

    title: str  #: heading of the set's panels
    times: np.ndarray  #: int64[N], time of the first event of each burst
    lengths: np.ndarray  #: int64[N], number of events of each burst
    #: int64[N], number of queries that share each burst, and that accept it.
    sharing: np.ndarray
    takers: np.ndarray
    #: float64[N], predicted nanoseconds that sharing saves; None without predictions.
    saved: np.ndarray | None
    calendar: bool  #: whether times are microseconds since the epoch, not ticks


def draw_decisions(sets: Sequence[SetDecisions], path: Path) -> None:
    """Draw two panels per set, one above the other, over the same time axis.

    The upper panel shows each burst by its length and whether it is shared. For more than
    `MOST_DOTS` bursts, it shows cells, colored by the share of the queries that share; darker cells
    have more bursts. The lower panel shows the share of the queries that share an event, and the
    predicted cumulative saving.

    Raises:
        ParameterError: the ending is not supported, or the file cannot be written.
    """
    require_picture(path)
    with default_style(), rc_context({"font.family": FONT, "font.size": BODY}):
        rows = max(len(sets), 1)
        figure = Figure(figsize=(_WIDTH, _HEIGHT * rows + 0.3), layout="constrained")
        panels = figure.subplots(
            2 * rows, 1, squeeze=False, gridspec_kw={"height_ratios": [3, 2] * rows}
        )[:, 0]
        for number, each in enumerate(sets):
            above, below = panels[2 * number : 2 * number + 2]
            for panel in (above, below):
                if panel is not panels[0]:
                    panel.sharex(panels[0])
            _lengths(above, each)
            _shares(below, each)
        if not sets:
            for panel in panels:
                panel.set_axis_off()
            panels[0].set_title("No queries share", loc="left", fontsize=TITLE)
        save(figure, path)


def _lengths(axes: Axes, each: SetDecisions) -> None:
    """Draw the upper panel: bursts by time and length."""
    axes.set_title(each.title, loc="left", fontsize=TITLE, fontweight="bold", color=TEXT, pad=22)
    axes.set_ylabel("events in a burst")
    axes.tick_params(labelbottom=False)
    _plain(axes)
    if each.times.size == 0:
        axes.text(0.5, 0.5, "no burst of several queries", transform=axes.transAxes,
                  ha="center", color=FAINT)  # fmt: skip
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    axes.yaxis.set_minor_formatter(lambda *_: "")
    # A margin, so that bursts of one event, or of only one length, are not drawn on the edge.
    axes.set_ylim(0.7, max(2.0, float(each.lengths.max())) * 1.5)
    if each.times.size > MOST_DOTS:
        _cells(axes, each)
    else:
        _dots(axes, each)


def _dots(axes: Axes, each: SetDecisions) -> None:
    moments = _moments(each, each.times)
    kinds = np.where(each.sharing == 0, 0, np.where(each.sharing < each.takers, 1, 2))
    handles = []
    size = 26.0 if each.times.size < 300 else 9.0
    for kind, (name, colour) in enumerate(_KINDS):
        here = kinds == kind
        axes.scatter(moments[here], each.lengths[here], s=size, color=colour, alpha=0.75,
                     linewidth=0, zorder=2)  # fmt: skip
        label = f"{name}: {int(here.sum()):,}"
        handles.append(Line2D([], [], color=colour, marker="o", linewidth=0, label=label))
    _legend(axes, handles)


def _cells(axes: Axes, each: SetDecisions) -> None:
    """Draw cells colored by the share of queries that share; paler cells have fewer bursts."""
    lengths = np.log(each.lengths)
    first, last = int(each.times.min()), int(each.times.max())
    across = np.linspace(first, max(last, first + 1), _ACROSS + 1)
    up = np.linspace(np.log(0.8), max(lengths.max(), np.log(2)) + 0.2, _UP + 1)
    bins = (across, up)
    count, *_ = np.histogram2d(each.times, lengths, bins)
    part, *_ = np.histogram2d(each.times, lengths, bins, weights=each.sharing / each.takers)
    share = np.divide(part, count, out=np.zeros_like(part), where=count > 0)
    shades = LinearSegmentedColormap.from_list("sharing", [_NONE, _SOME, _ALL])
    image = np.array(shades(share))
    image[..., 3] = np.where(count, 0.25 + 0.75 * np.log1p(count) / np.log1p(count.max()), 0.0)
    axes.pcolormesh(_moments(each, across), np.exp(up), image.transpose(1, 0, 2), zorder=2,
                    rasterized=True)  # fmt: skip
    handles = [
        Patch(color=shades(at), label=f"{at:.0%} of queries share") for at in (0.0, 0.5, 1.0)
    ]
    handles.append(Patch(color="none", label=f"{each.times.size:,} bursts; darker: more"))
    _legend(axes, handles)


def _legend(axes: Axes, handles: list[Any]) -> None:
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(handles),
                frameon=False, handletextpad=0.3, columnspacing=1.2, borderaxespad=0.2)  # fmt: skip


def _shares(axes: Axes, each: SetDecisions) -> None:
    """Draw the lower panel: the share of queries that share, and the cumulative saving."""
    _plain(axes)
    axes.set_ylim(0, 1.05)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_ylabel("queries sharing\nan event", color=_ALL)
    if each.times.size == 0:
        return
    order = np.argsort(each.times, kind="stable")
    times = each.times[order]
    edges = np.linspace(times[0], max(int(times[-1]), int(times[0]) + 1), _STRETCHES + 1)
    part, whole = (
        np.histogram(times, edges, weights=(each.lengths * queries)[order].astype(float))[0]
        for queries in (each.sharing, each.takers)
    )
    share = np.divide(part, whole, out=np.full(whole.size, np.nan), where=whole > 0)
    moments = _moments(each, edges)
    axes.stairs(np.nan_to_num(share), moments, fill=True, color=_ALL, alpha=0.35, linewidth=0)
    mean = (each.lengths * each.sharing).sum() / (each.lengths * each.takers).sum()
    axes.set_title(f"{mean:.0%} of the queries share an event, on average", loc="left",
                   fontsize=BODY, color=_ALL)  # fmt: skip
    if each.saved is not None:
        beside: Any = axes.twinx()
        beside.plot(_moments(each, times), np.cumsum(each.saved[order]) / _MILLISECOND,
                    color=_SAVED, linewidth=1.4, drawstyle="steps-post")  # fmt: skip
        beside.set_ylim(bottom=0)
        beside.set_ylabel("saved so far,\npredicted ms", color=_SAVED)
        beside.spines[["top", "left"]].set_visible(False)
    axes.set_xlabel("event time (UTC)" if each.calendar else "event time")
    if each.calendar:
        locator = AutoDateLocator()
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e8ea", linewidth=0.6, zorder=0)
    axes.set_axisbelow(True)


def _moments(each: SetDecisions, times: np.ndarray) -> np.ndarray:
    """Return times as values of the time axis."""
    if not each.calendar:
        return times
    return np.round(times).astype("datetime64[us]")
