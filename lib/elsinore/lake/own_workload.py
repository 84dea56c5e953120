"""Load the workload of the pipeline's settings."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.catalog.stream import StreamSchema
from elsinore.query.bound import Workload
from elsinore.query.given_values import Given, given_in_mapping
from elsinore.query.load_workload import load_workload
from elsinore.settings import Settings


def load_own_workload(
    settings: Settings, stream: StreamSchema, given: Sequence[Given] = ()
) -> Workload:
    """Return the workload of settings, with the values of its parameters there.

    Args:
        settings: Settings of the workload.
        stream: The schema of its stream.
        given: Values of parameters; they replace the values in the settings.

    Raises:
        QueryError: The workload is invalid, or a parameter is.
        ParameterError: A list of values is empty.
    """
    title = settings.workload_name
    own = given_in_mapping(
        settings.own_parameters, lambda name: f"parameter {name} of the workload {title}"
    )
    merged = {one.name: one for one in (*own, *given)}
    return load_workload(settings.queries, stream, tuple(merged.values()))
