"""Binds `RETURN STEPS`: how many trends and keys reach each part of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from elsinore.catalog.stream import AttributeType
from elsinore.query import syntax
from elsinore.query.bound import AggregateFunction, BoundAggregate, BoundOutput, Key, Position
from elsinore.query.expressions import COMBINATION, Applied, Field, Slot
from elsinore.query.print_query import print_pattern, print_span
from elsinore.query.resolve import BindFault, Scope, normal_form
from elsinore.wording import some_of

#: The values of a step.
TRENDS, KEYS = "trends", "keys"
#: Columns of every row, which no grouping attribute can have as its name.
_COLUMNS = ("step", TRENDS, KEYS)


class Steps(NamedTuple):
    """What `RETURN STEPS` returns.

    Attributes:
        patterns: the pattern of each step, in normal form: the sequence up to its part.
        aggregates, outputs: the values of each step.
    """

    patterns: tuple[syntax.Pattern, ...] = ()
    aggregates: tuple[BoundAggregate, ...] = ()
    outputs: tuple[BoundOutput, ...] = ()


#: Maximum number of steps of a query. Each is compiled like a query of its own, so the time grows
#: quickly: 150 steps of one type took minutes.
MOST_STEPS = 50


def bind_steps(
    scope: Scope, query: syntax.Query, written: syntax.Pattern, keys: Sequence[Key]
) -> Steps:
    """Return the steps of a query; errors are noted in the scope.

    Args:
        scope: the names of the query.
        query: the query.
        written: its pattern as written, in which each ANY lists its types.
        keys: its keys.
    """
    if query.having is not None:
        hint = "remove HAVING, and filter the rows with SQL"
        scope.fault("HAVING cannot filter steps", query.having.at, hint)
    if query.span is not None and not query.span.by_first:
        hint = f"write {print_span(replace(query.span, by_first=True))}"
        scope.fault("each step would be in the period of its own last event", query.span.at, hint)
    if not scope.well_shaped:
        return Steps()
    with suppress(BindFault):
        parts = _parts(scope, written)
        prefixes = [syntax.Sequence(tuple(parts[: end + 1]), written.at)
                    for end, part in enumerate(parts)
                    if not isinstance(part, syntax.Negation)]  # fmt: skip
        if len(prefixes) > MOST_STEPS:
            message = f"{len(prefixes)} steps, at most {MOST_STEPS} are supported"
            scope.refuse(message, written.at, "leave out steps, or write several queries")
        first = prefixes[0].parts[-1]
        if syntax.can_be_empty(first):
            hint = "begin with a part that must occur"
            scope.refuse(f"the first step, {print_pattern(first)}, can be empty", first.at, hint)
        _check_groups(scope, query, first, keys)
        patterns = tuple(normal_form(each, query.semantics) for each in prefixes)
        return Steps(patterns, *_values(scope, prefixes[-1], keys))
    return Steps()


def _parts(scope: Scope, written: syntax.Pattern) -> tuple[syntax.Pattern, ...]:
    """Return the parts of a sequence, of which at least one is not a NOT."""
    if not isinstance(written, syntax.Sequence):
        shown = print_pattern(written)
        hint = "write PATTERN SEQ(A, B, C)" if len(shown) > 40 else f"write PATTERN SEQ({shown})"
        if isinstance(written, syntax.Disjunction | syntax.Conjunction):
            hint = "write a query with STEPS for each of its parts"
        scope.refuse("STEPS counts the parts of a SEQ", written.at, hint)
    return written.parts


def _check_groups(
    scope: Scope, query: syntax.Query, first: syntax.Pattern, keys: Sequence[Key]
) -> None:
    """Note an error for each item of GROUP-BY that the first step does not determine."""
    position_of = _positions(scope)
    grouping = [key for key in keys if key.group_label is not None]
    of_groups = len(query.group_by) == len(grouping)
    names = some_of(dict.fromkeys(leaf.alias for leaf in syntax.event_patterns(first)))
    for number, key in enumerate(grouping):
        label, item = str(key.group_label), query.group_by[number if of_groups else 0]
        if label in _COLUMNS:
            hint = f"give it another name, as in AS {label}_of_event"
            scope.fault(f"{label} is a column of every row", item.at, hint)
        if True not in syntax.required(first, _is_in(key.positions, position_of)):
            message = f"not every first step has {label}, so its rows would have no group"
            scope.fault(message, item.at, f"group by an attribute of {names}, or of every part")


def _is_in(
    positions: Collection[int], position_of: Mapping[tuple[str, str], Position]
) -> Callable[[syntax.EventPattern], bool]:
    """Return a function that returns whether an event pattern is at one of some positions."""
    return lambda leaf: position_of[leaf.alias, leaf.type].index in positions


def _positions(scope: Scope) -> dict[tuple[str, str], Position]:
    return {(position.alias, position.type): position for position in scope.positions}


def _values(
    scope: Scope, last: syntax.Sequence, keys: Sequence[Key]
) -> tuple[tuple[BoundAggregate, ...], tuple[BoundOutput, ...]]:
    """Return the values of each step: its trends, and the keys that all parts share, if any."""
    long = AttributeType.LONG
    count = BoundAggregate("COUNT(*)", AggregateFunction.COUNT, frozenset(), None, long)
    outputs = [BoundOutput(TRENDS, Slot(0, long), long, additive=True, named=False)]
    position_of = _positions(scope)
    leaves = (position_of[leaf.alias, leaf.type] for leaf in syntax.event_patterns(last))
    every = frozenset(position.index for position in leaves if not position.negated)
    shared = list(_shared(keys, every))
    if not shared:
        return (count,), tuple(outputs)
    names = dict.fromkeys(key.attribute for key in shared)
    attribute: str | Applied = shared[0].attribute
    if len(names) > 1:
        kinds = {key.attribute: key.type for key in shared}
        fields = tuple(Field(min(every), name, kinds[name]) for name in names)
        attribute = Applied(COMBINATION, fields, long)
    label = f"COUNT(DISTINCT {', '.join(names)})"
    distinct = BoundAggregate(
        label, AggregateFunction.COUNT, every, attribute, long, each=True, distinct=True
    )
    outputs.append(BoundOutput(KEYS, Slot(1, long), long, additive=False, named=True))
    return (count, distinct), tuple(outputs)


def _shared(keys: Sequence[Key], every: frozenset[int]) -> Iterator[Key]:
    """Yield the equivalence keys that all events of all parts have."""
    return (key for key in keys if key.equivalence and key.positions >= every)
