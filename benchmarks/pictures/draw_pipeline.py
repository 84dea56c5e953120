"""Two pictures of the pipeline: its tables, and what a late event recomputes."""

from __future__ import annotations

from benchmarks.pictures.svg import BLUE, FAINT, GREEN, INK, QUIET, RED, Drawing

_TABLE = "#eef4f9"


def draw_pipeline() -> Drawing:
    """The steps of a run and the tables between them; the ledger beside all steps."""
    drawing = Drawing("The steps of a run, and the tables that they read and write", 860)
    drawing.text((24, 40), "One run: steps and tables", bold=True)
    tables = (
        ("landing zone", "files per hour", None),
        ("raw_events", "every record", "ingest"),
        ("events", "one row per event", "refresh"),
        ("results_staged", "results to check", "aggregate"),
        ("results", "published results", "publish"),
    )
    top = 64
    for number, (name, meaning, step) in enumerate(tables):
        if step:
            drawing.arrow((160, top - 84), (160, top - 4))
            drawing.text((178, top - 37), step, GREEN, bold=True)
        drawing.box((24, top), (276, 78), _TABLE, BLUE)
        drawing.text((162, top + 32), name, BLUE, anchor="middle", bold=True)
        drawing.text((162, top + 62), meaning, QUIET, anchor="middle")
        top += 166
        if number == 0:
            first = top - 166 + 39
    drawing.box((430, first - 39), (186, 742), "#f6f8fa", QUIET)
    drawing.text((523, first - 2), "hours", INK, anchor="middle", bold=True)
    drawing.text((523, first + 28), "the ledger", QUIET, anchor="middle")
    states = ("ingested", "refreshed", "aggregated", "published")
    for number, state in enumerate(states, start=1):
        y = 64 + 166 * number + 39
        drawing.arrow((304, y), (426, y))
        drawing.text((523, y + 8), state, INK, anchor="middle")
    drawing.text((523, 64 + 166 * 3.5 + 46), "validated", INK, anchor="middle")
    drawing.text((320, 64 + 166 * 3.5 + 46), "validate", GREEN, bold=True)
    drawing.text((24, 842), "Rejected records go to the table quarantine.", QUIET)
    return drawing


def draw_late_event() -> Drawing:
    """A late event at 10:40, and the hours whose windows contain it."""
    drawing = Drawing("A late event at 10:40 makes two published hours stale", 560)
    drawing.text((24, 40), "WITHIN 1 hour SLIDE 30 minutes", bold=True)
    left, hour = 50, 180.0

    def at(time: float) -> float:
        return left + hour * (time - 9)

    for number in range(9, 13):
        drawing.line((at(number), 88), (at(number), 372), FAINT)
        drawing.text((at(number), 76), f"{number}:00", QUIET, anchor="middle")
    drawing.line((at(10.67), 92), (at(10.67), 372), RED, dashed=True)
    drawing.dot((at(10.67), 104), RED)
    drawing.text((at(10.8), 112), "late event", RED)
    for row, start in enumerate((9.0, 9.5, 10.0, 10.5, 11.0)):
        y = 130 + 48 * row
        contains = start <= 10.67 < start + 1
        color = RED if contains else BLUE
        drawing.box((at(start) + 3, y), (hour - 6, 40), "#fbeced" if contains else _TABLE, color)
        end = start + 1
        text = f"ends {int(end)}:{'30' if end % 1 else '00'}"
        drawing.text((at(start + 0.5), y + 28), text, INK, anchor="middle")
    drawing.text((24, 412), "Windows that contain it end at 11:00 and 11:30.", INK)
    drawing.text((24, 448), "The hours 10 and 11 are stale: the next run", INK)
    drawing.text((24, 478), "recomputes them. Hours 9 and 12 stay as they are.", INK)
    drawing.text((24, 530), "A window belongs to the hour before its end.", QUIET)
    return drawing
