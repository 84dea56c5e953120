"""The syntax tree of a workload, as written; nodes are frozen values with a position.

Positions take no part in equality, so that a printed and re-parsed query equals the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from elsinore.errors import Location

_Name = TypeVar("_Name")


def _at() -> Location:
    return field(default=Location("<built>"), compare=False, repr=False)


# ---- patterns (spec section 1; GRETA Definition 1 and section 9) ----


@dataclass(frozen=True, slots=True)
class EventPattern:
    """One occurrence of an event type; `alias` names it (the type itself where none is given)."""

    type: str
    alias: str
    at: Location = _at()


@dataclass(frozen=True)
class _OfParts:
    parts: tuple[Pattern, ...]
    at: Location = _at()


class Sequence(_OfParts):
    """`SEQ(P1, ..., Pn)`."""


class Disjunction(_OfParts):
    """`P1 OR P2`."""


class AnyOf(Disjunction):
    """`ANY(A, B) x`: one event of any of some types; the parts are leaves with one alias."""

    @property
    def leaves(self) -> tuple[EventPattern, ...]:
        """Return the parts, one per type."""
        return tuple(event_patterns(self))

    @property
    def alias(self) -> str:
        """Return the alias of all parts."""
        return self.leaves[0].alias


#: The alias of `ANY` without an alias. Further ones of a pattern in normal form are `ANY 2`, ...
ANY = "ANY"


class Conjunction(_OfParts):
    """`P1 AND P2`: pairs of trends."""


@dataclass(frozen=True)
class _OfBody:
    body: Pattern
    at: Location = _at()


class KleenePlus(_OfBody):
    """`P+`."""


class KleeneStar(_OfBody):
    """`P*`."""


class Maybe(_OfBody):
    """`P?`."""


class Negation(_OfBody):
    """`NOT P`, a part of a sequence."""


@dataclass(frozen=True)
class Quantified:
    """`P{least,most}`: `least` copies of P, then nested optional ones, as in `P P (P (P)?)?`.

    Without `most`, as in `P{3,}`, the last copy is `P+`.
    """

    body: Pattern
    least: int
    most: int | None
    at: Location = _at()


Pattern = (
    EventPattern
    | Sequence
    | KleenePlus
    | KleeneStar
    | Maybe
    | Quantified
    | Negation
    | Disjunction
    | Conjunction
)

#: How often a repetition takes its body: at least, and at most (None: without limit).
Bounds = tuple[int, int | None]


def bounds_of(pattern: Pattern) -> Bounds | None:
    """Return how often a repetition takes its body; None for other patterns."""
    match pattern:
        case KleenePlus():
            return 1, None
        case KleeneStar():
            return 0, None
        case Maybe():
            return 0, 1
        case Quantified(_, least, most):
            return least, most
    return None


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct sub-patterns of a pattern."""
    if isinstance(pattern, EventPattern):
        return ()
    if isinstance(pattern, _OfParts):
        return pattern.parts
    return (pattern.body,)


def with_parts(pattern: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """Return a pattern whose direct sub-patterns are changed."""
    if isinstance(pattern, EventPattern):
        return pattern
    if isinstance(pattern, _OfParts):
        return replace(pattern, parts=tuple(map(change, pattern.parts)))
    return replace(pattern, body=change(pattern.body))


def shape_of(pattern: Pattern) -> tuple[object, ...]:
    """A pattern without the types and aliases of its events, to be compared with others."""
    return type(pattern), bounds_of(pattern), *map(shape_of, parts_of(pattern))


def event_patterns(pattern: Pattern) -> Iterator[EventPattern]:
    """All occurrences of event types in a pattern, from left to right, negated ones included."""
    if isinstance(pattern, EventPattern):
        yield pattern
    for part in parts_of(pattern):
        yield from event_patterns(part)


def named_parts(pattern: Pattern) -> Iterator[EventPattern | AnyOf]:
    """Yield the parts of a pattern that have an alias, from left to right, also under NOT."""
    if isinstance(pattern, EventPattern | AnyOf):
        yield pattern
    else:
        for part in parts_of(pattern):
            yield from named_parts(part)


def required(pattern: Pattern, name: Callable[[EventPattern], _Name]) -> frozenset[_Name]:
    """Names (of types, aliases or what else) of which every match of a pattern has an event."""
    inner = [required(part, name) for part in parts_of(pattern)]
    match pattern:
        case EventPattern():
            return frozenset([name(pattern)])
        case Negation() | KleeneStar() | Maybe() | Quantified(least=0):
            return frozenset()
        case Disjunction():
            return frozenset.intersection(*inner)
    return frozenset.union(*inner)


def single_types(pattern: Pattern) -> frozenset[str]:
    """Return the types of which one event can be a whole match of a pattern.

    >>> sorted(single_types(Sequence((Maybe(EventPattern("A", "A")), EventPattern("B", "B")))))
    ['B']
    """
    return _shortest(pattern)[0]


def can_be_empty(pattern: Pattern) -> bool:
    """Return whether a match of a pattern may have no event."""
    return _shortest(pattern)[1]


def _shortest(pattern: Pattern) -> tuple[frozenset[str], bool]:
    """Return the types of matches of one event, and whether a match may have no event."""
    none: frozenset[str] = frozenset()
    inner = [_shortest(part) for part in parts_of(pattern)]
    empty = [is_empty for _, is_empty in inner]
    every = none.union(*(types for types, _ in inner))
    match pattern:
        case EventPattern(type=kind):
            return frozenset([kind]), False
        case Negation():
            return none, True
        case Disjunction():
            return every, any(empty)
        case Sequence() if empty.count(False) == 1:
            return inner[empty.index(False)][0], False
        case Sequence():
            return (every, True) if all(empty) else (none, False)
        case KleeneStar() | Maybe() | Quantified(least=0):
            return every, True
        case Quantified(least=least) if least > 1 and not all(empty):
            return none, False
    return every, all(empty)


# ---- expressions ----


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, string, truth value or NULL; a duration is a number with a unit.

    `digits` is a number as written, which can have more digits than its double.
    """

    value: int | float | str | bool | None
    unit: str | None = None
    at: Location = _at()
    digits: str | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """`A.attr`, `attr`, or `NEXT(A).attr` (`following`)."""

    qualifier: str | None
    attribute: str
    following: bool = False
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator applied to operands.

    `name` is one of `+ - * / % neg`, `= != < <= > >=`, `AND OR NOT`, `IS NULL`, `IN`, `BETWEEN`,
    `LIKE` (of an expression, a pattern and, where given, the escape, both literals).
    """

    name: str
    operands: tuple[Expression, ...]
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an aggregate applied to arguments.

    Attributes:
        function: its name in lower case.
        arguments: the arguments; none for `COUNT(*)`.
        part: the word before FROM in `extract(hour FROM t)`.
        star: whether this is a call such as `COUNT(*)`.
        modifier: `EACH` or `DISTINCT` before the argument.
    """

    function: str
    arguments: tuple[Expression, ...]
    part: str | None = None
    star: bool = False
    modifier: str | None = None
    at: Location = _at()

    @property
    def is_aggregate(self) -> bool:
        """Return whether the function aggregates events or trends."""
        return self.function in AGGREGATES


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`[a, P.b]`: every event of the trend (or every P) carries the same value."""

    keys: tuple[Reference, ...]
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE WHEN condition THEN result ... ELSE otherwise END`; no ELSE is NULL.

    Attributes:
        branches: pairs of a condition and its result.
        otherwise: the result if no condition is true.
    """

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Zoned:
    """`t AT TIME ZONE 'Europe/Berlin'`, an operand of `extract` or `date_trunc`."""

    operand: Expression
    zone: str
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`, the value of a parameter."""

    name: str
    at: Location = _at()


Expression = Literal | Reference | Operation | Call | Equivalence | Case | Zoned | Parameter

#: Aggregates of how far values are from their mean; some are synonyms.
DISPERSIONS = frozenset(["stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"])
#: Functions of RETURN and HAVING that aggregate events or trends.
AGGREGATES = DISPERSIONS | {"count", "sum", "avg", "min", "max", "median", "percentile"}
#: Functions in aggregates that read one event of each trend, or add up its events.
MEASURES = frozenset(["first", "last", "total"])


def operands_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct operands of an expression."""
    match expression:
        case Operation(operands=inner) | Call(arguments=inner):
            return inner
        case Case(branches, otherwise):
            last = () if otherwise is None else (otherwise,)
            return (*(part for branch in branches for part in branch), *last)
        case Zoned(operand):
            return (operand,)
    return ()


def with_operands(expression: Expression, operands: tuple[Expression, ...]) -> Expression:
    """Return an expression with other operands, as many as `operands_of` returns."""
    match expression:
        case Operation():
            return replace(expression, operands=operands)
        case Call():
            return replace(expression, arguments=operands)
        case Case(branches):
            pairs = tuple(zip(operands[::2], operands[1::2], strict=False))
            otherwise = operands[-1] if len(operands) > 2 * len(branches) else None
            return replace(expression, branches=pairs, otherwise=otherwise)
        case Zoned():
            return replace(expression, operand=operands[0])
    return expression


def nodes_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions inside of it, from left to right."""
    yield expression
    for operand in operands_of(expression):
        yield from nodes_of(operand)


def aggregates_of(expression: Expression) -> Iterator[Call]:
    """Yield the calls of aggregates in an expression, from left to right."""
    for node in nodes_of(expression):
        if isinstance(node, Call) and node.is_aggregate:
            yield node


# ---- queries ----


class Semantics(StrEnum):
    """Event selection semantics (GRETA, Table 1)."""

    ANY = "skip-till-any-match"
    NEXT = "skip-till-next-match"
    CONTIGUOUS = "contiguous"


@dataclass(frozen=True, slots=True)
class Item:
    """An expression of RETURN or GROUP-BY, and its name after AS."""

    expression: Expression
    name: str | None = None
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time as written; no unit means the unit of the stream's time."""

    amount: int | float
    unit: str | None
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone as written after IN, or in `SET ZONE '...';`."""

    name: str
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Declaration:
    """One `PARAM name type DEFAULT value;` of a workload."""

    name: str
    type: str
    default: Literal | None
    at: Location = _at()
    type_at: Location = _at()


@dataclass(frozen=True, slots=True)
class Chosen:
    """The value of a parameter in a query, as in names, and whether it is one of a list."""

    parameter: str
    text: str
    of_list: bool


@dataclass(frozen=True, slots=True)
class Span:
    """`SPAN length PER period BY FIRST | BY LAST`.

    Attributes:
        length: the longest time from the first to the last event of a trend.
        period: the length of the periods by which trends are counted; None if it is missing.
        by_first: whether the first event decides on the period of a trend, not the last one.
    """

    length: Duration | Parameter
    period: Duration | Parameter | None
    by_first: bool
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Session:
    """`SESSION gap UP TO longest BY keys`.

    Attributes:
        gap: the longest time between two consecutive events of a session.
        up_to: the longest time from the first to the last event of a session; None: no limit.
        keys: the attributes that the events of a session share; none if BY is missing.
    """

    gap: Duration | Parameter
    up_to: Duration | Parameter | None
    keys: tuple[Reference, ...]
    at: Location = _at()


@dataclass(frozen=True, slots=True)
class Query:
    """One `QUERY ... ;` of a workload.

    Attributes:
        name: the name; for a value of a list, with the value in brackets: `q[10]`.
        returns: the items of RETURN; none for `RETURN STEPS`.
        within, slide: the windows; None in a query with a span or sessions.
        having: a condition on its rows.
        chosen: the values of its parameters.
        steps: whether it returns a row per part of the sequence (`RETURN STEPS`).
        span: the clause SPAN, which replaces WITHIN.
        written: the name as written, if values of lists follow it in `name`.
        offset: how long after the multiples of SLIDE, or of PER, windows or periods begin.
        zone: the zone of windows or periods of a calendar.
        session: the clause SESSION, which replaces WITHIN.
    """

    name: str
    returns: tuple[Item, ...]
    pattern: Pattern
    where: Expression | None
    group_by: tuple[Item, ...]
    within: Duration | Parameter | None
    slide: Duration | Parameter | None
    semantics: Semantics
    having: Expression | None = None
    at: Location = _at()
    chosen: tuple[Chosen, ...] = ()
    steps: bool = False
    span: Span | None = None
    written: str | None = None
    offset: Duration | Parameter | None = None
    zone: Zone | None = None
    session: Session | None = None

    @property
    def written_name(self) -> str:
        """Return the name as written, without values of lists."""
        return self.name if self.written is None else self.written

    @property
    def listed(self) -> tuple[str, ...]:
        """Return its values of lists, as in names."""
        return tuple(one.text for one in self.chosen if one.of_list)


def lengths_of(query: Query) -> Iterator[Duration | Parameter]:
    """Yield the lengths of time of a query's windows, of its span and periods, or sessions."""
    span, session = query.span, query.session
    lengths = query.within, query.slide, *((span.length, span.period) if span else ())
    lengths += (session.gap, session.up_to) if session else ()
    yield from (each for each in (*lengths, query.offset) if each is not None)
