"""The generated streams by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from elsinore.catalog.stream import StreamSchema
from elsinore.events import EventTable
from elsinore.generate import cluster, linear_road, ridesharing, stock
from elsinore.generate.schemas import schema_yaml
from elsinore.generate.skeleton import StreamOptions


@dataclass(frozen=True)
class Stream:
    """A kind of stream.

    Attributes:
        schema: what its events are.
        notes: comment for the schema file.
        options: the class of its options, a subclass of `StreamOptions`.
        make: options to events, in order of time.
    """

    schema: StreamSchema
    notes: tuple[str, ...]
    options: type[StreamOptions]
    make: Callable[[Any], EventTable]

    @property
    def yaml(self) -> str:
        """The text of its schema file."""
        return schema_yaml(self.schema, self.notes)


STREAMS: Mapping[str, Stream] = {
    name: Stream(module.SCHEMA, module.NOTES, options, make)
    for name, module, options, make in (
        ("ridesharing", ridesharing, ridesharing.RidesharingOptions, ridesharing.ridesharing),
        ("stock", stock, stock.StockOptions, stock.stock),
        ("cluster", cluster, cluster.ClusterOptions, cluster.cluster),
        ("linear-road", linear_road, linear_road.LinearRoadOptions, linear_road.linear_road),
    )
}


def make_events(options: StreamOptions) -> EventTable:
    """The events of whichever stream has these options, in order of time, without files.

    >>> from elsinore.generate.stock import StockOptions
    >>> len(make_events(StockOptions(events=50)))
    50
    """
    (stream,) = (stream for stream in STREAMS.values() if stream.options is type(options))
    return stream.make(options)
