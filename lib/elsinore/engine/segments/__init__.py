"""The executors aseq and sharon: queries of fixed length, alone or with shared segments."""

from elsinore.engine.segments.aggregate import aggregate_segments

__all__ = ["aggregate_segments"]
