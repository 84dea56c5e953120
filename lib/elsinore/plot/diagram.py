"""What is to be drawn of a query or of a sharable set, before it is known where."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
