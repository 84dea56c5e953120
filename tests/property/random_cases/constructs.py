"""Which constructs of the language a query and its stream hold, read off what was bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations, combinations_with_replacement, product

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.query.automaton import Automaton, automaton
from elsinore.query.bound import AggregateFunction, BoundQuery
from elsinore.query.expressions import Applied, BoundExpression, Slot, operands_of
from elsinore.query.syntax import (
    AnyOf,
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Reference,
    Semantics,
    Sequence,
    event_patterns,
    nodes_of,
    parts_of,
)
from elsinore.reference.evaluate import reader
from elsinore.reference.event import Event as Sample
from tests.property.random_cases.calendars import OF_CALENDARS, calendars_in
from tests.property.random_cases.conditions import has_function
from tests.property.random_cases.dispersions import OF_DISPERSIONS, dispersions_of
from tests.property.random_cases.parameters import GAP, OF_PARAMETERS, SPAN, WITHIN
from tests.property.random_cases.repeated import OF_REPEATED, repeated_in
from tests.property.random_cases.results import (
    EACH_CONTIGUOUS,
    EACH_EDGE,
    EACH_NEXT,
    EACH_NOT,
    OF_EACH,
    OF_EXPRESSION,
    OF_MEASURES,
    OF_RESULTS,
    OF_STEPS,
)
from tests.property.random_cases.sessions import OF_SESSIONS, PARAMETER, sessions_in
from tests.property.random_cases.shape import CONTIGUOUS_KEYS, KEY_PER_ALIAS, TYPES
from tests.property.random_cases.signed import SIGNED, sums_cancel
from tests.property.random_cases.spans import OF_SPANS, OFFSET, spans_in
from tests.property.random_cases.streams import (
    FIRST_TIME,
    LAST_TIME,
    THEN,
    THEN_TIES,
    VALUES,
    Event,
    order_in,
)

#: Every construct that a run of pairs must have met often enough.
CONSTRUCTS = (
    *("Kleene plus", "nested Kleene plus", "star", "maybe"),
    *("OR", "OR nested", "AND", "AND of sides with different keys"),
    *("repeated type", "ambiguous", "ambiguous with predicate", "ambiguous with NOT"),
    *("NOT between", "NOT leading", "NOT trailing", "NOT row"),
    *("NOT at a loop's start", "NOT at a loop's end", "NOT in a loop's middle"),
    *("NOT multi-event", "NOT nested", "NOT with inner NOT at its edge"),
    *("NOT with Kleene", "NOT with OR", "NOT with predicate", "NOT with edge predicate"),
    *("NOT with key", "NOT partial key"),
    *("next-match", "next-match with edge predicate", "next-match with NOT"),
    *("contiguous", "contiguous with edge predicate", "contiguous with NOT"),
    *CONTIGUOUS_KEYS,
    *("equivalence", "scoped key", "grouping", "grouping some types lack"),
    *("two keys on one attribute", "two keys on one attribute, fixed length"),
    *("aliases told apart by conditions", "extreme times"),
    *("local predicate", "edge predicate", "functions"),
    *("COUNT of alias", "SUM", "AVG", "MIN", "MAX", "timestamp extreme"),
    *("aggregate over several positions", SIGNED, *OF_RESULTS, *OF_EACH),
    *OF_REPEATED,
    *OF_MEASURES,
    *OF_DISPERSIONS,
    *OF_STEPS,
    *("aggregate of an expression", "GROUP-BY expression", "CASE"),
    *OF_PARAMETERS,
    *OF_SPANS,
    *OF_SESSIONS,
    OFFSET,
    *OF_CALENDARS,
    *("tumbling", "sliding", "slide not dividing", "high overlap", "calendar time"),
    *("ties", "before epoch", THEN, THEN_TIES),
)

_HIGH_OVERLAP = 20
#: So close to the last time is extreme.
_NEAR = 10

_OPERATORS: dict[type, str] = {
    KleenePlus: "Kleene plus",
    KleeneStar: "star",
    Maybe: "maybe",
    Disjunction: "OR",
    Conjunction: "AND",
}


def constructs_of(
    query: BoundQuery, schema: StreamSchema, rows: tuple[Event, ...]
) -> frozenset[str]:
    """Names of the constructs that a query and its stream hold."""
    found = _operators(query.pattern)
    if "ambiguous" in found:
        found |= {"ambiguous with predicate"} if query.local_predicates else set()
        negated = any(position.negated for position in query.positions)
        found |= {"ambiguous with NOT"} if negated else set()
    found |= _conditions(query) | _keys(query) | _returns(query) | _results(query)
    found |= _window(query) | _measures(query, found) | {*dispersions_of(query)}
    if "ambiguous" in found and _told_apart(query):
        found.add("aliases told apart by conditions")
    found |= _semantics(query, found) | _stream(schema, rows)
    if query.semantics is Semantics.CONTIGUOUS and query.keys:
        found |= _contiguous_keys(query, found, rows)
    found |= _parameters(query)
    found |= {SIGNED} if sums_cancel(query, rows) else set()
    found |= _steps(query, found) if query.steps else _each(query, found)
    found |= _repeated(query, found)
    found |= spans_in(query, found) | sessions_in(query, found, rows) | order_in(rows)
    return frozenset(found | calendars_in(query, rows, found))


def _repeated(query: BoundQuery, others: set[str]) -> set[str]:
    """What quantifiers and ANY a query has, and with what."""
    found = repeated_in(query.source.pattern)
    if "quantifier" in found:
        together = {"edge predicate", "next-match", "contiguous", "EACH"}
        found |= {f"quantifier with {name}" for name in together & others}
        found |= {"quantifier with key"} if query.keys else set()
    choices = {position.index for position in query.positions if position.choice}
    if any(key.positions & choices for key in query.keys):
        found.add("ANY with key")
    if any({edge.earlier, edge.later} & choices for edge in query.edge_predicates):
        found.add("ANY with edge predicate")
    if any(item.positions & choices and not item.each for item in query.aggregates):
        found.add("ANY with aggregate")
    return found


# ---- the pattern
def _operators(pattern: Pattern) -> set[str]:
    """Names of the constructs of a pattern in normal form."""
    parts = list(_walk(pattern))
    positive = [part.type for part in parts if isinstance(part, EventPattern)]
    loops = [part for part in parts if isinstance(part, KleenePlus | KleeneStar)]
    found = {_OPERATORS[type(part)] for part in parts if type(part) in _OPERATORS}
    if any(_holds(loop.body, KleenePlus, KleeneStar) for loop in loops):
        found.add("nested Kleene plus")
    if any(isinstance(part, Disjunction) and not isinstance(part, AnyOf) for part in parts[1:]):
        found.add("OR nested")
    if len(set(positive)) < len(positive):
        found.add("repeated type")
        if not isinstance(pattern, Conjunction) and _is_ambiguous(pattern):
            found.add("ambiguous")
    negations = [part for part in parts if isinstance(part, Negation)]
    if not negations:
        return found
    looped = [loop.body for loop in loops if isinstance(loop.body, Sequence)]
    for part in parts:
        if isinstance(part, Sequence):
            found |= _places(part, whole=part is pattern, looped=part in looped)
    for negation in negations:
        found |= _negation_body(negation.body)
    return found | ({"NOT row"} if _holds_row(parts, looped) else set())


def _walk(pattern: Pattern) -> Iterator[Pattern]:
    """All sub-patterns outside of NOT, the whole included; NOT itself is not entered."""
    yield pattern
    if not isinstance(pattern, Negation):
        for part in parts_of(pattern):
            yield from _walk(part)


def _holds(pattern: Pattern, *kinds: type) -> bool:
    return any(isinstance(part, kinds) for part in _walk(pattern))


def _places(sequence: Sequence, *, whole: bool, looped: bool) -> set[str]:
    """Where NOT stands in one sequence."""
    found = set()
    last = len(sequence.parts) - 1
    for index, part in enumerate(sequence.parts):
        if not isinstance(part, Negation):
            continue
        if index not in (0, last):
            found.add("NOT in a loop's middle" if looped else "NOT between")
        elif looped:
            found.add("NOT at a loop's start" if index == 0 else "NOT at a loop's end")
        elif whole:
            found.add("NOT leading" if index == 0 else "NOT trailing")
    return found


def _holds_row(parts: list[Pattern], looped: list[Sequence]) -> bool:
    """Whether nothing, or what may be absent, or a loop's end keeps two NOT apart."""
    for sequence in looped:
        if isinstance(sequence.parts[0], Negation) and isinstance(sequence.parts[-1], Negation):
            return True
    for whole in parts:
        open_since = False
        for part in whole.parts if isinstance(whole, Sequence) else ():
            if isinstance(part, Negation):
                if open_since:
                    return True
                open_since = True
            elif open_since:
                open_since = bool(_automaton(part)[0].empty)
    return False


def _automaton(pattern: Pattern) -> tuple[Automaton, list[str]]:
    """The automaton, whatever NOT lies on the way, and the type at each of its places."""
    types: list[str] = []

    def place(leaf: EventPattern) -> int:
        types.append(leaf.type)
        return len(types) - 1

    return automaton(pattern, place, lambda _: 0), types


def _is_ambiguous(pattern: Pattern) -> bool:
    """Whether types alone leave two different ways to match one sequence of events."""
    graph, types = _automaton(pattern)

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[tuple[int, int]]:
        return {(p, q) for p, q in product(lefts, rights) if types[p] == types[q]}

    arrows: dict[tuple[int, int], set[tuple[int, int]]] = {}
    pending = list(alike(graph.first, graph.first))
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(*map(graph.successors.__getitem__, pair))
            pending += arrows[pair]
    ending = {pair for pair in arrows if set(pair) <= graph.last.keys()}
    while more := {pair for pair in arrows if arrows[pair] & ending} - ending:
        ending |= more
    return any(p != q for p, q in ending)


def _negation_body(body: Pattern) -> set[str]:
    """What stands inside of NOT."""
    found = _negated_sequence(body) if isinstance(body, Sequence) else set()
    found |= {"NOT with Kleene"} if _holds(body, KleenePlus, KleeneStar) else set()
    return found | ({"NOT with OR"} if _holds(body, Disjunction) else set())


def _negated_sequence(body: Sequence) -> set[str]:
    found = set()
    if sum(not isinstance(part, Negation) for part in body.parts) > 1:
        found.add("NOT multi-event")
    for index, part in enumerate(body.parts):
        if isinstance(part, Negation):
            edge = index in (0, len(body.parts) - 1)
            found.add("NOT with inner NOT at its edge" if edge else "NOT nested")
    return found


# ---- the other clauses
def _conditions(query: BoundQuery) -> set[str]:
    found = set()
    for local in query.local_predicates:
        negated = query.positions[local.position].negated
        found.add("NOT with predicate" if negated else "local predicate")
    for edge in query.edge_predicates:
        negated = query.positions[edge.earlier].negated
        found.add("NOT with edge predicate" if negated else "edge predicate")
    if query.source.where is not None and has_function(query.source.where):
        found.add("functions")
    return found


def _keys(query: BoundQuery) -> set[str]:
    found = set()
    positive = {position.index for position in query.positions if not position.negated}
    negated = {position.index for position in query.positions if position.negated}
    for key in query.keys:
        found |= {"equivalence"} if key.equivalence else set()
        if key.group_label is not None:
            found.add("grouping" if key.value is None else "GROUP-BY expression")
            found |= {"grouping some types lack"} if positive - key.positions else set()
        if negated & key.positions:
            found.add("NOT with key")
        if negated - key.positions:
            found.add("NOT partial key")
    attributes = [key.attribute for key in query.keys]
    if len(set(attributes)) < len(attributes):
        found |= {"two keys on one attribute"}
        found |= {"two keys on one attribute, fixed length"} if _fixed_length(query) else set()
    grouped = [item.expression for item in query.source.group_by]
    if any(isinstance(each, Reference) and each.qualifier for each in grouped):
        found.add("scoped key")
    if query.source.where is not None and _scoped(query):
        found.add("scoped key")
    if isinstance(query.pattern, Conjunction):
        carried = [_carried(query, part) for part in query.pattern.parts]
        found |= {"AND of sides with different keys"} if carried[0] != carried[1] else set()
    return found


def _fixed_length(query: BoundQuery) -> bool:
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    single = all(isinstance(part, EventPattern) for part in parts)
    return single and query.semantics is Semantics.ANY and not query.edge_predicates


def _told_apart(query: BoundQuery) -> bool:
    """Whether of two occurrences of a type no event of any stream can stand at both."""
    conditions = {
        p.index: [local.condition for local in query.local_predicates if local.position == p.index]
        for p in query.positions
        if not p.negated
    }
    pairs = combinations((p for p in query.positions if conditions.get(p.index)), 2)
    return any(
        p.type == q.type
        and not any(
            all(
                reader(condition)(event, None) is True
                for condition in conditions[p.index] + conditions[q.index]
            )
            for event in _samples(p.type)
        )
        for p, q in pairs
    )


@cache
def _samples(kind: str) -> tuple[Sample, ...]:
    """Events with every pair of values that a type's attributes may have in a stream."""
    names = list(TYPES[kind])
    found: list[Sample] = []
    for first, second in combinations_with_replacement(names, 2):
        for one, two in product(VALUES[first], VALUES[second]):
            values = {name: VALUES[name][0] for name in names} | {first: one, second: two}
            found.append(Sample(len(found), kind, len(found), values))
    return tuple(found)


def _scoped(query: BoundQuery) -> bool:
    """Whether a key leaves out a positive occurrence of a type that carries it elsewhere."""
    for key in query.keys:
        types = {query.positions[index].type for index in key.positions}
        same = {p.index for p in query.positions if p.type in types and not p.negated}
        if same - key.positions:
            return True
    return False


def _carried(query: BoundQuery, part: Pattern) -> set[int]:
    inside = set(map(query.position_of, event_patterns(part)))
    return {number for number, key in enumerate(query.keys) if key.positions & inside}


def _returns(query: BoundQuery) -> set[str]:
    found = set()
    for item in query.aggregates:
        if item.counts_trends or item.measure is not None:
            continue
        if not item.function.is_dispersion:
            found.add("COUNT of alias" if item.attribute is None else item.function.value)
        if len(item.positions) > 1:
            found.add("aggregate over several positions")
        if isinstance(item.attribute, Applied):
            found.add("aggregate of an expression")
            found |= {"CASE"} if item.attribute.name == "CASE" else set()
        if item.attribute is not None and item.type.value == "timestamp":
            found.add("timestamp extreme")
    return found


def _results(query: BoundQuery) -> set[str]:
    """What RETURN and HAVING do with the aggregates."""
    found = {"AS"} if any(output.named for output in query.outputs) else set()
    names = {item.name for item in query.source.returns}
    for item in query.source.returns:
        nodes = list(nodes_of(item.expression))
        if any(isinstance(node, Reference) and node.attribute in names for node in nodes):
            found.add("output of names")
    for output in query.outputs:
        for name, kinds in _operations(output.expression):
            if name in ("+", "-", "*", "%", "neg"):
                found.add("output arithmetic")
            if name == "/" and kinds == {AttributeType.LONG}:
                found.add("division of integers")
    if query.having is not None:
        found.add("HAVING")
        nullable = {query.aggregates[number].function for number in _slots(query.having)}
        found |= {"HAVING with NULL"} if nullable - {AggregateFunction.COUNT} else set()
    return found


def _each(query: BoundQuery, others: set[str]) -> set[str]:
    """What EACH and DISTINCT read, and of which trends."""
    found: set[str] = set()
    if not query.participating:
        return found
    every = {position.index for position in query.positions if not position.negated}
    for item in query.participating:
        found.add("DISTINCT" if item.distinct else "EACH")
        found |= {item.function.value} & {"MEDIAN", "PERCENTILE"}
        if not item.distinct and item.attribute is None and item.positions == every:
            found.add("EACH *")
    if not query.counted:
        found.add("EACH alone")
    if any(position.negated for position in query.positions):
        found.add(EACH_NOT)
    beside = {
        "ambiguous": "EACH of an ambiguous pattern", "edge predicate": EACH_EDGE,
        "next-match": EACH_NEXT, "contiguous": EACH_CONTIGUOUS,
    }  # fmt: skip
    return found | {name for other, name in beside.items() if other in others}


def _steps(query: BoundQuery, others: set[str]) -> set[str]:
    """What the steps of a query have."""
    found = {"STEPS"}
    if query.participating:
        found.add("keys of steps")
        is_one = isinstance(query.participating[0].attribute, str)
        found |= set() if is_one else {"keys of several attributes"}
    if any(position.negated for position in query.positions):
        found.add("STEPS with NOT")
    if query.group_keys:
        found.add("STEPS with grouping")
    together = {"edge predicate", "Kleene plus", "next-match", "contiguous", "ambiguous"}
    return found | {f"STEPS with {name}" for name in together & others}


def _measures(query: BoundQuery, others: set[str]) -> set[str]:
    """What measures of trends read; `others` are the constructs of the pattern and conditions."""
    found = set()
    measured = [item for item in query.aggregates if item.measure is not None]
    for item in measured:
        assert item.measure is not None
        terms = item.measure.terms
        found |= {term.kind.value for term in terms}
        found |= {"extreme of a measure"} if item.is_extreme else set()
        found |= {"difference of measures"} if len({t.factor > 0 for t in terms}) > 1 else set()
        if any(term.otherwise is not None for term in terms):
            found.add("coalesce of a measure")
        if any(_may_be_absent(query, term.positions) for term in terms):
            found.add("measure of an optional alias")
        found |= {OF_EXPRESSION} if any(isinstance(t.value, Applied) for t in terms) else set()
    if measured:
        found |= {"measure with NOT"} if any(p.negated for p in query.positions) else set()
        found |= {"measure with edge predicate"} if query.edge_predicates else set()
        if query.semantics is not Semantics.ANY:
            next_match = query.semantics is Semantics.NEXT
            found.add("measure under next-match" if next_match else "measure under contiguous")
        if "LENGTH" in found and "ambiguous" in others:
            found.add("LENGTH of an ambiguous pattern")
    return found


def _may_be_absent(query: BoundQuery, positions: frozenset[int]) -> bool:
    """Whether a trend may have no event at some positions."""
    of_place: list[int] = []

    def place(leaf: EventPattern) -> int:
        of_place.append(query.position_of(leaf))
        return len(of_place) - 1

    graph = automaton(query.pattern, place, lambda _: 0)
    reached: set[int] = set()
    pending = [*graph.first]
    while pending:
        at = pending.pop()
        if at not in reached and of_place[at] not in positions:
            reached.add(at)
            pending += graph.successors[at]
    return not reached.isdisjoint(graph.last)


def _operations(expression: BoundExpression) -> Iterator[tuple[str, set[AttributeType]]]:
    """Yield the operators of an expression, each with the types of its operands."""
    if isinstance(expression, Applied):
        yield expression.name, {operand.type for operand in expression.operands}
    for operand in operands_of(expression):
        yield from _operations(operand)


def _slots(expression: BoundExpression) -> Iterator[int]:
    """Yield the numbers of the aggregates that an expression reads."""
    if isinstance(expression, Slot):
        yield expression.number
    for operand in operands_of(expression):
        yield from _slots(operand)


def _window(query: BoundQuery) -> set[str]:
    within, slide = query.window.within, query.window.slide
    if query.window.span is not None or query.window.session is not None:
        return set()
    found = {"tumbling" if within == slide else "sliding"}
    if within % slide:
        found.add("slide not dividing")
    if within >= _HIGH_OVERLAP * slide:
        found.add("high overlap")
    return found


def _semantics(query: BoundQuery, found: set[str]) -> set[str]:
    if query.semantics is Semantics.ANY:
        return set()
    name = "next-match" if query.semantics is Semantics.NEXT else "contiguous"
    more = {name}
    if "edge predicate" in found:
        more.add(f"{name} with edge predicate")
    if any(position.negated for position in query.positions):
        more.add(f"{name} with NOT")
    return more


def _contiguous_keys(query: BoundQuery, found: set[str], rows: tuple[Event, ...]) -> set[str]:
    """What makes it hard to say which events lie in the partition of a contiguous trend."""
    names = {key.attribute for key in query.keys}
    more = {"contiguous with key"}
    if "contiguous with NOT" in found:
        more.add("contiguous with NOT and key")
    if "scoped key" in found:
        more.add("contiguous with scoped key")
    if "two keys on one attribute" in found:
        more.add(KEY_PER_ALIAS)
    carried = [(kind, [v for n, v in values.items() if n in names]) for kind, _, values in rows]
    if any(None in values for _, values in carried):
        more.add("contiguous with NULL in a key")
    if any(values and kind not in query.event_types for kind, values in carried):
        more.add("contiguous with types outside the pattern")
    return more


def _parameters(query: BoundQuery) -> set[str]:
    chosen = query.source.chosen
    found = {"parameter"} if chosen else set()
    found |= {"list of values"} if query.source.listed else set()
    of_lengths = {WITHIN: "parameter in WITHIN", SPAN: "parameter in SPAN", GAP: PARAMETER}
    return found | {of_lengths[one.parameter] for one in chosen if one.parameter in of_lengths}


def _stream(schema: StreamSchema, rows: tuple[Event, ...]) -> set[str]:
    times = [time for _, time, _ in rows]
    found = {"ties"} if len(set(times)) < len(times) else set()
    found |= {"before epoch"} if any(time < 0 for time in times) else set()
    ends = range(FIRST_TIME, FIRST_TIME + _NEAR), range(LAST_TIME + 1 - _NEAR, LAST_TIME + 1)
    found |= {"extreme times"} if any(t in end for t in times for end in ends) else set()
    return found | ({"calendar time"} if schema.time_unit.is_calendar else set())
