"""Description of a workload: templates, predicates, keys, windows and executors per query."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any

from rich.console import Console
from rich.text import Text

from elsinore.executors.graph.layout import answered_by_order
from elsinore.executors.plan import GRETA, REFUSALS, Executor, measure_units
from elsinore.library.arguments import path_of
from elsinore.library.calendar_notes import (
    WEEK,
    calendar_note,
    longest_whole,
    weekday,
    whole_periods,
)
from elsinore.library.count_advice import is_never_true, repeats_hint
from elsinore.library.shown import Drawn
from elsinore.query.bind_calendar import is_of_calendar
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.query.comments import Texts, headline_warnings, query_texts
from elsinore.query.expressions import Slot
from elsinore.query.print_query import (
    print_bound,
    print_item,
    print_length,
    print_output,
    print_pattern,
    print_windows,
)
from elsinore.query.steps import query_of_step
from elsinore.query.syntax import ANY, Conjunction, EventPattern, event_patterns, required
from elsinore.template.build import WHOLE, carried_keys, template_parts
from elsinore.template.describe import describe_template, numbered_nots
from elsinore.template.measures import measure_queries
from elsinore.template.support import NO_SESSIONS, greta_refusals
from elsinore.timeline import format_instant
from elsinore.windows import Session

#: Columns that the titles of lines take.
_MARGIN = 13
#: Fractions of WITHIN that are suggested as SLIDE: the first that divides it.
_FRACTIONS = (4, 5, 3, 2)
_NEVER_TRUE = "HAVING keeps no row: a window without a match has no row, so COUNT(*) is never 0"


class Checked(Drawn):
    """The description of each query of a workload, and its template as a picture."""

    def __init__(self, workload: Workload) -> None:
        calendar = workload.schema.time_unit.is_calendar
        self._queries = workload.queries
        texts = query_texts(workload)
        self._found = [
            _described(query, texts.get(query.name, Texts()), calendar=calendar)
            for query in workload.queries
        ]

    def to_list(self) -> list[dict[str, Any]]:
        """The same as mappings that JSON can hold, one a query.

        `parameters` has the values of the parameters that a query uses, as text.
        `within`, `slide` and `pane` are numbers, `window` says the same in words, `window_notes`
        which matches the windows miss or repeat; `notes` are about words of the pattern that could
        be read in another way. `templates` is empty where the pattern cannot be made unambiguous.
        `by_order` of an edge predicate: greta answers it from order statistics, not by pairs.
        `steps` has the pattern of each step, for RETURN STEPS.
        `measures_by` has the measures that an executor computes although another one of
        `executors` runs the query, except for twostep.
        `additive` names the values that add up, `adds_up_over` says over what: groups, windows,
        both or neither.
        """
        return self._found

    def print(self, console: Console) -> None:
        """Print a block a query."""
        for description in self._found:
            console.print(_as_text(description))

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the templates; see `Drawn.draw`."""
        from elsinore.plot.diagram import save_templates  # matplotlib takes its time

        save_templates(self._queries, path_of("path", path))


def _as_text(found: dict[str, Any]) -> Text:
    text = Text(found["query"], style="bold")
    text.append("\n")
    for title, lines in _lines(found):
        for number, line in enumerate(lines):
            text.append(f"  {title if number == 0 else '':<{_MARGIN}}", style="not bold cyan")
            text.append(f"{line}\n", style="not bold")
    return text


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield titles, each with its lines."""
    if found["parameters"]:
        yield "parameters", [f"{name} = {text}" for name, text in found["parameters"].items()]
    yield "pattern", [found["pattern"]]
    if found["steps"]:
        yield "steps", [f"{number}: {text}" for number, text in enumerate(found["steps"], 1)]
    for template in found["templates"]:
        yield "template", _template_lines(template, of_several=len(found["templates"]) > 1)
    local = [f"{p['alias']}: {p['condition']}" for p in found["local_predicates"]]
    yield "local", local or ["-"]
    edges = [
        f"{edge['earlier']} to {edge['later']}: {edge['condition']}"
        + ("  (by order)" if edge["by_order"] else "")  # more than a look at every pair
        for edge in found["edge_predicates"]
    ]
    yield "edge", edges or ["-"]
    yield "keys", [_key_line(key) for key in found["keys"]] or ["-"]
    yield "returns", [", ".join(found["aggregates"])]
    if found["having"] is not None:
        yield "having", [found["having"]]
    yield "adds up", [_additive_line(found)]
    yield "window", [found["window"], *found["window_notes"]]
    yield "semantics", [found["semantics"]]
    if found["notes"]:
        yield "notes", found["notes"]
    yield "executors", [", ".join(found["executors"]), *_measure_lines(found["measures_by"])]
    for executor, reasons in found["refused"].items():
        yield f"not {executor}", reasons
    yield from ((title, found[f"{title}s"]) for title in ("warning", "hint") if found[f"{title}s"])


def _measure_lines(measures_by: dict[str, list[str]]) -> Iterator[str]:
    """Yield which executor computes measures, although another one runs the query."""
    for executor, names in measures_by.items():
        others = "twostep" if executor == GRETA else "greta or twostep"
        yield f"{executor} computes {', '.join(names)}, unless {others} runs the query"


def _additive_line(found: dict[str, Any]) -> str:
    """Return which values add up over groups and windows."""
    if not found["additive"] or not found["adds_up_over"]:
        return "-"
    return f"{', '.join(found['additive'])} (over {' and '.join(found['adds_up_over'])})"


def _template_lines(template: dict[str, Any], *, of_several: bool) -> list[str]:
    """Return the lines of a template, with its trends if there are several templates."""
    if not of_several:
        return list(template["text"])
    side = "" if template["of"] == WHOLE else f"{template['of']}, "
    keys = ", ".join(template["keys"]) or "no key"
    return [f"{side}trends with {keys}:", *(f"  {line}" for line in template["text"])]


def _key_line(key: dict[str, Any]) -> str:
    """Return what a key does, and which events have it."""
    uses = ["a row per value (GROUP-BY)"] if key["group"] is not None else []
    uses += ["equal in all events that have it"] if key["equivalence"] else []
    carriers = ", ".join(key["aliases"])
    others = ", ".join(key["not_carried_by"])
    reach = f"attribute of {carriers}" + (f", not of {others}" if others else "")
    return f"{key['attribute']}: {'; '.join(uses)}; {reach}"


def _described(query: BoundQuery, texts: Texts, *, calendar: bool) -> dict[str, Any]:
    refusals, whole = greta_refusals(query), query_of_step(query, None)
    executors = [name for name, refused in REFUSALS.items() if not refused(query)]
    parts = [] if refusals else template_parts(whole)
    aliases = query.aliases
    return {
        "query": query.name,
        "fingerprint": query.fingerprint,
        "parameters": {one.parameter: one.text for one in query.source.chosen},
        "pattern": print_pattern(query.pattern),
        "nots": [
            {"number": found.number, "pattern": print_pattern(found.body), "inside": found.inside}
            for found in numbered_nots(whole)
        ],
        "templates": [
            {
                "of": side,
                "keys": carried_keys(whole, template),
                "text": describe_template(whole, template),
            }
            for side, template in parts
        ],
        "local_predicates": _distinct(
            {"alias": aliases[p.position], "condition": print_bound(p.condition, aliases)}
            for p in query.local_predicates
        ),
        "edge_predicates": _distinct(
            {
                "earlier": aliases[edge.earlier],
                "later": aliases[edge.later],
                "condition": print_bound(edge.condition, aliases),
                "by_order": answered_by_order(edge, (template for _, template in parts)),
            }
            for edge in query.edge_predicates
        ),
        "keys": [_key(query, key) for key in query.keys],
        "steps": list(map(print_pattern, query.steps)),
        "aggregates": _returned(query),
        "having": print_output(query.source.having) if query.source.having else None,
        "additive": [output.name for output in query.outputs if output.additive],
        "adds_up_over": _adds_up_over(query),
        **_window(query, calendar=calendar),
        "window_notes": _window_notes(query, calendar=calendar),
        "semantics": str(query.semantics),
        "notes": _notes(query),
        "executors": [*map(str, executors), str(Executor.TWOSTEP)],
        "measures_by": {} if refusals else _measures_by(query),
        "refused": {"greta": list(refusals)} if refusals else {},
        "warnings": [
            *[_NEVER_TRUE] * is_never_true(query),
            *_unused_nots(query),
            *headline_warnings(query, texts),
        ],
        "hints": [hint] if (hint := repeats_hint(query)) else [],
    }


def _measures_by(query: BoundQuery) -> dict[str, list[str]]:
    """Return the measures that an executor computes, whichever one runs the query, by executor."""
    found: dict[str, list[str]] = {}
    for unit in measure_units(measure_queries(query)):
        for part in unit.queries:
            found.setdefault(unit.executor, []).extend(item.label for item in part.aggregates)
    order = [item.label for item in query.aggregates]
    return {name: sorted(found[name], key=order.index) for name in sorted(found)}


def _window(query: BoundQuery, *, calendar: bool) -> dict[str, Any]:
    """Return the lengths of windows, or of a span and its periods, and the same as text.

    Windows of a calendar have no single length.
    """
    window = query.window
    if window.session is not None:
        return _session(window.session, calendar=calendar)
    if window.clock is not None:
        [clause] = print_windows(query.source)
        keyword, rest = clause.split(" ", 1)
        return {"longest": window.longest, "window": f"{keyword.lower()} {rest}"}
    lengths = {"within": window.within, "slide": window.slide, "pane": window.pane()}
    shown = lengths
    if window.span is not None:
        lengths = lengths | {"span": window.span.length}
        shown = {"span": window.span.length, "period": window.within}
    if window.offset:
        lengths = lengths | {"offset": window.offset}
        shown = shown | {"offset": window.offset}
    words = (f"{name} {print_length(n, calendar=calendar)}" for name, n in shown.items())
    return {**lengths, "window": ", ".join(words)}


def _session(session: Session, *, calendar: bool) -> dict[str, Any]:
    """Return the lengths and attributes of sessions, and the same as text."""
    lengths = {"gap": session.gap}
    lengths |= {} if session.up_to is None else {"up_to": session.up_to}
    words = [
        f"{name.replace('_', ' ')} {print_length(n, calendar=calendar)}"
        for name, n in lengths.items()
    ]
    keys = list(session.keys)
    return {**lengths, "by": keys, "window": f"session, {', '.join(words)}, by {', '.join(keys)}"}


def _unused_nots(query: BoundQuery) -> list[str]:
    """Return a warning for each NOT that follows the last part of a query with steps."""
    if not query.steps:
        return []
    read = {query.position_of(leaf) for leaf in event_patterns(query.steps[-1])}
    left = dict.fromkeys(p.alias for p in query.positions if p.index not in read)
    return [f"no step reads NOT {name}, which follows the last part: remove it" for name in left]


def _adds_up_over(query: BoundQuery) -> list[str]:
    """Return over what additive values add up; a trend can be in several windows with SLIDE."""
    groups = ["groups"] if query.group_keys else []
    if query.window.span is not None:
        return [*groups, "periods"]
    if query.window.session is not None:
        return [*groups, "sessions"]
    return [*groups, "windows"] if query.window.slide >= query.window.within else groups


def _returned(query: BoundQuery) -> list[str]:
    """Return the values of RETURN as text."""
    if query.steps:
        return list(query.value_names)
    texts = {item.name or print_output(item.expression): print_item(item)
             for item in query.source.returns}  # fmt: skip
    return [texts[name] for name in query.value_names]


def misses_at_borders(query: BoundQuery) -> bool:
    """Return whether matches can cross a window border and are then in no window."""
    if query.window.span is not None or query.window.session is not None:
        return False
    return query.window.slide >= query.window.within and not isinstance(query.pattern, EventPattern)


def _distinct(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each mapping once; a condition on an ANY is bound for each of its types."""
    return [one for one, _ in groupby(found)]


def _notes(query: BoundQuery) -> list[str]:
    """Return which words of the pattern could be read in another way."""
    types = (part.type for part in event_patterns(query.pattern))
    found = dict.fromkeys(kind for kind in types if kind.upper() == ANY)
    notes = [f"{kind} is an event type of the stream, not any type" for kind in found]
    return [*notes, *_optional_steps(query)]


def _optional_steps(query: BoundQuery) -> list[str]:
    """Return a note for each step that a trend reaches without an event of its part."""
    notes = []
    for number, (before, step) in enumerate(pairwise(query.steps), 2):
        name = query.position_of
        if required(step, name) == required(before, name):
            notes.append(f"step {number} can be skipped, so it has the trends of step {number - 1}")
    return notes


def _values_per_period(query: BoundQuery) -> list[str]:
    """Return a note about values that do not add up over periods, as matches do."""
    names = [
        output.name
        for output in query.outputs
        if isinstance(output.expression, Slot) and query.aggregates[output.expression.number].each
    ]
    if not names:
        return []
    what = f"{', '.join(names)} {'does' if len(names) == 1 else 'do'} not add up over periods"
    return [f"{what}: an event or a value can count in several"]


def _window_notes(query: BoundQuery, *, calendar: bool) -> list[str]:
    """Return where windows start, and which matches they miss or repeat."""
    if query.window.session is not None:
        return _session_notes(query.window.session, calendar=calendar)
    within, slide = query.window.within, query.window.slide
    notes = [_first_note(query, calendar=calendar)]
    if (span := query.window.span) is not None:
        end = "first" if span.by_first else "last"
        notes.append(f"each match counts once, in the period of its {end} event")
        notes += _values_per_period(query)
    elif misses_at_borders(query):
        notes.append("matches across a window border are not counted")
        notes += _whole_matches(query, calendar=calendar)
    elif slide < within:
        longest = longest_whole(query.window, calendar=calendar)
        notes.append(f"windows overlap: they count all matches of up to {longest}, some repeatedly")
    return notes


def _session_notes(session: Session, *, calendar: bool) -> list[str]:
    """Return which events are a session, and what it ends with."""
    types, keys = ", ".join(sorted(session.types)), ", ".join(session.keys)
    gap = print_length(session.gap, calendar=calendar)
    notes = [
        f"events of {types} with equal {keys}, each at most {gap} after the one before it",
        "each match counts once, if all its events are in one session",
    ]
    if session.up_to is not None:
        longest = print_length(session.up_to, calendar=calendar)
        notes.append(f"an event more than {longest} after the first starts the next session")
    return [*notes, f"not in the pipeline: {NO_SESSIONS}"]


def _first_note(query: BoundQuery, *, calendar: bool) -> str:
    """Return where windows start."""
    window = query.window
    if window.clock is not None:
        return calendar_note(query, window.clock)
    every = print_length(window.slide, calendar=calendar).removeprefix("1 " if calendar else "")
    if calendar:
        first = format_instant(window.offset)[:19].removesuffix("T00:00:00")
        note = f"slots of the UTC clock: one starts every {every} from {first} on"
        return note if window.slide % WEEK else f"{note}, on {weekday(query, window.offset)}"
    slots = "windows" if window.span is None else "periods"
    plus = f", plus {window.offset}" if window.offset else ""
    return f"{slots} start at the multiples of {every}{plus}"


def _whole_matches(query: BoundQuery, *, calendar: bool) -> Iterator[str]:
    """Yield how a query with windows could count matches across their borders."""
    within = query.window.within
    full = print_length(within, calendar=calendar)
    if is_of_calendar(query.source):
        if not isinstance(query.pattern, Conjunction):
            yield whole_periods(query)
        return
    if not isinstance(query.pattern, Conjunction):
        yield f"SPAN {full} PER {full} would count all matches of up to {full}, each once"
    elif smaller := next((within // n for n in _FRACTIONS if within % n == 0), None):
        length, rest = (print_length(n, calendar=calendar) for n in (smaller, within - smaller))
        yield f"SLIDE {length} would count all matches of up to {rest}, some repeatedly"


def _key(query: BoundQuery, key: Key) -> dict[str, Any]:
    others = {position.index for position in query.positions} - key.positions
    return {
        "attribute": key.attribute,
        "aliases": query.labels(key.positions),
        "not_carried_by": query.labels(others),
        "equivalence": key.equivalence,
        "group": key.group_label,
    }
