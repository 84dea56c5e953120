"""Makes the profile of a stream from the tallies of its parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from elsinore.engine.profile.edge_sample import selectivity
from elsinore.engine.profile.subjects import Subjects
from elsinore.engine.profile.tally import Part
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.profile import (
    BurstLengths,
    EdgeSelectivity,
    LocalSelectivity,
    PartitionSkew,
    Spread,
    StreamProfile,
    TypeRate,
)
from elsinore.timeline import Interval


@dataclass
class _Sums:
    """Added tallies: histograms by (part, subject, item), and the samples of edge predicates."""

    histograms: defaultdict[tuple[str, int, int], Counter[int]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    samples: defaultdict[int, Counter[tuple[int, int, int]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )

    def add(self, tally: pa.Table) -> None:
        columns = (tally[name].to_pylist() for name in tally.column_names)
        for part, subject, item, value, extra, number in zip(*columns, strict=True):
            if part == Part.EDGE:
                self.samples[subject][item, value, extra] += number
            else:
                self.histograms[part, subject, item][value] += number


def assemble(workload: Workload, observed: Interval, tallies: Iterable[pa.Table]) -> StreamProfile:
    """The profile of the events of an interval, whatever the order of the tallies.

    Args:
        workload: the queries.
        observed: the interval.
        tallies: tables of `tally.TALLY_SCHEMA`, which together cover every subject once.
    """
    subjects, sums = Subjects.of(workload), _Sums()
    for tally in tallies:
        sums.add(tally)
    return StreamProfile(
        workload_fingerprint=workload_fingerprint(workload),
        observed=(observed.start, observed.end),
        pane=subjects.pane,
        rates=tuple(_rates(subjects, observed, sums)),
        bursts=tuple(_bursts(workload, subjects, sums)),
        local=tuple(_local(subjects, sums)),
        edges=tuple(_edges(subjects, sums)),
        partitions=tuple(
            PartitionSkew(keys=keys, sizes=Spread.of(found))
            for number, keys in enumerate(subjects.key_sets)
            if (found := sums.histograms[Part.KEYS, number, 0])
        ),
    )


def _rates(subjects: Subjects, observed: Interval, sums: _Sums) -> Iterator[TypeRate]:
    pane = subjects.pane
    panes = (observed.end - 1) // pane - observed.start // pane + 1
    for number, name in enumerate(subjects.types):
        sizes = sums.histograms[Part.PANE, number, 0]
        empty = panes - sizes.total()
        whole = sizes + Counter({0: empty}) if empty else sizes
        yield TypeRate(event_type=name, events=Spread.of(whole))


def _bursts(workload: Workload, subjects: Subjects, sums: _Sums) -> Iterator[BurstLengths]:
    for number, subject in enumerate(subjects.bursts):
        for name in sorted(subject.types):
            code = workload.schema.type_codes[name]
            if lengths := sums.histograms[Part.BURST, number, code]:
                yield BurstLengths(
                    event_type=name,
                    kleene=subject.kleene,
                    queries=subject.queries,
                    keys=tuple(key.attribute for key in subject.keys),
                    pane=subject.pane,
                    lengths=Spread.of(lengths),
                )


def _local(subjects: Subjects, sums: _Sums) -> Iterator[LocalSelectivity]:
    for number, subject in enumerate(subjects.local):
        truths = sums.histograms[Part.LOCAL, number, 0]
        yield LocalSelectivity(
            event_type=subject.event_type,
            condition=subject.text,
            queries=subject.queries,
            events=truths.total(),
            passed=truths[1],
        )


def _edges(subjects: Subjects, sums: _Sums) -> Iterator[EdgeSelectivity]:
    for number, subject in enumerate(subjects.edges):
        sampled, share = selectivity((*row, times) for row, times in sums.samples[number].items())
        yield EdgeSelectivity(
            earlier=subject.earlier,
            later=subject.later,
            condition=subject.text,
            queries=subject.queries,
            keys=tuple(key.attribute for key in subject.keys),
            within=subject.within,
            pairs=sums.histograms[Part.PAIRS, number, 0][0],
            sampled=sampled,
            share=share,
        )
