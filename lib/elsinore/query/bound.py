"""A query bound to the event types of a stream: what every executor starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, wraps
from math import lcm
from typing import Any, NamedTuple, TypeVar

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import Diagnostic, Location
from elsinore.query.expressions import TIME, Applied, BoundExpression, Field, Slot, fields_of
from elsinore.query.query_keys import Part, QueryKey
from elsinore.query.syntax import EventPattern, Pattern, Query, Semantics
from elsinore.timeline import Instant, Length
from elsinore.windows import Window
from elsinore.wording import value_label


@dataclass(frozen=True, slots=True)
class Position:
    """One occurrence of an event type in the pattern, numbered from left to right.

    `negated` positions lie inside a NOT; they are part of no trend. `choice` positions are types of
    an ANY, which have one alias.
    """

    index: int
    alias: str
    type: str
    negated: bool
    choice: bool = False


@dataclass(frozen=True, slots=True)
class LocalPredicate:
    """A condition on single events at one position (GRETA section 6, vertex predicate)."""

    position: int
    condition: BoundExpression


@dataclass(frozen=True, slots=True)
class EdgePredicate:
    """A condition on each adjacent pair of events at two positions (GRETA section 6).

    In `condition` the fields with `following` are read from the later event.
    """

    earlier: int
    later: int
    condition: BoundExpression


@dataclass(frozen=True, slots=True)
class Key:
    """An attribute or an expression whose value partitions trends.

    Attributes:
        attribute, type: the column and its type. An expression has its text without alias instead,
            which is not the name of any attribute.
        positions: the positions whose events carry it; events of the others fit every value.
        equivalence: named in `[...]`; an event that carries it as NULL (or NaN) joins no trend.
        group_label: its name in result rows where it is also a grouping attribute, else None. As
            in SQL, NULL is a group of its own.
    """

    attribute: str
    type: AttributeType
    positions: frozenset[int]
    equivalence: bool = False
    group_label: str | None = None
    #: the expression; None for an attribute.
    value: BoundExpression | None = None

    def carriers(self, schema: StreamSchema, positions: Sequence[Position]) -> frozenset[str]:
        """Return the event types that have the key; an expression has the types of its alias."""
        if self.value is None:
            return schema.carriers(self.attribute)
        return frozenset(p.type for p in positions if p.index in self.positions)

    def read(self, position: int) -> BoundExpression:
        """Return its value as an expression over the event at a position."""
        return self.value or Field(position, self.attribute, self.type)


class AggregateFunction(StrEnum):
    """Functions of the RETURN clause."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV = "STDDEV"
    STDDEV_SAMP = "STDDEV"  # a synonym, and so is VAR_SAMP
    STDDEV_POP = "STDDEV_POP"
    VARIANCE = "VARIANCE"
    VAR_SAMP = "VARIANCE"
    VAR_POP = "VAR_POP"
    MEDIAN = "MEDIAN"
    PERCENTILE = "PERCENTILE"

    @property
    def is_root(self) -> bool:
        """Return whether it is the root of a variance."""
        return self in (AggregateFunction.STDDEV, AggregateFunction.STDDEV_POP)

    @property
    def is_dispersion(self) -> bool:
        """Return whether it is a variance, or the root of one."""
        return self.is_root or self in (AggregateFunction.VARIANCE, AggregateFunction.VAR_POP)

    @property
    def is_of_sample(self) -> bool:
        """Return whether it divides by the number of values less one."""
        return self in (AggregateFunction.STDDEV, AggregateFunction.VARIANCE)

    @property
    def adds_up(self) -> bool:
        """Return whether it adds up values, or their distances from the mean."""
        return self.is_dispersion or self in (AggregateFunction.SUM, AggregateFunction.AVG)


#: Functions that choose one or two of all values in their order.
PERCENTILES = (AggregateFunction.MEDIAN, AggregateFunction.PERCENTILE)


class MeasureKind(StrEnum):
    """Measures of a whole trend."""

    LENGTH = "LENGTH"
    DURATION = "DURATION"
    FIRST = "FIRST"
    LAST = "LAST"
    TOTAL = "TOTAL"

    @property
    def reads_events(self) -> bool:
        """Return whether it reads a value of events, so that it can be NULL."""
        return self not in (MeasureKind.LENGTH, MeasureKind.DURATION)


class Marks(NamedTuple):
    """The positions of a query of measures (`template.measures`) at which a measure changes.

    Attributes:
        adds: events there add their value.
        subtracts: events there subtract their value, for DURATION.
        has: an event there shows that the measure has a value, unless its value is NULL.
        lacks: a trend that ends there has no value.
    """

    adds: frozenset[int]
    subtracts: frozenset[int] = frozenset()
    has: frozenset[int] = frozenset()
    lacks: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MeasureTerm:
    """A measure times a constant.

    Attributes:
        factor: the constant.
        kind: the measure.
        positions: the positions of its events; all of trends for LENGTH and DURATION.
        value: what it reads of each event, a column or an expression; None for LENGTH and DURATION.
        type: of the measure without the factor.
        otherwise: its value instead of NULL (`coalesce`), if any.
        marks: in a query of measures, see `Marks`.
    """

    factor: Fraction
    kind: MeasureKind
    positions: frozenset[int]
    value: str | Applied | None
    type: AttributeType
    otherwise: Fraction | None = None
    marks: Marks | None = None

    @property
    def nullable(self) -> bool:
        """Return whether it can be NULL."""
        return self.kind.reads_events and self.otherwise is None


@dataclass(frozen=True, slots=True)
class BoundMeasure:
    """A sum of a constant and of measures; NULL if one of them is NULL.

    Attributes:
        constant: the constant.
        terms: the measures.
        type: of the sum.
        is_duration: whether it is a length of time in microseconds.
    """

    constant: Fraction
    terms: tuple[MeasureTerm, ...]
    type: AttributeType
    is_duration: bool = False

    @property
    def adds_doubles(self) -> bool:
        """Return whether it adds up doubles, so that sums may be rounded."""
        return any(term.type is AttributeType.DOUBLE for term in self.terms)

    @property
    def scale(self) -> int:
        """Return a number by which the factors and replacements of all terms are integers."""
        others = [term.factor * (term.otherwise or 0) for term in self.terms]
        every = [*others, *(term.factor for term in self.terms)]
        return lcm(*(each.denominator for each in every))


@dataclass(frozen=True, slots=True)
class BoundAggregate:
    """An aggregate over the events at `positions` of all trends of a row.

    An event counts once for every trend that contains it, unless `each` is true. `COUNT(*)` counts
    the trends themselves: it has no positions.

    Attributes:
        label: its canonical text.
        function: the function.
        positions: the positions of its events.
        attribute: what it reads of each event: a column, or an expression over the event. None for
            COUNT of trends and of events; COUNT of an attribute counts values that are not NULL.
        type: the type of what it reads; long for COUNT.
        each: whether every participating event counts once (EACH, DISTINCT).
        distinct: whether equal values count once (DISTINCT).
        measure: the measure of trends that it reads instead of events; each trend counts once.
        share: for PERCENTILE, the share of the values that are at most as large, from 0 to 1.
    """

    label: str
    function: AggregateFunction
    positions: frozenset[int]
    attribute: str | Applied | None
    type: AttributeType
    each: bool = False
    distinct: bool = False
    measure: BoundMeasure | None = None
    share: Fraction | None = None

    @property
    def value_type(self) -> AttributeType:
        """Return the type of its value; means and deviations are doubles, or lengths of time."""
        means = (AggregateFunction.AVG, AggregateFunction.MEDIAN)
        is_mean = self.function in means or self.function.is_dispersion
        return AttributeType.DOUBLE if is_mean and not self.is_duration else self.type

    @property
    def is_duration(self) -> bool:
        """Return whether it reads a length of time; a variance has the square of one."""
        if self.function.is_dispersion and not self.function.is_root:
            return False
        return self.measure is not None and self.measure.is_duration

    @property
    def is_extreme(self) -> bool:
        """Return whether it is a minimum or maximum."""
        return self.function in (AggregateFunction.MIN, AggregateFunction.MAX)

    @property
    def counts_events(self) -> bool:
        """Return whether it adds up over the events of trends, each once per trend.

        A sum of LENGTH is a number of events. Other measures need a query of their own, see
        `template.measures`.
        """
        if self.measure is None or self.is_extreme or self.function.is_dispersion:
            return self.measure is None
        return all(term.kind is MeasureKind.LENGTH for term in self.measure.terms)

    @property
    def read(self) -> tuple[tuple[frozenset[int], str | Applied | None], ...]:
        """Return sets of positions, each with what is read of the events there."""
        if self.measure is None:
            return ((self.positions, self.attribute),)
        return tuple((term.positions, term.value) for term in self.measure.terms)

    @property
    def counts_trends(self) -> bool:
        """Return whether this is `COUNT(*)`."""
        return self.function is AggregateFunction.COUNT and not self.positions


def columns_of(attribute: str | Applied | None) -> Iterator[str]:
    """Yield the columns that an aggregate reads."""
    if isinstance(attribute, str):
        yield attribute
    elif attribute is not None:
        yield from (field.attribute for field in fields_of(attribute))


@dataclass(frozen=True, slots=True)
class BoundOutput:
    """A value of RETURN.

    Attributes:
        name: its key in result rows: the name after AS, or its canonical text.
        expression: reads aggregates and grouping attributes of a row.
        type: of the value.
        additive: whether it adds up over groups and tumbling windows.
        named: whether the query gives it a name with AS.
        is_duration: whether it is a length of time in microseconds. Sums of lengths are integers.
    """

    name: str
    expression: BoundExpression
    type: AttributeType
    additive: bool
    named: bool
    is_duration: bool = False

    @property
    def type_name(self) -> str:
        """Return the name of the type in tables of results."""
        return "duration" if self.is_duration else self.type.value

    @property
    def time_class(self) -> Callable[[int], int] | None:
        """Return the class of its integers in result rows, if they are times."""
        if self.is_duration:
            return Length
        return Instant if self.type is AttributeType.TIMESTAMP else None


@dataclass(frozen=True, slots=True)
class Tracker:
    """A part of the states of a query of measures: what happened so far in a trend.

    Attributes:
        kind: FIRST: an event at the positions occurred. LAST: the last such event occurred. TOTAL:
            such an event with a value occurred.
        positions: the positions.
        value: the value that can be NULL; None if it can have any value.
        required: whether only trends count for which the event has a value.
    """

    kind: MeasureKind
    positions: frozenset[int]
    value: BoundExpression | None
    required: bool


class Refinement(NamedTuple):
    """The origin of a query of measures.

    Attributes:
        base: the query with the same trends.
        trackers: what its states are split by.
        extremes: whether its aggregates are minima and maxima, not sums.
    """

    base: BoundQuery
    trackers: tuple[Tracker, ...]
    extremes: bool


class KeyName(NamedTuple):
    """The name of a partition key within a query.

    Attributes:
        use: which key of the attribute it is, from 1.
        attribute: the attribute.
    """

    use: int
    attribute: str


@dataclass(frozen=True)
class BoundQuery:
    """A query whose names are resolved and whose types agree.

    Attributes:
        source: the query as written.
        text: its canonical text, the basis of `fingerprint`.
        fingerprint: sha256 of the canonical text, the unit of time, and the types and attributes
            that it reads.
        pattern: in normal form; each occurrence has its own alias, and each ANY lists its types.
        positions: all occurrences, `positions[i].index == i`.
        aggregates: all aggregates that RETURN and HAVING read, each once.
        outputs: the values of RETURN, in their order.
        having: the condition on rows; None: all rows are returned.
        windows, semantics: as written, in the stream's time unit.
        refinement: the origin of a query of measures; None for a query of a workload.
        steps: the pattern of each step, for `RETURN STEPS`. Executors run
            `query.steps.step_queries` instead of the query.
        step_of: the query that this query is a step of, and the number of the step from 1.
        part: the part of a query or step that this query is.
        order: the attribute that orders events with equal times, if the stream has one.
    """

    source: Query
    text: str
    fingerprint: str
    pattern: Pattern
    positions: tuple[Position, ...]
    local_predicates: tuple[LocalPredicate, ...]
    edge_predicates: tuple[EdgePredicate, ...]
    keys: tuple[Key, ...]
    aggregates: tuple[BoundAggregate, ...]
    outputs: tuple[BoundOutput, ...]
    having: BoundExpression | None
    window: Window
    semantics: Semantics
    refinement: Refinement | None = None
    steps: tuple[Pattern, ...] = ()
    step_of: tuple[BoundQuery, int] | None = None
    part: Part | None = None
    order: str | None = None

    @cached_property
    def key(self) -> QueryKey:
        """The query, the step and the part that it is."""
        return QueryKey(self.source.name, self.step_of and self.step_of[1], self.part)

    @cached_property
    def name(self) -> str:
        """The query's name, unique in its workload; steps and parts have the text of the key."""
        return str(self.key)

    @property
    def at(self) -> Location:
        """The position of the query in its file."""
        return self.source.at

    @cached_property
    def value_names(self) -> tuple[str, ...]:
        """The names of the values of a row, in the order of RETURN."""
        return tuple(output.name for output in self.outputs)

    @property
    def step_numbers(self) -> tuple[int | None, ...]:
        """The steps of a row of results, from 1; only None if the query returns no steps."""
        return tuple(range(1, len(self.steps) + 1)) or (None,)

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """The labels of the values that a group has in a window, for all steps."""
        return self.labels_of(self.value_names)

    def labels_of(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the labels of some values: for each step, each of the names."""
        every = list(names)
        return tuple(value_label(name, step) for step in self.step_numbers for name in every)

    @cached_property
    def count_name(self) -> str | None:
        """The name of the value that is `COUNT(*)`, if RETURN has it."""
        for output in self.outputs:
            match output.expression:
                case Slot(number) if self.aggregates[number].counts_trends:
                    return output.name
        return None

    def position_of(self, event: EventPattern) -> int:
        """Return the position of an event pattern; its copies by a quantifier share it."""
        return self._by_leaf[event.alias, event.type]

    @cached_property
    def size_names(self) -> tuple[str, ...]:
        """The names of values that grow with the number of trends: COUNT(*), or else COUNT(X)."""
        if self.count_name is not None:
            return (self.count_name,)
        counts = {
            Slot(number, item.type)
            for number, item in enumerate(self.aggregates)
            if item.function is AggregateFunction.COUNT and not item.each
        }
        return tuple(output.name for output in self.outputs if output.expression in counts)

    @cached_property
    def counted(self) -> tuple[BoundAggregate, ...]:
        """The aggregates for which an event counts once per trend."""
        of_measures = self.refinement is not None
        return tuple(
            item
            for item in self.aggregates
            if not item.each and (of_measures or item.counts_events)
        )

    @cached_property
    def measured(self) -> tuple[BoundAggregate, ...]:
        """The aggregates of measures that need queries of their own."""
        if self.refinement is not None:
            return ()
        return tuple(item for item in self.aggregates if not item.counts_events)

    @cached_property
    def participating(self) -> tuple[BoundAggregate, ...]:
        """The aggregates for which a participating event counts once: EACH and DISTINCT."""
        return tuple(item for item in self.aggregates if item.each)

    @cached_property
    def _by_leaf(self) -> dict[tuple[str, str], int]:
        return {(position.alias, position.type): position.index for position in self.positions}

    @cached_property
    def aliases(self) -> dict[int, str]:
        """The alias of each position."""
        return {position.index: position.alias for position in self.positions}

    def labels(self, positions: Collection[int]) -> list[str]:
        """Return the aliases of some positions, each once; with its type if others are left out."""
        found: dict[str, None] = {}
        for position in self.positions:
            if position.index in positions:
                whole = all(
                    other.index in positions
                    for other in self.positions
                    if other.alias == position.alias
                )
                found[position.alias if whole else f"{position.type} {position.alias}"] = None
        return list(found)

    @cached_property
    def question(self) -> tuple[Hashable, ...]:
        """Return what decides on trends, windows and groups: all but name, RETURN and HAVING.

        Queries with equal questions can be run as one. The order of their predicates may differ.
        """
        return (
            self.pattern, self.positions, frozenset(self.local_predicates),
            frozenset(self.edge_predicates), self.keys, self.window, self.semantics,
            self.refinement and self.refinement[1:],
        )  # fmt: skip

    def local_conditions(self, position: int) -> frozenset[BoundExpression]:
        """The local predicates of a position."""
        return frozenset(p.condition for p in self.local_predicates if p.position == position)

    @cached_property
    def group_keys(self) -> tuple[Key, ...]:
        """The keys that name result rows, in the order of GROUP-BY."""
        return tuple(key for key in self.keys if key.group_label is not None)

    @cached_property
    def named_keys(self) -> dict[KeyName, Key]:
        """The keys by their names, in their order.

        Keys with the same name in one pass over the events are one partition key, whatever their
        scope in each query.
        """
        uses: Counter[str] = Counter()
        found = {}
        for key in self.keys:
            uses[key.attribute] += 1
            found[KeyName(uses[key.attribute], key.attribute)] = key
        return found

    def labelled(self, values: Iterable[Any]) -> tuple[tuple[str, Any], ...]:
        """The values of a group with their labels, as in result rows."""
        named = []
        for key, value in zip(self.group_keys, values, strict=True):
            is_instant = key.type is AttributeType.TIMESTAMP and value is not None
            named.append((str(key.group_label), Instant(value) if is_instant else value))
        return tuple(named)

    @cached_property
    def reads(self) -> frozenset[tuple[str, str]]:
        """Event types, each with an attribute that conditions, keys or aggregates read of it."""
        read = [
            (each.position, field.attribute)
            for each in self.local_predicates
            for field in fields_of(each.condition)
        ]
        read += [
            (each.later if field.following else each.earlier, field.attribute)
            for each in self.edge_predicates
            for field in fields_of(each.condition)
        ]
        read += [
            (place, field.attribute)
            for key in self.keys
            for place in key.positions
            for field in fields_of(key.read(place))
        ]
        read += [
            (place, name)
            for item in self.aggregates
            for places, source in item.read
            for name in columns_of(source)
            for place in places
        ]
        return frozenset((self.positions[place].type, name) for place, name in read if name != TIME)

    @cached_property
    def attributes_read(self) -> frozenset[str]:
        """The attributes that it reads, of whatever types."""
        order = [self.order] if self.order else []
        return frozenset([*order, *(name for _, name in self.reads)])

    @cached_property
    def event_types(self) -> frozenset[str]:
        """Names of all event types in the pattern."""
        return frozenset(position.type for position in self.positions)


class Origin(NamedTuple):
    """The workload that a query of joined workloads is from.

    Attributes:
        workload: Number of the workload among the joined ones, from 0.
        query: Name of the query there.
    """

    workload: int
    query: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a workload.

    Attributes:
        name, type: as declared.
        values: its values as text; none if it has no valid value.
        queries: names of the queries that use it, as written.
        at: the position of its declaration.
    """

    name: str
    type: str
    values: tuple[str, ...]
    queries: tuple[str, ...]
    at: Location


@dataclass(frozen=True)
class Workload:
    """The queries of one text, or of several joined ones, bound to one stream; names are unique.

    Attributes:
        schema: The schema of the stream.
        queries: The queries.
        origins: The workloads of renamed queries that were joined to the first workload, by name.
        parameters: The parameters with their values.
    """

    schema: StreamSchema
    queries: tuple[BoundQuery, ...]
    origins: Mapping[str, Origin] = field(default_factory=dict, compare=False)
    parameters: tuple[Parameter, ...] = field(default=(), compare=False)

    def origin(self, name: str) -> Origin:
        """Return the workload that a query is from, and its name there."""
        return self.origins.get(name, Origin(0, name))

    @cached_property
    def by_name(self) -> dict[str, BoundQuery]:
        """Queries by name."""
        return {query.name: query for query in self.queries}

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Return a warning per parameter that no query uses."""
        unused = [one for one in self.parameters if not one.queries]
        return tuple(
            Diagnostic(f"no query uses the parameter {one.name}", one.at, f"write ${one.name} in a "
                       "query, or remove it")
            for one in unused
        )  # fmt: skip

    @cached_property
    def attributes_read(self) -> frozenset[str]:
        """The attributes that any query reads."""
        return frozenset().union(*(query.attributes_read for query in self.queries))

    @cached_property
    def longest_window(self) -> int:
        """The longest time range on which a window's rows depend: how far back a run must read."""
        return max(query.window.length for query in self.queries)


# ---- a cache of results that are computed from a query, which never changes


_Found = TypeVar("_Found")


def of_query(function: Callable[[BoundQuery], _Found]) -> Callable[[BoundQuery], _Found]:
    """Cache a function of a query, as long as the query exists.

    It must be pure, and its result must not be changed. Exceptions are not cached.
    """
    name = f"_{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(query: BoundQuery) -> _Found:
        kept = query.__dict__  # where `cached_property` keeps the values of frozen classes too
        if name not in kept:
            kept[name] = function(query)
        found: _Found = kept[name]
        return found

    return remembered
