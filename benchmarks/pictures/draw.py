"""The pictures of the pages: trends, windows, sharing, a query's way, and the pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from pathlib import Path

from benchmarks.pictures.draw_pipeline import draw_late_event, draw_pipeline
from benchmarks.pictures.svg import BLUE, FAINT, GREEN, INK, QUIET, RED, Drawing

_RIDES = Path(__file__).parents[2] / "docs" / "example" / "rides.jsonl"
#: `T.speed < 10` in the query of rides.sase.
_SLOW = 10


def speeds(driver: str = "ann") -> list[int]:
    """Return the speeds of a driver's ride in `docs/example/rides.jsonl`, in order of time."""
    lines = _RIDES.read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [e["speed"] for e in events if e["type"] == "Travel" and e["driver"] == driver]


def falling(values: Sequence[int]) -> list[tuple[int, ...]]:
    """Return all subsequences of slow speeds in which each speed is below the one before.

    >>> falling([30, 8, 5])
    [(8,), (5,), (8, 5)]
    """
    slow = [value for value in values if value < _SLOW]
    return [
        chosen
        for length in range(1, len(slow) + 1)
        for chosen in combinations(slow, length)
        if all(a > b for a, b in pairwise(chosen))
    ]


def draw_trends() -> Drawing:
    """Five events and all trends among them."""
    values = speeds()
    trends = falling(values)
    drawing = Drawing(f"{len(values)} events, {len(trends)} trends", 600)
    drawing.text((24, 40), "One ride: 5 speeds, then a cancellation", bold=True)
    places = {}
    for number, value in enumerate(values):
        places[value] = (70 + 105 * number, 270 - 20 * min(value, 9.5))
    for before, after in combinations(values, 2):
        if _SLOW > before > after:
            drawing.line(places[before], places[after], "#9fc3df")
    for value, (x, y) in places.items():
        color = BLUE if value < _SLOW else QUIET
        drawing.dot((x, y), color, 23)
        drawing.text((x, y + 8), str(value), "#ffffff", anchor="middle", bold=True)
    drawing.text((110, 87), "not slow", QUIET)
    drawing.line((40, 265), (600, 265), FAINT)
    drawing.text((24, 298), "time", QUIET)
    drawing.arrow((78, 291), (600, 291))
    drawing.text((628, 238), "cancel", RED, anchor="end", bold=True)
    drawing.text((24, 350), f"{len(trends)} trends: slow, and slower each time", bold=True)
    _chips(drawing, ["-".join(map(str, trend)) for trend in trends], 370)
    drawing.text((24, 582), f"{len(trends)} trends hold {sum(map(len, trends))} speeds.", QUIET)
    return drawing


def _chips(drawing: Drawing, labels: Sequence[str], top: float) -> None:
    """Put labels into rows, one row for each length."""
    lengths = sorted({label.count("-") for label in labels})
    for row, length in enumerate(lengths):
        width = 62 + 28 * length
        for column, label in enumerate(each for each in labels if each.count("-") == length):
            place = (24 + (width + 14) * column, top + 60 * row)
            drawing.chip(place, width, label, BLUE)


def draw_windows() -> Drawing:
    """Windows without and with SLIDE, a match on a border, and the hour that owns each window."""
    drawing = Drawing("Windows are slots of the clock; the hour in which one ends owns it", 600)
    left, hour = 60, 180.0

    def at(time: float) -> float:
        return left + hour * (time - 9)

    for number in range(9, 13):
        drawing.line((at(number), 58), (at(number), 515), FAINT)
        drawing.text((at(number), 46), f"{number}:00", QUIET, anchor="middle")
    first, last = at(9.75), at(10.25)
    drawing.line((first, 84), (last, 84), RED)
    drawing.dot((first, 84), RED)
    drawing.dot((last, 84), RED)
    drawing.text((at(10.4), 91), "a match, 9:45 to 10:15", RED)
    drawing.text((24, 142), "WITHIN 1 hour", bold=True)
    for start in (9.0, 10.0, 11.0):
        drawing.box((at(start) + 3, 158), (hour - 6, 38), "#eef4f9", BLUE)
        drawing.text((at(start + 0.5), 185), _owner(start + 1), anchor="middle")
    drawing.text((24, 226), "No window holds both events: the match is lost.", RED)
    drawing.text((24, 284), "WITHIN 1 hour SLIDE 30 minutes", bold=True)
    for row, start in enumerate((9.0, 9.5, 10.0, 10.5, 11.0)):
        top = 300 + 42 * row
        holds = start <= 9.75 and start + 1 > 10.25
        color = GREEN if holds else BLUE
        drawing.box((at(start) + 3, top), (hour - 6, 36), "#e6f3e8" if holds else "#eef4f9", color)
        drawing.text((at(start + 0.5), top + 26), _owner(start + 1), anchor="middle")
        if holds:
            drawing.text((at(start + 1.05), top + 26), "holds the match", GREEN)
    drawing.text((24, 550), "In the boxes: the owner of the window, which is", QUIET)
    drawing.text((24, 578), "the hour in which the window ends.", QUIET)
    return drawing


def _owner(end: float) -> str:
    """Name the hour that owns a window; a window that ends at 10:00 ends in the hour 9."""
    return f"hour {math.ceil(end) - 1}"


def draw_sharing() -> Drawing:
    """Three queries that have a loop in common, computed apart and once."""
    drawing = Drawing("Three queries share the loop Travel+", 520)
    drawing.text((24, 40), "Three queries, one loop in common", bold=True)
    rows = (("Request", "Pickup"), ("Request", "Cancel"), ("Accept", "Dropoff"))
    for number, (start, end) in enumerate(rows):
        top = 62 + 52 * number
        drawing.chip((24, top), 150, start, QUIET)
        drawing.chip((235, top), 150, "Travel+", BLUE)
        drawing.chip((446, top), 150, end, QUIET)
        drawing.arrow((174, top + 19), (231, top + 19))
        drawing.arrow((385, top + 19), (442, top + 19))
    drawing.text((24, 268), "Shared: each Travel event is processed once", bold=True)
    drawing.box((225, 290), (170, 152), "#eef4f9", BLUE)
    drawing.text((310, 358), "Travel+", BLUE, anchor="middle", bold=True)
    drawing.text((310, 388), "once", BLUE, anchor="middle")
    for number, (start, end) in enumerate(rows):
        top = 294 + 52 * number
        drawing.chip((24, top), 150, start, QUIET)
        drawing.chip((446, top), 150, end, QUIET)
        drawing.arrow((174, top + 19), (221, top + 19))
        drawing.arrow((395, top + 19), (442, top + 19))
    drawing.text((24, 484), "Elsinore shares a burst of events only if the", QUIET)
    drawing.text((24, 510), "predicted cost is lower. Results are the same.", QUIET)
    return drawing


def draw_stages() -> Drawing:
    """A query's way from text to rows."""
    stages = (
        ("parse", "query text", "syntax tree"),
        ("bind", "+ schema", "typed query"),
        ("compile", "pattern", "states and steps"),
        ("plan", "all queries", "who shares what"),
        ("evaluate", "+ events", "counts and sums"),
        ("finish", "per window", "rows"),
    )
    drawing = Drawing("A query's way from text to rows", 70 + 84 * len(stages))
    drawing.text((24, 40), "From query text to result rows", bold=True)
    for number, (name, given, result) in enumerate(stages):
        top = 62 + 84 * number
        drawing.box((215, top), (180, 52), "#eef4f9", BLUE)
        drawing.text((305, top + 34), name, BLUE, anchor="middle", bold=True)
        drawing.text((200, top + 34), given, QUIET, anchor="end")
        drawing.text((412, top + 34), result, INK)
        if number:
            drawing.arrow((305, top - 32), (305, top - 4))
    return drawing


#: File names without their ending, and how each picture is drawn.
PICTURES: dict[str, Callable[[], Drawing]] = {
    "trends": draw_trends,
    "windows": draw_windows,
    "sharing": draw_sharing,
    "from-text-to-rows": draw_stages,
    "pipeline": draw_pipeline,
    "late-event": draw_late_event,
}
