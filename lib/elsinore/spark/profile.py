"""Measures the events of the lake for the profile of a run's stream.

Spark counts what it can group by itself; what needs the engine's rules or the order of events is
measured in Arrow batches. Only tallies reach the driver: histograms, and samples of bounded size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.catalog.stream import AttributeType
from elsinore.engine.profile.assemble import assemble
from elsinore.engine.profile.subjects import BurstSubject, EdgeSubject, Subjects
from elsinore.engine.profile.tally import TALLY_SCHEMA, Part
from elsinore.events.table import TIME_COLUMN
from elsinore.query.bound import Workload
from elsinore.sharing.profile import StreamProfile
from elsinore.spark.aggregate_events import engine_columns, events_between, partition_keys
from elsinore.spark.aggregate_worker import WorkloadText
from elsinore.spark.failures import spark_failures
from elsinore.spark.profile_worker import tallying_groups, tallying_local
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval

_TALLY = from_arrow_schema(TALLY_SCHEMA)
_WHAT = [name for name in TALLY_SCHEMA.names if name != "number"]


@dataclass(frozen=True)
class _Cut:
    """Measures that one distribution of the events over tasks serves.

    Attributes:
        keys: attributes to distribute by.
        span: and by multiples of this, so that a hot key is the work of many tasks.
        bursts, edges: places in `Subjects`.
    """

    keys: tuple[str, ...]
    span: int
    bursts: tuple[int, ...]
    edges: tuple[int, ...]


def collect_profile(
    lake: Lake, workload: Workload, interval: Interval, *, version: int | None = None
) -> StreamProfile:
    """The profile of the events that a run reads: from `start - longest WITHIN` to `end`.

    The same for the same version of the table `events`, however Spark distributes the work.

    Args:
        lake: where `events` lies.
        workload: the queries.
        interval: the run's.
        version: of the table `events`; None is the latest.
    """
    observed = Interval(interval.start - workload.longest_window, interval.end)
    subjects = Subjects.of(workload)
    pinned = lake.version("events") if version is None else version
    with spark_failures():
        events = events_between(lake, pinned, observed, subjects.types)
        tallies = reduce(DataFrame.unionByName, _tallies(workload, subjects, events))
        tally = tallies.groupBy(*_WHAT).agg(F.sum("number").alias("number")).toArrow()
    return assemble(workload, observed, [tally.select(TALLY_SCHEMA.names)])


def _tallies(workload: Workload, subjects: Subjects, events: DataFrame) -> Iterator[DataFrame]:
    yield _sizes(workload, subjects, events)
    text = WorkloadText.of(workload)
    if subjects.local:
        read = sorted(frozenset().union(*(each.attributes for each in subjects.local)))
        of_types = events.where(_is_one_of(frozenset(each.event_type for each in subjects.local)))
        columns = of_types.select(*engine_columns(workload.schema, read))
        yield columns.mapInArrow(tallying_local(text), _TALLY)
    for cut in _cuts(subjects):
        measured = _measured(subjects, cut)
        types = frozenset().union(*(each.types for each in measured))
        read = sorted(frozenset().union(*(each.attributes for each in measured)))
        columns = events.where(_is_one_of(types)).select(*engine_columns(workload.schema, read))
        groups = [*partition_keys(workload.schema, cut.keys), _start(F.col(TIME_COLUMN), cut.span)]
        task = tallying_groups(text, cut.bursts, cut.edges)
        yield columns.repartition(*groups).mapInArrow(task, _TALLY)


def _sizes(workload: Workload, subjects: Subjects, events: DataFrame) -> DataFrame:
    """Events in panes, by type, and in partitions, by key set; all in one pass over the events."""
    types = F.array(*map(F.lit, subjects.types))
    attributes = sorted(frozenset().union(*subjects.key_sets))
    values = partition_keys(workload.schema, attributes)
    keys = {name: f"key_{number}" for number, name in enumerate(attributes)}
    columns = events.select(
        (F.array_position(types, F.col("event_type")) - F.lit(1)).alias("type"),
        _start(F.unix_micros("event_time"), subjects.pane).alias("pane"),
        *(value.alias(keys[name]) for name, value in zip(attributes, values, strict=True)),
    )
    by = columns.columns
    sets = [["type", "pane"], *([keys[name] for name in names] for names in subjects.key_sets)]
    sizes = columns.groupingSets([[*map(F.col, each)] for each in sets], *map(F.col, by))
    counted = sizes.agg(F.grouping_id(*by).alias("grouping"), F.count("*").alias("value"))
    # A grouping set is told by the columns that it lacks: a bit for each, the last the lowest.
    bits = {name: 1 << place for place, name in enumerate(reversed(by))}
    lacking = [sum(bit for name, bit in bits.items() if name not in each) for each in sets]
    place = F.array_position(F.array(*(F.lit(n).cast("long") for n in lacking)), F.col("grouping"))
    known = [
        _is_known(workload, name, column) | (F.col("grouping").bitwiseAND(bits[column]) != 0)
        for name, column in keys.items()
    ]
    return _histogram(
        counted.where(reduce(Column.__and__, known, F.lit(True))).select(
            F.when(place == 1, str(Part.PANE)).otherwise(str(Part.KEYS)).alias("part"),
            F.when(place == 1, F.col("type")).otherwise(place - F.lit(2)).alias("subject"),
            "value",
        )
    )


def _is_known(workload: Workload, attribute: str, column: str) -> Column:
    """Whether a value is none of NULL and NaN."""
    known = F.col(column).isNotNull()
    double = workload.schema.attributes[attribute] is AttributeType.DOUBLE
    return known & ~F.isnan(column) if double else known


def _histogram(sizes: DataFrame) -> DataFrame:
    """A tally of how often each `value` of each `subject` occurs."""
    zero = F.lit(0).cast("long")
    counted = sizes.groupBy("part", F.col("subject").cast("long").alias("subject"), "value")
    return counted.agg(F.count("*").alias("number")).select(
        "part", "subject", zero.alias("item"), "value", zero.alias("extra"), "number"
    )


def _cuts(subjects: Subjects) -> Iterator[_Cut]:
    """As few as do: what never leaves a multiple of one hour never leaves one of two."""
    taken: dict[tuple[tuple[str, ...], int], tuple[list[int], list[int]]] = {}
    measured: list[tuple[BurstSubject | EdgeSubject, int, int]] = []
    measured += [(each, 0, number) for number, each in enumerate(subjects.bursts)]
    measured += [(each, 1, number) for number, each in enumerate(subjects.edges)]
    for subject, kind, number in sorted(measured, key=lambda one: -one[0].span):
        keys = tuple(key.attribute for key in subject.keys)
        wider = (cut for cut in taken if cut[0] == keys and cut[1] % subject.span == 0)
        taken.setdefault(next(wider, (keys, subject.span)), ([], []))[kind].append(number)
    for (keys, span), (bursts, edges) in taken.items():
        yield _Cut(keys, span, tuple(bursts), tuple(edges))


def _measured(subjects: Subjects, cut: _Cut) -> list[BurstSubject | EdgeSubject]:
    return [
        *(subjects.bursts[number] for number in cut.bursts),
        *(subjects.edges[number] for number in cut.edges),
    ]


def _is_one_of(types: frozenset[str]) -> Column:
    return F.col("event_type").isin(sorted(types))


def _start(time: Column, span: int) -> Column:
    """The largest multiple of a span that is not after a time."""
    return time - F.pmod(time, F.lit(span).cast("long"))
