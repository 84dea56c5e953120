"""The merged template of a sharable set as a diagram (Hamlet section 3.1, Figure 3)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace

from elsinore.lowering.merged import anonymous_condition
from elsinore.lowering.sharable import SharableSet
from elsinore.plot.diagram import Arrow, Circle, Diagram, Line
from elsinore.query.bound import BoundQuery
from elsinore.query.print_query import print_bound
from elsinore.template.describe import Words

#: Characters of a line of a label, and the most lines that one takes.
_WIDTH, _MOST_LINES = 34, 6


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
