"""A template as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from elsinore.query.bound import BoundQuery
from elsinore.query.faults import listed
from elsinore.query.print_query import print_pattern
from elsinore.template.template import TREND, Template, Transition
from elsinore.template.words import IN_BETWEEN, NOTES, STILL_OPEN, Words


def describe_template(query: BoundQuery, template: Template) -> list[str]:
    """One line a state: what it may be in a trend, and which events may come right before it.

    The states of each NOT stand below a line that names it.
    """
    words = Words(query, template)
    lines = _machine_lines(words, TREND, "a trend")
    if any(words.notes(number) for number in template.trend_states):
        lines.append(NOTES)
    for guard, found in sorted(words.nots.items(), key=lambda each: each[1].number):
        inside = f", inside NOT {found.inside}" if found.inside is not None else ""
        lines.append(f"{found.name}{inside}: {print_pattern(found.body)}")
        lines += [f"  {line}" for line in _machine_lines(words, guard, "a match")]
    return lines


def _machine_lines(words: Words, guard: int, whole: str) -> list[str]:
    numbers = [n for n, state in enumerate(words.template.states) if state.guard == guard]
    titles = {n: _title(words, n) for n in numbers}
    width = max(map(len, titles.values()), default=0)
    return [
        f"{titles[n]:<{width}}  {'; '.join(_roles(words, n, whole)) or 'is part of no result'}"
        for n in numbers
    ]


def _title(words: Words, number: int) -> str:
    name, kind = words.names[number], words.kind(number)
    return name if words.plain_name(number) == kind else f"{kind} {name}"


def _roles(words: Words, number: int, whole: str) -> Iterator[str]:
    template = words.template
    starts, ends = number in template.starts, number in template.ends
    start = _start_condition(words, number) if starts else ""
    end_floor = template.ends.get(number)
    end = words.floor(end_floor, "after it") if end_floor else ""
    if starts and ends and start == end == "":
        linked = any(number in (t.earlier, t.later) for t in template.transitions)
        yield f"starts or ends {whole}" if linked else f"is {whole} by itself"
    else:
        if starts:
            yield _if(f"starts {whole}", start)
        if ends:
            yield _if(f"ends {whole}", end)
    for condition, before in _by_condition(words, number).items():
        yield _if(f"comes after {listed(before)}", condition)


def _if(text: str, condition: str) -> str:
    return f"{text} if {condition}" if condition else text


def _start_condition(words: Words, number: int) -> str:
    floor, bar = words.template.starts[number], words.template.bars.get(number)
    parts = [words.floor(floor, "before it")] if floor else []
    parts += [words.present(bar.ways, "before it")] if bar else []
    return " and ".join(parts)


def _by_condition(words: Words, number: int) -> Mapping[str, list[str]]:
    """Names of the states before one, by the condition on which they may come before."""
    found: dict[str, list[str]] = {}
    for before in words.template.predecessors(number):
        found.setdefault(transition_text(words, before), []).append(words.names[before.earlier])
    return found


def transition_text(words: Words, transition: Transition) -> str:
    """The condition of a transition in words; empty where it has none."""
    parts = []
    if transition.condition is not None:
        parts.append(words.condition(transition.condition))
    elif transition.floor is not None:
        parts.append(words.floor(transition.floor, IN_BETWEEN))
    if transition.closes:
        parts.append(STILL_OPEN)
    return " and ".join(parts)
